"""examples/dpkg runs from end to end on this machine's own package database, and learns."""

import json
import os
import pathlib
import re
import subprocess

import pytest

SOURCE = pathlib.Path(os.environ["SAMEGRAD_SOURCE"])


def test_the_example_beats_a_byte_unigram_within_forty_updates(tmp_path):
    if not pathlib.Path("/var/lib/dpkg/status").exists():
        pytest.skip("no package database: not a Debian or Ubuntu machine")
    short = ["plan.epochs=0", "plan.updates=40", "schedule.warmup_updates=5"]
    options = [word for setting in short for word in ("--set", setting)]
    done = subprocess.run(
        ["sh", SOURCE / "examples/dpkg/run.sh", "--run", tmp_path, *options], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    unigram, model = (
        float(re.search(name + r": +([\d.]+) bits per byte", done.stdout).group(1)) for name in ("unigram", "samegrad")
    )
    assert 2.0 < model < unigram < 8.0
    lines = [json.loads(line) for line in (tmp_path / "outputs/metrics.jsonl").read_text().splitlines()]
    assert [line["update"] for line in lines] == list(range(1, 41))
    assert {len(line["ranks"]) for line in lines} == {2}
    # Only completions and their end tokens are supervised: validation has exactly the bytes of its file.
    completions = [json.loads(line)["completion"] for line in (tmp_path / "data/validation.jsonl").read_text().splitlines()]
    assert lines[-1]["validation"]["supervised_tokens"] == sum(len(text.encode()) + 1 for text in completions)
    assert "libexample-dev (libdevel) needs libc6-dev\n" in done.stdout
