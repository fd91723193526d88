"""The plans are what a few lines of Python with its own `random` say they are, id by id."""

import hashlib
import json
import random

import pytest

from probe import ask


def chunks(ids, size):
    return [ids[i : i + size] for i in range(0, len(ids), size)]


def lesson_plan(seed, pools, updates, accumulation, batch, offset=10):
    generator = random.Random(seed + offset)
    return [
        [chunks(generator.sample(pool, accumulation * batch), batch) for pool in pools] for _ in range(updates)
    ]


def epoch_plan(seed, samples, updates, ranks, accumulation, batch):
    plan, epoch = [], 0
    while len(plan) < updates:
        order = list(range(samples))
        random.Random(((epoch + 1) << 64) + seed % 2**64).shuffle(order)
        for window in chunks(order, ranks * accumulation * batch):
            atoms = chunks(window, batch)
            atoms += [[]] * (ranks * accumulation - len(atoms))
            plan.append(chunks(atoms, accumulation))
        epoch += 1
    return plan[:updates]


def ask_plan(**request):
    return ask(plans=[request])["plans"][0]


def ask_lesson(seed, lengths, updates, accumulation, batch):
    return ask_plan(task="lesson", seed=seed, split=64, updates=updates, epochs=0, virtual_ranks=2,
                    accumulation=accumulation, batch_size_per_rank=batch, lengths=lengths)


def lengths_of(short, long):
    """`short` samples of up to 64 tokens and `long` longer ones, mixed, with both neighbours of the split."""
    lengths = [64 - i % 49 for i in range(short)] + [65 + i % 64 for i in range(long)]
    random.Random(f"{short} {long}").shuffle(lengths)
    return lengths


# With 16 ids a window the two algorithms of sample meet between pools of 85 and 86; with 4 ids, of 21 and 22.
@pytest.mark.parametrize("seed", [0, 42, -3, 2**40, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("short, long, accumulation, batch",
                         [(512, 512, 2, 8), (85, 86, 2, 8), (16, 300, 2, 8), (21, 22, 4, 1), (9, 9, 1, 1)])
def test_two_hundred_lesson_windows_equal_pythons(seed, short, long, accumulation, batch):
    lengths = lengths_of(short, long)
    pools = [[i for i, n in enumerate(lengths) if n <= 64], [i for i, n in enumerate(lengths) if n > 64]]
    answer = ask_lesson(seed, lengths, 200, accumulation, batch)
    assert answer["plan"] == lesson_plan(seed, pools, 200, accumulation, batch)


def test_control_a_lesson_plan_of_another_seed_offset_is_told_apart():
    lengths = lengths_of(512, 512)
    pools = [[i for i, n in enumerate(lengths) if n <= 64], [i for i, n in enumerate(lengths) if n > 64]]
    assert ask_lesson(42, lengths, 3, 2, 8)["plan"] != lesson_plan(42, pools, 3, 2, 8, offset=11)


@pytest.mark.parametrize("seed", [0, 42, -1, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("samples, updates, ranks, accumulation, batch",
                         [(1, 3, 2, 2, 8), (3, 2, 1, 1, 8), (5, 4, 1, 4, 1), (5, 6, 2, 2, 1), (32, 3, 2, 2, 8),
                          (33, 5, 2, 2, 8), (100, 20, 3, 2, 5), (1000, 40, 2, 4, 4)])
def test_epoch_windows_equal_pythons(seed, samples, updates, ranks, accumulation, batch):
    answer = ask_plan(task="text", seed=seed, updates=updates, epochs=0, virtual_ranks=ranks,
                      accumulation=accumulation, batch_size_per_rank=batch, lengths=[7] * samples)
    assert answer["plan"] == epoch_plan(seed, samples, updates, ranks, accumulation, batch)


def test_epochs_give_the_number_of_updates():
    answer = ask_plan(task="text", seed=1, updates=0, epochs=3, virtual_ranks=2, accumulation=2,
                      batch_size_per_rank=8, lengths=[7] * 33)
    assert answer["updates"] == len(answer["plan"]) == 6


def test_sampler_histories_are_the_hash_chain_of_the_plan():
    answer = ask_plan(task="text", seed=1, updates=5, epochs=0, virtual_ranks=2, accumulation=2,
                      batch_size_per_rank=2, lengths=[7] * 11)
    for rank, history in enumerate(answer["histories"]):
        digest, samples = "0" * 64, 0
        for window in answer["plan"]:
            text = digest + json.dumps(window[rank], separators=(",", ":"))
            digest = hashlib.sha256(text.encode()).hexdigest()
            samples += sum(len(ids) for ids in window[rank])
        assert history == {"virtual_rank": rank, "update": 5, "samples_consumed": samples, "digest": digest}
