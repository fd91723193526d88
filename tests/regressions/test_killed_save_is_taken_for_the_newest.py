"""RLinf/RLinf#1469, Lightning#688, vllm-project/speculators#739, allenai/allennlp#2129: a job was killed while it saved; the
next start took the newest folder, which was cut short, and crashed or began the data anew."""

import os
import shutil
import sys

import pytest

sys.path.insert(0, os.path.join(os.environ["SAMEGRAD_SOURCE"], "tests/multiproc"))
from launched_run import CONTINUOUS, FAULTY, SAMEGRAD, SMALL, done, hashes, run, settings  # noqa: E402

WORDS = [*CONTINUOUS, "--quiet", *settings(*SMALL[:4], "plan.updates=6", "plan.stop_at=0", "checkpoint.every=2",
                                           "checkpoint.keep=9")]
LATEST = [SAMEGRAD, *WORDS, "--nproc", 2, "--resume", "latest"]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    done(folder, SAMEGRAD, *WORDS, "--nproc", 1)
    return folder


def checkpoints(folder):
    return sorted(path.name for path in folder.glob("artifacts/checkpoints/step-*"))


def goes_on_after(update, folder, uninterrupted):
    whole = hashes(uninterrupted)
    assert hashes(folder, "resumed", ranks=2) == {step: whole[step] for step in range(update + 1, 7)}


@pytest.mark.parametrize("phase", ["save:begin", "save:writing-model.safetensors", "save:written-manifest.json", "save:folder-synced"])
def test_what_a_killed_save_left_is_no_checkpoint_for_any_rank(tmp_path, uninterrupted, phase):
    killed = run(tmp_path, FAULTY, *WORDS, "--nproc", 2, fault=f"rank=0,step=4,kind=crash-in-save,phase={phase}")
    assert killed.returncode == 137 and "rank 0 (pid " in killed.stderr, killed.stderr
    assert checkpoints(tmp_path) == ["step-0002"]
    done(tmp_path, *LATEST)
    goes_on_after(2, tmp_path, uninterrupted)


def test_another_ranks_death_right_after_a_save_loses_nothing_of_it(tmp_path, uninterrupted):
    killed = run(tmp_path, FAULTY, *WORDS, "--nproc", 2, fault="rank=1,step=5,kind=kill9,phase=agreement")
    assert killed.returncode == 137 and "rank 1 (pid " in killed.stderr, killed.stderr
    assert checkpoints(tmp_path) == ["step-0002", "step-0004"]
    done(tmp_path, *LATEST)
    goes_on_after(4, tmp_path, uninterrupted)


def cut(folder):
    """Of the last three, one is gone, and the one before is cut."""
    shutil.rmtree(folder / "artifacts/checkpoints/step-0006")
    os.truncate(folder / "artifacts/checkpoints/step-0004/model.safetensors", 1000)


def test_one_that_was_cut_is_passed_over_by_all_ranks_and_said_so(tmp_path, uninterrupted):
    shutil.copytree(uninterrupted, tmp_path, dirs_exist_ok=True)
    cut(tmp_path)
    resumed = done(tmp_path, *LATEST)
    assert resumed.stderr.count("[resume] passed over ") == 1 and "step-0004" in resumed.stderr, resumed.stderr
    goes_on_after(2, tmp_path, uninterrupted)


def test_its_path_is_refused_by_the_files_name_and_nothing_is_touched(tmp_path, uninterrupted):
    shutil.copytree(uninterrupted, tmp_path, dirs_exist_ok=True)
    cut(tmp_path)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    refused = run(tmp_path, *LATEST[:-1], "artifacts/checkpoints/step-0004")
    assert refused.returncode == 3 and len(refused.stderr.splitlines()) == 1, refused.stderr
    assert "step-0004/model.safetensors: " in refused.stderr
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before
