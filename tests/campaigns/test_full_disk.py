"""A disk that is full, with real processes: all ranks end with one line, and the checkpoint from before is whole."""

import json
import os
import pathlib
import re
import socket
import subprocess

import pytest

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])
SETTINGS = ["model.layers=1", "model.width=16", "model.heads=2", "model.feed_forward=16", "plan.updates=8",
            "plan.stop_at=0", "plan.batch_size_per_rank=1", "data.train_sequences=32", "data.validation_sequences=2",
            "checkpoint.every=1"]
# Two ranks, started as a launcher would that only sets these variables.
SCRIPT = """
mount -t tmpfs -o size=160k tmpfs artifacts || exit 77
RANK=1 "$@" 2>rank-1 & RANK=0 "$@" 2>rank-0; echo $? >code-0; wait $!; echo $? >code-1
ls -A artifacts/checkpoints >names; "$1" checkpoints artifacts/checkpoints --json >listing
"""


def full_disk(folder, *settings):
    """Trains with artifacts/ on a disk for two checkpoints; returns the ranks' exit codes and errors."""
    (folder / "artifacts").mkdir()
    words = [word for setting in [*SETTINGS, *settings] for word in ("--set", setting)]
    assert subprocess.run([BIN / "samegrad", "prepare", *words], cwd=folder, capture_output=True).returncode == 0
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    place = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    done = subprocess.run(["unshare", *([] if os.geteuid() == 0 else ["-r"]), "-m", "sh", "-c", SCRIPT, "sh",
                           BIN / "samegrad", "train", "--quiet", *words], cwd=folder, env={**os.environ, **place},
                          capture_output=True, text=True, timeout=120)
    if not (folder / "code-0").exists():
        pytest.skip(f"no disk of a given size can be mounted here: {done.stderr}")
    return [int((folder / f"code-{rank}").read_text()) for rank in (0, 1)], [
        (folder / f"rank-{rank}").read_text().splitlines() for rank in (0, 1)]


@pytest.mark.parametrize("mode", ["false", "true"], ids=["waiting", "asynchronous"])
def test_all_ranks_end_with_the_same_line_and_earlier_checkpoints_stay(tmp_path, mode):
    codes, errors = full_disk(tmp_path, f"checkpoint.async={mode}")
    assert codes == [1, 1], errors
    lines = [[line for line in text if line.startswith("[checkpoint]")] for text in errors]
    assert lines[0] == lines[1] and len(lines[0]) == 1, errors
    said = re.fullmatch(r"\[checkpoint\] (\S+)/step-(\d+): (making|writing|fsync of|closing) \S+: No space left on device; "
                        r"needs about (\d+) bytes, (\d+) bytes are free there; nothing of this save stays", lines[0][0])
    assert said and said[1].endswith("artifacts/checkpoints"), lines[0]
    last = int(said[2]) - 1
    assert last >= 2
    listing = json.loads((tmp_path / "listing").read_text())["checkpoints"]
    assert [(one["update"], one["complete"]) for one in listing] == [(update, True) for update in range(1, last + 1)]
    assert (tmp_path / "names").read_text().split() == [f"step-{update:04d}" for update in range(1, last + 1)]
