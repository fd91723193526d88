"""Ctrl-Z, fg and bg in a terminal: a training is one job of the shell, and the time for which it was stopped is no wait."""

import json
import os
import pathlib
import pty
import select
import signal
import subprocess
import time

import pytest

from launched_run import CONTINUOUS, FAULTY, SAMEGRAD, SMALL, children, done, settings, worker_pids

PATIENCE_S = 100


def until(holds):
    """Waits for what must come; looks again and again."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if (value := holds()):
            return value
        time.sleep(0.02)
    raise AssertionError("it did not come")


class Terminal:
    """An interactive shell behind a terminal of its own."""

    def __init__(self, folder, **variables):
        self.text = ""
        self.shell, self.end = pty.fork()
        if self.shell == 0:
            os.chdir(folder)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], {**os.environ, "PS1": "ready> ", **variables})

    def type(self, text):
        os.write(self.end, text.encode())

    def reads(self, part):
        """Reads until the part has come; what was read before it counts no more."""
        def there():
            if select.select([self.end], [], [], 0)[0]:
                self.text += os.read(self.end, 65536).decode(errors="replace")
            return part in self.text
        try:
            until(there)
        except AssertionError:
            raise AssertionError(f"no {part!r} in: {self.text}") from None
        before, self.text = self.text.split(part, 1)
        return before

    def close(self):
        os.kill(self.shell, signal.SIGKILL)  # the terminal hangs up: its jobs end
        os.waitpid(self.shell, 0)
        os.close(self.end)


@pytest.fixture
def terminal(tmp_path):
    opened = []

    def opens(**variables):
        opened.append(Terminal(tmp_path, **variables))
        opened[-1].reads("ready> ")
        return opened[-1]

    yield opens
    for one in opened:
        one.close()


def state(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def updates(folder):
    metrics = folder / "outputs/metrics.jsonl"
    return metrics.read_text().count("\n") if metrics.exists() else 0


def goes_on(folder):
    before = updates(folder)
    return until(lambda: updates(folder) >= before + 3)


def status(folder):
    return json.loads(done(folder, SAMEGRAD, "status", "--json").stdout)["ranks"]


def command(program, *words):
    return " ".join(str(word) for word in (program, *words)) + "\n"


def test_ctrl_z_stops_all_of_it_and_fg_bg_and_ctrl_c_do_what_they_do_to_any_job(tmp_path, terminal):
    shell = terminal()
    shell.type(command(SAMEGRAD, *CONTINUOUS, "--nproc", 2, "--quiet", *settings(*SMALL, "plan.updates=100000")))
    goes_on(tmp_path)
    (launcher,) = children(shell.shell)
    computing = [launcher, *worker_pids(launcher)]
    assert len(computing) == 3

    shell.type("\x1a")
    shell.reads("Stopped")
    until(lambda: [state(pid) for pid in computing] == ["T"] * 3)
    assert [rank["condition"] for rank in status(tmp_path)] == ["stopped", "stopped"]
    shell.type("bg\n")
    goes_on(tmp_path)
    shell.type("fg\n")
    goes_on(tmp_path)
    shell.type("\x1a")
    shell.reads("Stopped")
    until(lambda: [state(pid) for pid in computing] == ["T"] * 3)
    shell.type("fg\n")
    goes_on(tmp_path)
    shell.type("\x03")
    shell.reads("ready> ")
    shell.type("echo code $?\n")
    shell.reads("code 130")
    assert len(list((tmp_path / "artifacts/checkpoints").iterdir())) == 1


def test_a_wait_between_ranks_does_not_count_the_time_for_which_all_were_stopped(tmp_path, terminal):
    timeout_s = 6
    shell = terminal(SAMEGRAD_FAULT="rank=1,step=3,kind=hang,phase=exchange")
    shell.type(command(FAULTY, *CONTINUOUS, "--nproc", 2, *settings(*SMALL, f"run.timeout_s={timeout_s}")))
    # Rank 1 has stopped itself, and rank 0 waits for it.
    until(lambda: (tmp_path / "outputs/status").is_dir() and status(tmp_path)[1:]
          and status(tmp_path)[1]["condition"] == "stopped" and status(tmp_path)[0]["in_collective"])
    shell.type("\x1a")
    shell.reads("Stopped")
    until(lambda: status(tmp_path)[0]["seconds_since_progress"] > timeout_s + 1)
    assert [rank["condition"] for rank in status(tmp_path)] == ["stopped", "stopped"]
    shell.type("fg\n")
    shell.reads("ready> ")
    shell.type("echo code $?\n")
    shell.reads("code 0")
    assert updates(tmp_path) == 4


def test_where_no_shell_would_wake_it_sigtstp_stops_nothing(tmp_path):
    """As the kernel decides for every program: its process group is an orphan."""
    words = [SAMEGRAD, *CONTINUOUS, "--nproc", "2", "--quiet", *settings(*SMALL, "plan.updates=100000")]
    subprocess.run(["setsid", "--fork", *map(str, words)], cwd=tmp_path, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True)
    goes_on(tmp_path)
    worker = status(tmp_path)[0]["pid"]
    launcher = parent_of(parent_of(parent_of(worker)))
    os.kill(launcher, signal.SIGTSTP)
    goes_on(tmp_path)
    done(tmp_path, SAMEGRAD, "stop", tmp_path)


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
