"""The whole lesson by one command, and what it leaves."""

import json
import os
import pathlib
import subprocess

import pytest

SAMEGRAD = pathlib.Path(os.environ["SAMEGRAD_BIN"]) / "samegrad"


@pytest.fixture(scope="module")
def lesson(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lesson")
    done = subprocess.run([SAMEGRAD, "demo", "--run", folder], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return folder, done.stdout


def report(folder):
    return json.loads((folder / "outputs/report.json").read_text())


def lines(folder, kind):
    every = [json.loads(line) for line in (folder / "outputs/metrics.jsonl").open()]
    return {line["update"]: line for line in every if line["kind"] == kind}


def test_every_check_of_the_lesson_holds(lesson):
    folder, shown = lesson
    checks = {check["name"]: check for check in report(folder)["checks"]}
    assert all(check["holds"] for check in checks.values())
    for name in ("model parameters", "gradient", "control: mean-of-means", "resume: update 100", "test accuracy",
                 "zero-token window"):
        assert name in checks
    assert checks["model parameters"]["measured"] == "282,628"
    assert "2 of 2 ranks refused" in checks["zero-token window"]["measured"]
    assert "FAIL" not in shown


def test_the_resumed_run_is_the_continuous_one_at_every_update_from_51_to_100(lesson):
    folder, _ = lesson
    continuous, stopped, resumed = (lines(folder, kind) for kind in ("continuous", "stopped", "resumed"))
    assert set(stopped) == set(range(1, 51)) and set(resumed) == set(range(51, 101)) and len(continuous) == 100
    for update, line in {**stopped, **resumed}.items():
        for value in ("hash_chain", "parameters_xxh3", "gradient_xxh3", "loss_sum", "supervised_tokens", "learning_rate"):
            assert line[value] == continuous[update][value], (update, value)


def test_the_hundred_updates_clearly_learn(lesson):
    folder, _ = lesson
    losses = [line["loss"] for line in lines(folder, "continuous").values()]
    assert max(losses[-10:]) < 0.7 * losses[0]


def test_figures_and_checkpoints_are_there(lesson):
    folder, shown = lesson
    for name in ("loss", "tokens", "gradient-error"):
        for kind in ("svg", "png"):
            assert (folder / f"outputs/figures/{name}.{kind}").stat().st_size > 1000, name
    assert sorted(path.name for path in (folder / "artifacts/checkpoints").iterdir()) == ["step-0050", "step-0100"]
    assert "outputs/report.json" in shown and "outputs/figures" in shown


def test_it_removes_nothing(lesson):
    folder, _ = lesson
    for path in ("outputs/data/train.jsonl", "outputs/plan.json", "outputs/init.safetensors"):
        assert (folder / path).exists()
