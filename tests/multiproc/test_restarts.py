"""`train --max-restarts`: after a failure it goes on from the newest checkpoint, and changes no bit by that."""

import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

from launched_run import CONTINUOUS, FAULTY, SAMEGRAD, SMALL, done, hashes, lines, run, settings, worker_pids

LONG = settings(*SMALL[:4], "plan.updates=90", "plan.stop_at=50", "checkpoint.every=20")
SHORT = settings(*SMALL[:4], "plan.updates=8", "plan.stop_at=4", "checkpoint.every=2")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    done(folder, SAMEGRAD, *CONTINUOUS, "--nproc", 1, *SHORT)
    assert len(hashes(folder, ranks=1)) == 8
    return hashes(folder)


def all_hashes(folder):
    """Of the start and of what was resumed after it."""
    return {**hashes(folder), **hashes(folder, "resumed")}


def rank_of(pid):
    environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return [entry for entry in environment if entry.startswith(b"RANK=")]


def test_a_rank_killed_in_the_middle_changes_no_bit(tmp_path):
    done(tmp_path / "one", SAMEGRAD, *CONTINUOUS, "--nproc", 1, *LONG)
    folder = tmp_path / "two"
    folder.mkdir()
    words = [SAMEGRAD, *CONTINUOUS, "--nproc", "2", "--max-restarts", "1", "--quiet", *LONG]
    started = subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, text=True)
    metrics = folder / "outputs/metrics.jsonl"
    while not metrics.exists() or metrics.read_bytes().count(b"\n") < 45:
        assert started.poll() is None
        time.sleep(0.01)
    (victim,) = [pid for pid in worker_pids(started.pid) if rank_of(pid) == [b"RANK=1"]]
    os.kill(int(victim), signal.SIGKILL)
    _, errors = started.communicate(timeout=100)
    assert started.returncode == 0, errors
    assert f"[launch] rank 1 (pid {victim}, signal 9 SIGKILL) failed first" in errors
    assert "[launch] starting again (restart 1 of 1)" in errors
    resumed = [line["update"] for line in lines(folder, "resumed")]
    assert resumed[0] % 20 == 1 and resumed[0] > 40 and resumed[-1] == 90
    assert all_hashes(folder) == hashes(tmp_path / "one", ranks=1)


def test_fewer_processes_go_on_with_the_same_bits(tmp_path, uninterrupted):
    result = run(tmp_path, FAULTY, *CONTINUOUS, "--nproc", 3, "--max-restarts", 3, "--min-nproc", 1, *SHORT,
                 fault="rank=2,step=5,kind=kill9")
    assert result.returncode == 0, result.stderr
    assert "restart 2 of 3) with 2 processes, because rank 2 failed twice at the same place" in result.stderr
    assert all_hashes(tmp_path) == uninterrupted
    assert [len(line["ranks"]) for line in lines(tmp_path, "resumed")] == [2] * 4


def test_a_rank_that_always_dies_costs_one_process_after_the_other_and_no_bit(tmp_path, uninterrupted):
    result = run(tmp_path, FAULTY, *CONTINUOUS, "--nproc", 3, "--max-restarts", 9, "--min-nproc", 1, *SHORT,
                 fault="rank=1,step=5,kind=kill9")
    assert result.returncode == 0, result.stderr
    restarts = [line for line in result.stderr.splitlines() if "starting again" in line]
    assert [line.split(") ")[1:] for line in restarts] == [
        [], ["with 2 processes, because rank 1 failed twice at the same place"],
        [], ["with 1 process, because rank 1 failed twice at the same place"]], restarts
    assert all_hashes(tmp_path) == uninterrupted
    assert [len(line["ranks"]) for line in lines(tmp_path, "resumed")] == [1] * 4


def test_before_the_first_checkpoint_a_restart_resumes_from_what_was_given(tmp_path, uninterrupted):
    done(tmp_path / "first", SAMEGRAD, "train", "--nproc", 1, *SHORT)
    given = tmp_path / "first/artifacts/checkpoints/step-0004"
    result = run(tmp_path / "second", FAULTY, *CONTINUOUS, "--nproc", 3, "--max-restarts", 2, "--min-nproc", 2, "--resume",
                 given, *SHORT, fault="rank=2,step=5,kind=kill9")
    assert result.returncode == 0, result.stderr
    after = hashes(tmp_path / "second", "resumed")
    assert after == {update: uninterrupted[update] for update in range(5, 9)}


def test_a_new_run_that_dies_before_it_begins_is_started_again_and_no_older_one_resumed(tmp_path, uninterrupted):
    done(tmp_path, SAMEGRAD, "train", "--nproc", 1, *SHORT)
    result = run(tmp_path, FAULTY, *CONTINUOUS, "--nproc", 3, "--max-restarts", 3, "--min-nproc", 2, *SHORT,
                 fault="rank=2,step=0,phase=prepare,kind=kill9")
    assert result.returncode == 0, result.stderr
    assert not any(line["kind"] == "resumed" for line in map(json.loads, (tmp_path / "outputs/metrics.jsonl").open()))
    assert hashes(tmp_path) == uninterrupted


def test_a_crash_loop_without_progress_ends_early_and_says_so(tmp_path):
    result = run(tmp_path, FAULTY, *CONTINUOUS, "--nproc", 2, "--max-restarts", 50, *SHORT, fault="rank=1,step=5,kind=kill9")
    assert result.returncode == 137
    last = result.stderr.splitlines()[-1]
    assert last.startswith("[launch] stopped early after 1 restart: the last attempt ended ")
    assert last.endswith(", without a checkpoint after step-0004, no further than the one before")


def test_one_process_without_nproc_is_watched_too(tmp_path):
    result = run(tmp_path, FAULTY, *CONTINUOUS, "--max-restarts", 1, "--failure-json", "failure.json", *SHORT,
                 fault="rank=0,step=5,kind=kill9")
    assert result.returncode == 137 and "[launch] starting again (restart 1 of 1)" in result.stderr
    assert (tmp_path / "failure.json").exists() and [line["update"] for line in lines(tmp_path)] == [1, 2, 3, 4]


@pytest.mark.parametrize("option", ["--max-restarts", "--failure-json", "--log-dir"])
def test_what_another_launcher_would_have_to_do_is_refused(tmp_path, option):
    result = run(tmp_path, SAMEGRAD, *CONTINUOUS, option, 1, RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                 MASTER_PORT="1")
    assert result.returncode == 2
    assert result.stderr.startswith(f"[launch] {option} inside a launcher that started 2 processes; that one has to do it")


@pytest.mark.parametrize("code", [2, 3])
def test_a_code_of_a_mistake_is_enough_not_to_be_started_again(tmp_path, code):
    result = run(tmp_path, FAULTY, *CONTINUOUS, "--nproc", 2, "--max-restarts", 3, *SHORT, fault=f"rank=1,step=5,kind=exit:{code}")
    assert result.returncode == code
    assert result.stderr.splitlines()[-1].startswith(f"[launch] not started again: exit code {code} stands for a mistake")


def test_a_mistake_in_the_input_is_not_started_again(tmp_path):
    result = run(tmp_path, SAMEGRAD, *CONTINUOUS, "--nproc", 2, "--max-restarts", 5, "--resume", "absent", *SHORT)
    assert result.returncode == 2
    assert "[launch] not started again: exit code 2 stands for a mistake" in result.stderr
    assert "restart 1" not in result.stderr
