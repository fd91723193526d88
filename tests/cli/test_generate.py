"""generate continues with the model that the run would go on from."""

import os
import pathlib
import subprocess

SAMEGRAD = pathlib.Path(os.environ["SAMEGRAD_BIN"]) / "samegrad"
TEXT = ["model.width=16", "model.layers=1", "model.heads=2", "model.feed_forward=16", "data.task=text", "data.train=a.txt",
        "model.kind=decoder", "model.vocabulary=257", "model.positions=32", "plan.updates=40", "plan.stop_at=0",
        "checkpoint.every=20", "optimizer.kind=adamw", "optimizer.learning_rate=0.05"]


def samegrad(folder, *words):
    result = subprocess.run([SAMEGRAD, *words], capture_output=True, text=True, timeout=60, cwd=folder)
    assert result.returncode == 0, result.stderr
    return result.stdout


def train(folder, *words):
    samegrad(folder, "train", "--nproc", "1", "--quiet", *words, *(word for one in TEXT for word in ("--set", one)))


def generated(folder, *words):
    return samegrad(folder, "generate", "--prompt", "doc", "--max-tokens", "40", *words)


def test_not_with_a_checkpoint_that_a_resume_took_back(tmp_path):
    (tmp_path / "a.txt").write_text("\n\n".join(f"document {n} of this text" for n in range(40)))
    train(tmp_path)
    path = tmp_path / "artifacts/checkpoints"
    taken_back = generated(tmp_path)
    assert taken_back == generated(tmp_path, "--checkpoint", path / "step-0040")
    train(tmp_path, "--resume", path / "step-0020", "--stop-at", "21")
    assert generated(tmp_path) == generated(tmp_path, "--checkpoint", path / "step-0021") != taken_back
