"""PythonRandom draws what Python's own random.Random draws."""

import random

import pytest

from probe import ask

SEEDS = [0, 1, -1, 10, 42, 52, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**53 + 1, -(2**40), 2**63 - 1, -(2**63)]


def expected(generator, step):
    name, *arguments = step
    if name == "getrandbits":
        return generator.getrandbits(*arguments)
    if name == "random":
        return generator.random()
    if name == "randbelow":
        return generator.randrange(*arguments)  # randrange(n) is _randbelow(n)
    if name == "sample":
        return generator.sample(range(arguments[0]), arguments[1])
    values = list(arguments[0])
    generator.shuffle(values)
    return values


def mixed_steps(seed):
    choose = random.Random(f"steps {seed}")
    kinds = [
        lambda: ["getrandbits", choose.randint(0, 64)],
        lambda: ["random"],
        lambda: ["randbelow", choose.choice([1, 2, 3, 2**31, 2**32, 2**32 + 1, 2**63, choose.randint(1, 2**64 - 1)])],
        lambda: ["sample", *sorted([choose.randint(0, 300), choose.randint(0, 40)], reverse=True)],
        lambda: ["shuffle", list(range(choose.randint(0, 200)))],
    ]
    return [choose.choice(kinds)() for _ in range(400)]


@pytest.mark.parametrize("seed", SEEDS)
def test_mixed_draws_equal_pythons(seed):
    steps = mixed_steps(seed)
    generator = random.Random(seed)
    assert ask(draws=[{"seed": seed, "steps": steps}])["draws"][0] == [expected(generator, step) for step in steps]


def test_sample_equals_pythons_on_both_sides_of_its_two_algorithms():
    # Where 3 * count passes a power of four the limit between the two algorithms jumps: (4**m - 1) / 3 and one more.
    counts = [0, 1, 4, 5, 6, 16, 20, 21, 22, 84, 85, 86, 340, 341, 342, 1364, 1365, 1366]
    steps = []
    for count in counts:
        table = 0 if count <= 5 else next(4**m for m in range(20) if 4**m >= 3 * count)
        limit = 21 + table
        steps += [["sample", size, count] for size in (limit - 1, limit, limit + 1, 4 * limit) if size >= count]
    generator = random.Random(7)
    assert ask(draws=[{"seed": 7, "steps": steps}])["draws"][0] == [expected(generator, step) for step in steps]


@pytest.mark.parametrize("value", [0, 5, 2**32, 2**64, 3 * 2**64 + 42, 2**96, 2**128 - 1, 2**2000 + 12345])
def test_seeds_of_any_size_equal_pythons(value):
    words = [value >> (32 * i) & 0xFFFFFFFF for i in range(value.bit_length() // 32 + 2)]
    generator = random.Random(value)
    answer = ask(draws=[{"words": words, "steps": [["getrandbits", 64]] * 700}])["draws"][0]
    assert answer == [generator.getrandbits(64) for _ in range(700)]


def test_control_another_seed_is_told_apart():
    steps = [["getrandbits", 32]] * 4
    generator = random.Random(43)
    assert ask(draws=[{"seed": 42, "steps": steps}])["draws"][0] != [expected(generator, step) for step in steps]
