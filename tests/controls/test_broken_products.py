"""A well-known mistake built into the product makes `evaluate` exit with 3, by the check that is there for it."""

import json
import os
import pathlib
import subprocess

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])
SHORT = ["--set", "plan.updates=16", "--set", "plan.stop_at=8"]
GRADIENT_MISTAKES = ["mean-of-means", "extra-accumulation-division", "missing-world-size", "local-count",
                     "count-before-shift"]
DROPOUT = ["--set", "model.dropout=0.1"]


def samegrad(folder, mistake, *words):
    environment = {**os.environ, "SAMEGRAD_BROKEN": mistake}
    return subprocess.run([BIN / "broken/samegrad", words[0], *SHORT, *words[1:]], cwd=folder, env=environment,
                          capture_output=True, text=True, timeout=120)


def train_the_lesson(folder, mistake, *words):
    for how in ([], ["--continuous"], ["--resume", "artifacts/checkpoints/step-0008"]):
        done = samegrad(folder, mistake, "train", "--nproc", "2", "--quiet", *how, *words)
        assert done.returncode == 0, done.stderr


def failed_checks(folder, mistake, *words):
    done = samegrad(folder, mistake, "evaluate", "--json", *words)
    assert done.returncode in (0, 3), done.stderr
    report = json.loads(done.stdout)
    failed = {check["name"] for check in report["checks"] if not check["holds"]}
    assert done.returncode == (3 if failed else 0)
    return failed


def test_without_a_mistake_every_check_holds(tmp_path):
    train_the_lesson(tmp_path, "none")
    assert failed_checks(tmp_path, "none") == set()


def test_a_wrong_gradient_is_caught(tmp_path):
    train_the_lesson(tmp_path, "none")
    for mistake in GRADIENT_MISTAKES:
        assert "gradient" in failed_checks(tmp_path, mistake), mistake


def test_randomness_restarted_at_a_resume_is_caught(tmp_path):
    train_the_lesson(tmp_path, "randomness-restarted", *DROPOUT)
    failed = failed_checks(tmp_path, "randomness-restarted", *DROPOUT)
    assert any(name.startswith("resume") for name in failed), failed


def test_randomness_continued_at_a_resume_is_exact(tmp_path):
    train_the_lesson(tmp_path, "none", *DROPOUT)
    failed = failed_checks(tmp_path, "none", *DROPOUT)
    assert not any(name.startswith("resume") for name in failed), failed
