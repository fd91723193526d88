"""diagnose names each mistake of data-parallel training, made here in PyTorch, and names nothing that is not there.

Two ranks with three microbatches each, of 2, 3, 1 and 6, 9, 2 sequences. Run as a program, this file is one rank of a real DDP
run: test_diagnose_oracle.py RANK FOLDER.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import torch

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])
SOURCE = pathlib.Path(os.environ["SAMEGRAD_SOURCE"])
WORLD, ACCUMULATION, WIDTH, VOCABULARY = 2, 3, 16, 11

snippet = {}
exec(re.search(r"```python\n(.*?)```", (SOURCE / "docs/diagnose.md").read_text(), re.DOTALL).group(1), snippet)


class Model(torch.nn.Module):
    """Predicts each next token from the one before, in context of the sequence's mean."""

    def __init__(self):
        super().__init__()
        self.token = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.hidden = torch.nn.Linear(WIDTH, WIDTH)
        self.head = torch.nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        x = self.token(tokens)
        return self.head(torch.nn.functional.gelu(self.hidden(x + x.mean(1, keepdim=True))))


def make_model():
    torch.manual_seed(1)
    return Model()


def batch(generator, sequences):
    """[sequences, 8] tokens, 2 to 8 of each supervised: a label on the first token has no prediction."""
    tokens = torch.randint(0, VOCABULARY, (sequences, 8), generator=generator)
    tokens[:, 1] = tokens[:, 0] % 3  # something to learn
    lengths = torch.randint(2, 9, (sequences,), generator=generator)
    return tokens, tokens.masked_fill(torch.arange(8) >= lengths[:, None], -100)


def window(seed=5, sizes=((2, 3, 1), (6, 9, 2))):
    """window[rank][microbatch] -> (tokens, labels)"""
    generator = torch.Generator().manual_seed(seed)
    return [[batch(generator, size) for size in rank] for rank in sizes]


def loss_sum(model, microbatch):
    tokens, labels = microbatch
    logits = model(tokens)[:, :-1].flatten(0, 1)
    return torch.nn.functional.cross_entropy(logits, labels[:, 1:].flatten(), ignore_index=-100, reduction="sum")


def count(microbatches):
    return sum(int((labels[:, 1:] != -100).sum()) for _, labels in microbatches)


WINDOW = window()
TOKENS = [count(rank) for rank in WINDOW]
N = sum(TOKENS)
SAMPLES = sum(len(labels) for rank in WINDOW for _, labels in rank)
NUMBERS = ["--world-size", str(WORLD), "--accumulation", str(ACCUMULATION), "--samples", str(SAMPLES),
           "--rank-tokens", ",".join(map(str, TOKENS))]


def one_update(path, microbatches, loss, ranks=1):
    """One process: the losses' gradients added, over `ranks`, into the optimizer's step, which is dumped to `path`."""
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    snippet["dump_first_gradient"](model, optimizer, path)
    for microbatch in microbatches:
        (loss(model, microbatch) / ranks).backward()
    optimizer.step()
    return path


def mean_loss(microbatches):
    tokens = count(microbatches)
    return lambda model, microbatch: loss_sum(model, microbatch) / tokens


def simulated(path, rank_loss, reduction="mean"):
    """What DDP computes: each rank's gradient of its microbatches' losses, then their mean (or sum) over ranks."""
    gradients = []
    for rank in range(WORLD):
        model = make_model()
        for microbatch in WINDOW[rank]:
            rank_loss(model, rank, microbatch).backward()
        gradients.append([parameter.grad for parameter in model.parameters()])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    snippet["dump_first_gradient"](model, optimizer, path)
    for parameter, *by_rank in zip(model.parameters(), *gradients):
        parameter.grad = getattr(torch.stack(by_rank), reduction)(0)
    optimizer.step()
    return path


def diagnose(a, b, *options):
    """-> (exit code, parsed --json)"""
    done = subprocess.run([BIN / "samegrad", "diagnose", a, b, "--json", *options], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode in (0, 3), done.stderr
    return done.returncode, json.loads(done.stdout)


def named(result):
    return [(finding["pattern"], finding["confidence"]) for finding in result["findings"]]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The reference, each rank's and each microbatch's own mean gradient."""
    folder = tmp_path_factory.mktemp("gradients")
    everything = [microbatch for rank in WINDOW for microbatch in rank]
    one_update(folder / "one", everything, mean_loss(everything))
    for rank in range(WORLD):
        one_update(folder / f"r{rank}", WINDOW[rank], mean_loss(WINDOW[rank]))
    for m, microbatch in enumerate(everything):
        one_update(folder / f"m{m}", [microbatch], mean_loss([microbatch]))
    return folder


def rank_options(folder, names=("r0", "r1")):
    return ["--rank-gradients", ",".join(str(folder / name) for name in names)]


def test_the_window_tells_the_mistakes_apart():
    ratios = [WORLD, ACCUMULATION, N / TOKENS[0], N / TOKENS[1], (N + SAMPLES) / N]
    assert all(abs(x / y - 1) > 0.05 for i, x in enumerate(ratios) for y in ratios[:i])


@pytest.mark.parametrize(
    "pattern, loss, reduction",
    [
        ("missing-world-size", lambda rank, s: s / N, "mean"),
        ("extra-world-size", lambda rank, s: WORLD * s / N, "sum"),
        ("local-count", lambda rank, s: WORLD * s / TOKENS[0], "mean"),
        ("local-count", lambda rank, s: s / TOKENS[1], "sum"),
        ("rank-share", lambda rank, s: WORLD * s / N * TOKENS[0] / N, "mean"),
        ("extra-accumulation-division", lambda rank, s: WORLD * s / N / ACCUMULATION, "mean"),
        ("missing-accumulation-division", lambda rank, s: WORLD * s / N * ACCUMULATION, "mean"),
        ("count-before-shift", lambda rank, s: WORLD * s / (N + SAMPLES), "mean"),
        ("mean-of-means", lambda rank, s: s / TOKENS[rank], "mean"),
        ("sum-of-means", lambda rank, s: s / TOKENS[rank], "sum"),
    ],
)
def test_a_mistake_is_named(files, tmp_path, pattern, loss, reduction):
    path = simulated(tmp_path / "a", lambda model, rank, microbatch: loss(rank, loss_sum(model, microbatch)), reduction)
    code, result = diagnose(path, files / "one", *NUMBERS, *rank_options(files))
    assert code == 3 and named(result) == [(pattern, "high")]


def test_what_two_numbers_explain_is_named_by_both_and_without_numbers_it_is_an_integer(files, tmp_path):
    path = simulated(tmp_path / "a", lambda model, rank, m: WORLD * loss_sum(model, m) / N / ACCUMULATION)
    equal = diagnose(path, files / "one", "--world-size", "3", "--accumulation", "3")[1]
    assert named(equal) == [("missing-world-size", "high"), ("extra-accumulation-division", "high")]
    assert named(diagnose(path, files / "one")[1]) == [("small-integer-ratio", "medium")]


def test_a_mean_over_microbatches_is_named_by_their_gradients(files, tmp_path):
    def loss(model, rank, microbatch):
        return loss_sum(model, microbatch) / count([microbatch]) / ACCUMULATION

    path = simulated(tmp_path / "a", loss)
    assert named(diagnose(path, files / "one", *rank_options(files, [f"m{m}" for m in range(WORLD * ACCUMULATION)]))[1]) == [
        ("mean-of-means", "high")]
    assert named(diagnose(path, files / "one", *NUMBERS, *rank_options(files))[1]) == []


@pytest.mark.parametrize("rank", range(WORLD))
def test_one_rank_alone_is_named_whatever_its_factor(files, tmp_path, rank):
    scaled = one_update(tmp_path / "a", WINDOW[rank], lambda model, m: WORLD * loss_sum(model, m) / N)
    for path in (files / f"r{rank}", scaled):
        code, result = diagnose(path, files / "one", *NUMBERS, *rank_options(files))
        assert code == 3 and named(result) == [("one-rank-only", "high")]
        assert f"rank {rank} alone" in result["findings"][0]["meaning"]


def test_a_mean_of_means_is_not_guessed_without_the_ranks_gradients(files, tmp_path):
    path = simulated(tmp_path / "a", lambda model, rank, microbatch: loss_sum(model, microbatch) / TOKENS[rank])
    code, result = diagnose(path, files / "one", *NUMBERS)
    assert code == 3 and named(result) == [] and "--rank-gradients" in result["notes"][0]


def test_rank_gradients_of_sums_are_understood_where_counts_are_given(files, tmp_path):
    for rank in range(WORLD):
        one_update(tmp_path / f"r{rank}", WINDOW[rank], loss_sum)
    path = simulated(tmp_path / "a", lambda model, rank, microbatch: loss_sum(model, microbatch) / TOKENS[rank])
    assert named(diagnose(path, files / "one", *NUMBERS, *rank_options(tmp_path))[1]) == [("mean-of-means", "high")]


def test_another_order_of_summation_is_rounding(files, tmp_path):
    path = simulated(tmp_path / "a", lambda model, rank, microbatch: WORLD * loss_sum(model, microbatch) / N)
    code, result = diagnose(path, files / "one", *NUMBERS, *rank_options(files))
    assert result["different"] > 0
    assert code == 0 and named(result) == [("rounding", "high")]
    assert diagnose(files / "one", files / "one")[0] == 0


def test_a_clipped_gradient_is_a_constant_ratio(files, tmp_path):
    gradients = safetensors_of(files / "one")
    snippet["safetensors"].torch.save_file({name: 0.437 * g for name, g in gradients.items()}, tmp_path / "a")
    result = diagnose(tmp_path / "a", files / "one", *NUMBERS)[1]
    assert named(result) == [("constant-ratio", "high")] and abs(result["ratio"] - 0.437) < 1e-6


def safetensors_of(path):
    return snippet["safetensors"].torch.load_file(path)


def test_files_that_cannot_be_compared_are_bad_input(files, tmp_path):
    (tmp_path / "damaged").write_bytes((files / "one").read_bytes()[:-1])
    snippet["safetensors"].torch.save_file({"token.weight": torch.ones(3)}, tmp_path / "other")
    for arguments, said in [
        ((tmp_path / "none", files / "one"), "cannot be opened"),
        ((tmp_path / "damaged", files / "one"), "[diagnose] "),
        ((files / "one", files / "one", "--rank-gradients", tmp_path / "other"), "gradient of rank 0: "),
        ((files / "one", files / "one", "--world-size", "3", "--rank-tokens", "12,36"), "the world size is 3"),
    ]:
        done = subprocess.run([BIN / "samegrad", "diagnose", *arguments], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and done.stdout == "" and said in done.stderr


def test_fifty_pairs_of_random_tensors_have_no_pattern(tmp_path):
    generator = torch.Generator().manual_seed(17)
    for pair in range(50):
        shapes = [tuple(torch.randint(1, 9, (2,), generator=generator).tolist()) for _ in range(1 + pair % 5)]
        paths = []
        for name in ("a", "b", "r0", "r1"):
            scale = 10 ** (4 * torch.rand((), generator=generator) - 2)
            tensors = {f"p{i}": scale * torch.randn(shape, generator=generator) for i, shape in enumerate(shapes)}
            paths.append(tmp_path / name)
            snippet["safetensors"].torch.save_file(tensors, paths[-1])
        code, result = diagnose(*paths[:2], *NUMBERS, *rank_options(tmp_path))
        assert (code, named(result)) == (3, []), pair
        assert named(diagnose(*paths[:2], *NUMBERS)[1]) == [], pair


def test_fifty_pairs_of_gradients_of_other_batches_have_no_pattern(files, tmp_path):
    cosines = []
    for pair in range(50):
        sequences = 4 if pair % 2 else 800
        paths = []
        for side in (0, 1):
            microbatches = window(1000 + 2 * pair + side, ((sequences,),))[0]
            paths.append(one_update(tmp_path / f"{side}", microbatches, mean_loss(microbatches)))
        a, b = (torch.cat([g.flatten() for g in safetensors_of(path).values()]) for path in paths)
        cosines.append(float(torch.nn.functional.cosine_similarity(a, b, dim=0)))
        code, result = diagnose(*paths, *NUMBERS, *rank_options(files))
        assert (code, named(result)) == (3, []), pair
        assert named(diagnose(*paths, *NUMBERS)[1]) == [], pair
    # They are alike, as gradients of one model are, and yet not the same.
    assert max(cosines) > 0.95 and min(cosines) < 0.7


def test_two_real_ddp_processes_are_diagnosed(files, tmp_path):
    ranks = [subprocess.Popen([sys.executable, __file__, str(rank), str(tmp_path)]) for rank in range(WORLD)]
    assert [rank.wait(timeout=200) for rank in ranks] == [0, 0]
    names = safetensors_of(tmp_path / "right")
    assert all(name.startswith("module.") for name in names)
    assert named(diagnose(tmp_path / "right", files / "one", *NUMBERS)[1]) == [("rounding", "high")]
    assert named(diagnose(tmp_path / "wrong", files / "one", *NUMBERS, *rank_options(files))[1]) == [
        ("mean-of-means", "high")]


def ddp_rank(rank, folder):
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=WORLD)
    for name, factor in (("right", WORLD / N), ("wrong", 1 / TOKENS[rank])):
        model = torch.nn.parallel.DistributedDataParallel(make_model(), gradient_as_bucket_view=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        snippet["dump_first_gradient"](model, optimizer, f"{folder}/{name}")
        *others, last = WINDOW[rank]
        with model.no_sync():
            for microbatch in others:
                (loss_sum(model, microbatch) * factor).backward()
        (loss_sum(model, last) * factor).backward()
        optimizer.step()
        optimizer.step()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    ddp_rank(int(sys.argv[1]), sys.argv[2])
