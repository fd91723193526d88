"""pytorch#49305, #17113, #41067, DeepSpeed#714, Lightning#18218: one worker died and the rest waited for ever and held the
machine; the launcher was killed and its workers lived on."""

import os
import signal
import subprocess
import sys
import time

import pytest

sys.path.insert(0, os.path.join(os.environ["SAMEGRAD_SOURCE"], "tests/multiproc"))
from launched_run import FAULTY, SMALL, run, settings  # noqa: E402

TRAIN = [FAULTY, "train", "--nproc", "2", *settings(*SMALL)]
PATIENCE_S = 60


def workers_in(folder):
    """Processes, zombies too, whose environment or command line names the folder's mark."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.readlink(f"/proc/{entry}/cwd") == str(folder):
                found.append(int(entry))
        except OSError:
            pass
    return found


def gone(folder):
    deadline = time.monotonic() + PATIENCE_S
    while workers_in(folder):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize("fault, code, said", [
    ("rank=1,step=2,kind=exit:3", 3, "rank 1 (pid "),
    ("rank=0,step=2,kind=kill9", 137, "rank 0 (pid "),
])
def test_a_workers_death_ends_all_and_names_it(tmp_path, fault, code, said):
    result = run(tmp_path, *TRAIN, fault=fault)
    assert result.returncode == code
    first = result.stderr.splitlines()[0] if result.stderr.startswith("[launch]") else result.stderr
    assert said in first and "failed first" in first
    assert workers_in(tmp_path) == []


def start_and_hang(folder):
    """A training whose rank 1 is stopped at update 2."""
    folder.mkdir(exist_ok=True)
    training = subprocess.Popen([str(word) for word in TRAIN], cwd=folder, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, env={**os.environ, "SAMEGRAD_FAULT": "rank=1,step=2,kind=hang"})
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for pid in workers_in(folder):
            try:
                if open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "T":
                    return training
            except OSError:
                pass
        time.sleep(0.02)
    training.kill()
    raise AssertionError("rank 1 did not stop")


def test_no_worker_outlives_a_killed_launcher_not_even_a_stopped_one(tmp_path):
    training = start_and_hang(tmp_path)
    training.kill()
    assert training.wait(PATIENCE_S) == -signal.SIGKILL
    assert gone(tmp_path)


def test_two_interrupts_end_everything(tmp_path):
    training = start_and_hang(tmp_path)
    deadline = time.monotonic() + PATIENCE_S
    while training.poll() is None and time.monotonic() < deadline:  # close ones count as one request
        training.send_signal(signal.SIGINT)
        time.sleep(0.02)
    assert training.wait(PATIENCE_S) != 0
    assert gone(tmp_path)


def test_a_launcher_that_is_killed_by_its_name_leaves_nothing_not_even_what_its_workers_started(tmp_path):
    """As `pkill -9 -f` does it, which kills every process whose command line fits."""
    script = "setsid sleep 3600 & (setsid sleep 3601 &); touch $RANK; exec sleep 3602"
    words = [str(FAULTY), "launch", "--nproc", "2", "--", "sh", "-c", script]
    launcher = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE_S
    while not all((tmp_path / name).exists() for name in "01") and time.monotonic() < deadline:
        time.sleep(0.02)
    named = [pid for pid in workers_in(tmp_path) if b"samegrad\0launch\0" in open(f"/proc/{pid}/cmdline", "rb").read()]
    assert launcher.pid in named and len(named) == 2, "the third one goes by another name"
    for pid in named:
        os.kill(pid, signal.SIGKILL)
    assert launcher.wait(PATIENCE_S) == -signal.SIGKILL
    assert gone(tmp_path)
