"""`samegrad status` and a training whose rank stops: where each rank is, without its help; then the run's own words."""

import json
import os
import signal
import struct
import subprocess
import time

import pytest

from launched_run import BIN, FAULTY, SAMEGRAD, SMALL, done, free_port, run, settings

PATIENCE_S = 100


def status(folder, *words):
    return json.loads(done(folder, SAMEGRAD, "status", "--json", *words).stdout)


def until(holds):
    """Waits for what must come; looks again and again."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if (value := holds()):
            return value
        time.sleep(0.05)
    raise AssertionError("it did not come")


def conditions(folder):
    return [rank["condition"] for rank in status(folder)["ranks"]]


@pytest.mark.parametrize("backend", ["shm", "gloo"])
def test_a_stopped_rank_is_seen_while_the_others_wait_and_goes_on_when_it_is_woken(tmp_path, backend):
    words = [FAULTY, "train", "--continuous", "--nproc", "2", "--backend", backend, *settings(*SMALL)]
    training = subprocess.Popen([str(word) for word in words], cwd=tmp_path, stdout=subprocess.DEVNULL,
                                env={**os.environ, "SAMEGRAD_FAULT": "rank=1,step=3,kind=hang,phase=exchange"})
    try:
        until(lambda: (tmp_path / "outputs/status").is_dir() and conditions(tmp_path)[1:] == ["stopped"])
        until(lambda: status(tmp_path)["ranks"][0]["in_collective"])
        waits, stopped = (found := status(tmp_path))["ranks"]
        assert (found["state"], found["world_size"]) == ("running", 2)
        assert (stopped["rank"], stopped["update"], stopped["phase"]) == (1, 3, "exchange")
        assert (waits["rank"], waits["update"], waits["phase"], waits["condition"]) == (0, 3, "exchange", "waiting")
        assert waits["collectives"] == stopped["collectives"] + 1 and not stopped["in_collective"]
        text = done(tmp_path, SAMEGRAD, "status", tmp_path).stdout
        assert "2 ranks: the training runs" in text and " stopped " in text and " waiting " in text
        os.kill(stopped["pid"], signal.SIGCONT)
        assert training.wait(PATIENCE_S) == 0
    finally:
        training.kill()
        training.wait()
    assert status(tmp_path)["state"] == "finished" and conditions(tmp_path) == ["done", "done"]
    assert "2 ranks: the training has ended in good order" in done(tmp_path, SAMEGRAD, "status").stdout


@pytest.mark.parametrize("backend, phase", [("shm", "backward"), ("gloo", "exchange")])
def test_a_rank_that_stays_stopped_is_named_with_update_phase_and_call(tmp_path, backend, phase):
    result = run(tmp_path, FAULTY, "train", "--nproc", "3", "--continuous", "--backend", backend,
                 *settings(*SMALL, "run.timeout_s=2"), fault=f"rank=1,step=2,kind=hang,phase={phase}")
    assert result.returncode != 0
    assert "rank 1 (pid " in result.stderr and " of update 2 within 2 s: it is stopped (SIGCONT wakes it)" in result.stderr
    assert "it was last in 'agreement' of update 2" in result.stderr
    assert f"then in phase '{phase}' of update 2, where its record last moved " in result.stderr
    assert "; ranks 0 and 2 wait;" in result.stderr


def test_a_stopped_rank_is_named_also_where_it_keeps_the_store_in_which_the_others_would_tell(tmp_path):
    words = [FAULTY, "train", "--continuous", "--backend", "gloo", *settings(*SMALL, "run.timeout_s=3")]
    place = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "3",
             "SAMEGRAD_FAULT": "rank=0,step=2,kind=hang"}
    ranks = [subprocess.Popen([str(word) for word in words], cwd=tmp_path, env={**place, "RANK": str(rank)}, text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for rank in range(3)]
    try:
        for rank in ranks[1:]:
            errors = rank.communicate(timeout=PATIENCE_S)[1]
            assert rank.returncode == 1
            assert f"rank 0 (pid {ranks[0].pid}) did not come to 'window' of update 2 within 3 s: it is stopped" in errors
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()


@pytest.mark.parametrize("backend", ["shm", "gloo"])
def test_a_program_of_the_users_own_keeps_records_where_its_launcher_says(tmp_path, backend):
    done(tmp_path, SAMEGRAD, "launch", "--nproc", "2", "--backend", backend, "--", BIN / "init_probe",
         SAMEGRAD_STATUS_DIR=str(tmp_path / "outputs/status"))
    assert conditions(tmp_path) == ["done", "done"]
    assert all(rank["name"] == "any" for rank in status(tmp_path)["ranks"])


def test_a_rank_for_which_others_wait_is_slow_while_it_lives(tmp_path):
    """The records of two ranks that have ended, made to be of a process that lives: this one."""
    done(tmp_path, SAMEGRAD, "launch", "--nproc", "2", "--", BIN / "init_probe",
         SAMEGRAD_STATUS_DIR=str(tmp_path / "outputs/status"))
    for rank, (state, more_calls) in enumerate([(2, 1), (1, 0)]):  # waiting, running
        record = tmp_path / f"outputs/status/rank-{rank}"
        content = bytearray(record.read_bytes())
        struct.pack_into("<i", content, 24, os.getpid())
        struct.pack_into("<Q", content, 32, 0)  # when the process started: not known
        for moment in (168, 320):
            struct.pack_into("<I", content, moment, state)
            struct.pack_into("<q", content, moment + 32, 7 + more_calls)
            struct.pack_into("<q", content, moment + 56, 1)  # it entered its call when the machine started
        record.write_bytes(content)
    assert conditions(tmp_path) == ["waiting", "slow"]


def test_a_killed_training_is_seen_as_dead(tmp_path):
    result = run(tmp_path, FAULTY, "train", "--nproc", "2", *settings(*SMALL), fault="rank=1,step=2,kind=kill9")
    assert result.returncode == 137
    found = status(tmp_path)
    assert found["state"] == "failed" and [rank["condition"] for rank in found["ranks"]] == ["failed", "dead"]
    assert (found["ranks"][1]["update"], found["ranks"][1]["phase"]) == (2, "backward")


def test_a_run_without_records_says_so_and_a_folder_that_is_not_there_is_refused(tmp_path):
    assert status(tmp_path) == {"state": "absent", "folder": "./outputs/status", "world_size": 0, "ranks": []}
    assert "no training has left a record in" in done(tmp_path, SAMEGRAD, "status").stdout
    result = run(tmp_path, SAMEGRAD, "status", "nowhere")
    assert (result.returncode, result.stderr) == (2, "[status] nowhere: no such folder; give the folder of a run\n")


def test_what_is_no_record_is_refused_with_exit_code_2(tmp_path):
    folder = tmp_path / "outputs/status"
    folder.mkdir(parents=True)
    record = folder / "rank-0"
    makers = {"is not a regular file": lambda: os.mkfifo(record), "symbolic link": lambda: record.symlink_to("/dev/zero"),
              "has 7 bytes": lambda: record.write_text("garbage"), "no status record": lambda: record.write_bytes(bytes(472))}
    for said, make in makers.items():
        make()
        result = run(tmp_path, SAMEGRAD, "status")
        assert result.returncode == 2 and said in result.stderr and result.stdout == "", result
        record.unlink()


def test_the_records_are_among_what_clean_removes(tmp_path):
    done(tmp_path, FAULTY, "train", *settings(*SMALL))
    assert (tmp_path / "outputs/status/rank-0").is_file()
    done(tmp_path, SAMEGRAD, "clean", "--scope", "generated")
    assert not (tmp_path / "outputs").exists()
