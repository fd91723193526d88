"""Started by itself on one host, samegrad opens no TCP socket: a stranger has nothing to talk to."""

import pathlib
import signal
import subprocess
import time

from launched_run import CONTINUOUS, SAMEGRAD, SMALL, settings, worker_pids

LISTENS = "0A"  # state of a socket in /proc/net/tcp


def tcp_states(pid):
    """The state of every TCP socket that the process has open."""
    process = pathlib.Path(f"/proc/{pid}")
    targets = [str(link.readlink()) for link in (process / "fd").iterdir()]
    inodes = {target[len("socket:["):-1] for target in targets if target.startswith("socket:[")}
    rows = [row.split() for table in ("tcp", "tcp6") for row in (process / "net" / table).open().readlines()[1:]]
    return [row[3] for row in rows if row[9] in inodes]


def while_training(folder, backend):
    """The states of the launcher's TCP sockets and of its two workers', after the first update."""
    words = [*CONTINUOUS, "--nproc", "2", "--quiet", "--backend", backend, *settings(*SMALL, "plan.updates=100000")]
    launcher = subprocess.Popen([str(word) for word in [SAMEGRAD, *words]], cwd=folder)
    try:
        metrics = folder / "outputs/metrics.jsonl"
        while not metrics.exists() or metrics.stat().st_size == 0:
            assert launcher.poll() is None
            time.sleep(0.01)
        workers = worker_pids(launcher.pid)
        assert len(workers) == 2
        return [tcp_states(pid) for pid in (launcher.pid, *workers)]
    finally:
        launcher.send_signal(signal.SIGTERM)
        assert launcher.wait(timeout=60) == 128 + signal.SIGTERM


def test_nobody_opens_a_tcp_socket(tmp_path):
    assert while_training(tmp_path, "auto") == [[], [], []]


def test_over_gloo_the_same_look_finds_the_workers_sockets(tmp_path):
    launcher, *workers = while_training(tmp_path, "gloo")
    assert launcher == []
    assert all(LISTENS in states for states in workers)
