"""Short trainings, started in any way, and what they leave in their folder."""

import json
import os
import pathlib
import socket
import subprocess

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])
SOURCE = pathlib.Path(os.environ["SAMEGRAD_SOURCE"])
SAMEGRAD = BIN / "samegrad"
FAULTY = BIN / "faults/samegrad"
SCRIPTS = SOURCE / ".venv/bin"
SMALL = ["model.width=32", "model.layers=1", "model.heads=2", "model.feed_forward=64", "plan.updates=4",
         "plan.stop_at=2"]
CONTINUOUS = ["train", "--continuous"]


def settings(*pairs):
    return [word for pair in pairs for word in ("--set", pair)]


def run(folder, *words, fault=None, **variables):
    """Runs the words as a command in the folder, which it makes."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, **({"SAMEGRAD_FAULT": fault} if fault else {}), **variables}
    return subprocess.run([str(word) for word in words], cwd=folder, env=environment, capture_output=True, text=True,
                          timeout=120)


def done(folder, *words, **options):
    """The same, of a command that must succeed."""
    result = run(folder, *words, **options)
    assert result.returncode == 0, result.stderr
    return result


def children(pid):
    """The pids of a process's children, as texts."""
    try:
        return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []


def worker_pids(launcher):
    """The pids of a launcher's workers, as texts: of three processes in a row, they are the last one's children."""
    return [worker for keeper in children(launcher) for inner in children(keeper) for worker in children(inner)]


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def torchrun(ranks, *options):
    return [SCRIPTS / "torchrun", "--no-python", "--nproc-per-node", ranks, *options]


def static_torchrun(ranks):
    """With the lesson's own options, but for the port."""
    return torchrun(ranks, "--rdzv-backend=static", "--master-addr=127.0.0.1", f"--master-port={free_port()}",
                    "--nnodes=1")


def lines(folder, kind="continuous"):
    every = [json.loads(line) for line in (folder / "outputs/metrics.jsonl").open()]
    return [line for line in every if line["kind"] == kind]


def hashes(folder, kind="continuous", ranks=None):
    """By update; asserts that as many ranks took part as were asked for."""
    found = lines(folder, kind)
    assert ranks is None or all(len(line["ranks"]) == ranks for line in found)
    return {line["update"]: (line["parameters_xxh3"], line["hash_chain"]) for line in found}
