"""`prepare` writes what is missing or stale, once, whatever its size."""

import json
import os
import pathlib
import subprocess

import pytest

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])
NOTHING = "all was there already: nothing written"


def prepare(folder, *settings):
    words = [word for setting in settings for word in ("--set", setting)]
    done = subprocess.run([BIN / "samegrad", "prepare", "--run", folder, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def text_settings(folder, lines):
    data = folder / "data.jsonl"
    data.write_text('{"text":"ab"}\n' * lines)
    return ["data.task=text", f"data.train={data}", "model.kind=decoder", "model.vocabulary=256", "model.positions=4",
            "plan.updates=0", "plan.epochs=1", "plan.stop_at=0", "plan.batch_size_per_rank=1"]


def test_a_plan_of_more_than_a_million_values_is_written_once(tmp_path):
    settings = text_settings(tmp_path, 300_000)
    assert "wrote plan" in prepare(tmp_path, *settings)
    written = (tmp_path / "outputs/plan.json").stat()
    assert NOTHING in prepare(tmp_path, *settings)
    assert (tmp_path / "outputs/plan.json").stat().st_mtime_ns == written.st_mtime_ns


@pytest.mark.parametrize("damage", [
    lambda text: text[: len(text) // 2],
    lambda text: text[:-3],
    lambda text: "",
    lambda text: "[]",
    lambda text: text.replace('"digest": "', '"digest": "0', 1),
    lambda text: text.replace('"updates": 100', '"updates": 99', 1),
    lambda text: json.dumps({**json.loads(text), "plan": json.loads(text)["plan"][:-1]}) + "\n",
    lambda text: json.dumps({**json.loads(text), "plan": 7}) + "\n",
], ids=["half", "cut", "empty", "list", "digest", "updates", "a window less", "no windows"])
def test_a_plan_file_that_is_not_this_runs_is_written_again(tmp_path, damage):
    prepare(tmp_path)
    plan = tmp_path / "outputs/plan.json"
    right = plan.read_text()
    plan.write_text(damage(right))
    assert plan.read_text() != right
    assert "wrote plan" in prepare(tmp_path)
    assert plan.read_text() == right
    assert NOTHING in prepare(tmp_path)
