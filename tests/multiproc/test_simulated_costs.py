"""`simulate` says exactly how many bytes the ranks of a real training exchange and how many gradient buffers they make."""

import json
import os
import pathlib
import subprocess

import pytest
from safetensors.numpy import load_file

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])
# 2 x 5 atoms: for 3, 4, 6, 7 and 8 ranks their ranges are no whole subtrees. 33 parameters a row: shards with a remainder.
SETTINGS = ["model.layers=1", "model.width=33", "model.heads=3", "model.feed_forward=17", "plan.accumulation=5",
            "plan.batch_size_per_rank=2", "plan.updates=2", "plan.stop_at=0", "data.train_sequences=64",
            "data.validation_sequences=4", "data.test_sequences=4"]
SETS = [word for setting in SETTINGS for word in ("--set", setting)]
RANKS = range(1, 9)


def samegrad(*words):
    done = subprocess.run([BIN / "samegrad", *map(str, words[:1]), *SETS, *map(str, words[1:])], capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    samegrad("prepare", "--run", folder)
    return folder


@pytest.fixture(scope="module")
def simulated(run):
    rows = json.loads(samegrad("simulate", "--run", run, "--json", "--world-sizes", ",".join(map(str, RANKS))))["rows"]
    assert [row["world_size"] for row in rows] == list(RANKS)
    return {row["world_size"]: row for row in rows}


def trained(run, ranks):
    """-> the metrics' ranks of each update"""
    metrics = run / "outputs/metrics.jsonl"
    metrics.unlink(missing_ok=True)
    samegrad("train", "--nproc", ranks, "--quiet", "--run", run)
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert len(lines) == 2 and all(len(line["ranks"]) == ranks for line in lines)
    return [line["ranks"] for line in lines]


@pytest.mark.parametrize("ranks", RANKS)
def test_exchanged_bytes_and_gradient_buffers_are_those_of_a_real_run(run, simulated, ranks):
    said = simulated[ranks]
    for shares in trained(run, ranks):
        assert {share["bytes_sent"] for share in shares} == {said["canonical"]["bytes_sent"]}
        assert {share["bytes_received"] for share in shares} == {said["canonical"]["bytes_received"]}
        assert max(share["gradient_buffers"] for share in shares) == said["gradient_buffers"]
        assert (said["canonical"]["bytes_sent"] == 0) == (ranks == 1)


def test_a_run_of_another_number_of_ranks_is_told_apart(simulated):
    sent = [simulated[ranks]["canonical"]["bytes_sent"] for ranks in RANKS]
    assert len(set(sent)) == len(sent)


@pytest.mark.parametrize("settings", [["optimizer.kind=sgd"], ["optimizer.momentum=0.9"], ["optimizer.kind=adamw"]])
def test_parameters_and_optimizer_take_the_memory_of_the_tensors_that_a_run_saves(tmp_path, settings):
    sets = [word for setting in settings for word in ("--set", setting)]
    memory = json.loads(samegrad("simulate", "--json", "--world-sizes", "1", *sets))["memory"]
    samegrad("train", "--nproc", 1, "--quiet", "--run", tmp_path, *sets)
    saved, = (tmp_path / "artifacts/checkpoints").iterdir()
    for name, said in (("model", memory["parameters"]), ("optimizer", memory["optimizer"])):
        tensors = load_file(saved / f"{name}.safetensors")
        assert sum(tensor.nbytes for tensor in tensors.values() if tensor.ndim > 0 and tensor.size > 1) == said
