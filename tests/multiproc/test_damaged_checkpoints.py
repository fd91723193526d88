"""A damaged checkpoint is never used: the latest whole one takes its place on all ranks, and a path to it is refused."""

import json
import os
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from launched_run import SAMEGRAD, SMALL, done, hashes, run, settings
from signed_manifest import sign_file_again

WORDS = [*settings(*SMALL), "--set", "checkpoint.every=1"]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stopped")
    done(folder, SAMEGRAD, "train", "--nproc", 2, "--quiet", *WORDS)
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory, stopped):
    folder = tmp_path_factory.mktemp("whole")
    done(folder, SAMEGRAD, "train", "--nproc", 1, "--continuous", "--quiet", *WORDS)
    return hashes(folder)


def flip(file):
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def replace_by_fifo(file):
    file.unlink()
    os.mkfifo(file)


def change_tensors(checkpoint, change):
    """With digests that fit, so that only the tensors themselves can be refused."""
    file = checkpoint / "model.safetensors"
    tensors = load_file(file)
    change(tensors)
    save_file(tensors, file)
    sign_file_again(checkpoint, "model.safetensors")


DAMAGE = {
    "flipped bit": (lambda folder: flip(folder / "model.safetensors"), "model.safetensors: damaged: tensor 'head.bias': SHA-256"),
    "damaged manifest": (lambda folder: flip(folder / "manifest.json"), "manifest.json: cut or damaged"),
    "missing file": (lambda folder: (folder / "state.json").unlink(), "state.json: missing"),
    "FIFO": (lambda folder: replace_by_fifo(folder / "optimizer.safetensors"),
             "optimizer.safetensors: not a regular file"),
}
TENSORS = {
    "missing tensor": (lambda tensors: tensors.pop("head.bias"), "model.safetensors: tensor 'head.bias' is missing"),
    "surplus tensor": (lambda tensors: tensors.update({"more": np.zeros(3, np.float32)}),
                       "model.safetensors: tensor 'more' is surplus"),
    "another shape": (lambda tensors: tensors.update({"head.bias": np.zeros(3, np.float32)}),
                      "model.safetensors: tensor 'head.bias'"),
    "another name": (lambda tensors: tensors.update({"head.bias2": tensors.pop("head.bias")}),
                     "model.safetensors: tensor 'head.bias' is missing"),
}


STATE = {"format": 2, "kind": [], "schedule": 5, "plan_digest": [[]], "data_lock": 5, "hash_chain": "x", "cursor": "x", "config": 7}


def copy_of(stopped, folder):
    shutil.copytree(stopped, folder, dirs_exist_ok=True)
    return folder / "artifacts/checkpoints/step-0002"


@pytest.mark.parametrize("damage, said", DAMAGE.values(), ids=DAMAGE)
def test_the_latest_whole_one_takes_its_place_on_all_ranks(tmp_path, stopped, whole, damage, said):
    damage(copy_of(stopped, tmp_path))
    resumed = done(tmp_path, SAMEGRAD, "train", "--resume", "latest", "--nproc", 3, "--quiet", *WORDS,
                   *settings("plan.stop_at=0"))
    assert resumed.stderr.count("[resume] passed over ") == 1 and said in resumed.stderr, resumed.stderr
    assert hashes(tmp_path, "resumed", ranks=3) == {update: whole[update] for update in (2, 3, 4)}


@pytest.mark.parametrize("damage, said",
                         [*DAMAGE.values(), *((lambda folder, change=change: change_tensors(folder, change), said)
                                              for change, said in TENSORS.values())], ids=[*DAMAGE, *TENSORS])
def test_its_path_is_refused_with_the_file_and_tensor_and_nothing_is_changed(tmp_path, stopped, damage, said):
    checkpoint = copy_of(stopped, tmp_path)
    damage(checkpoint)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    refused = run(tmp_path, SAMEGRAD, "train", "--resume", checkpoint, "--nproc", 2, "--quiet", *WORDS)
    assert refused.returncode == 3, refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1 and said in refused.stderr, refused.stderr
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def steps(folder):
    return sorted(path.name for path in (folder / "artifacts/checkpoints").iterdir())


def test_a_resume_from_an_older_one_takes_back_what_came_after_it(tmp_path):
    """Its own checkpoints are what stays and what is gone on from, not those of before, which are of another length."""
    train = ["train", "--quiet", *settings(*SMALL[:4], "checkpoint.every=1", "schedule.kind=cosine")]
    done(tmp_path, SAMEGRAD, *train, *settings("plan.updates=6", "plan.stop_at=0"))
    kept = settings("plan.updates=9", "plan.stop_at=4", "checkpoint.keep=1")
    done(tmp_path, SAMEGRAD, *train, *kept, "--resume", "artifacts/checkpoints/step-0002")
    assert steps(tmp_path) == ["step-0004", "step-0005", "step-0006"]
    rest = settings("plan.updates=9", "plan.stop_at=0", "checkpoint.keep=2")
    resumed = done(tmp_path, SAMEGRAD, *train, *rest, "--resume", "latest")
    assert "step-0006: of a part of the run that a resume from update 2 took back" in resumed.stderr
    assert steps(tmp_path) == ["step-0008", "step-0009"]
    assert list(hashes(tmp_path, "resumed", ranks=1)) == [3, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("command", ["train", "verify"])
@pytest.mark.parametrize("member", STATE)
def test_a_state_of_other_types_with_digests_that_fit_is_refused_by_its_name(tmp_path, stopped, command, member):
    checkpoint = copy_of(stopped, tmp_path)
    file = checkpoint / "state.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), member: STATE[member]}))
    sign_file_again(checkpoint, "state.json")
    option = {"train": "--resume", "verify": "--checkpoint"}[command]
    result = run(tmp_path, SAMEGRAD, command, "--nproc", 1, option, checkpoint, *WORDS, *settings("plan.stop_at=0"))
    if command == "verify" and member in ("format", "kind", "hash_chain"):
        assert result.returncode == 0  # it needs none of them
    else:
        assert result.returncode in (2, 3) and "step-0002" in result.stderr, result.stderr
