"""A mistake in resuming, or one that the number of processes brings to light, makes `verify-resume` exit with 3: the first
update that differs, and the parameter."""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest
from safetensors.numpy import load_file

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])
LESSON = ["plan.updates=16", "model.layers=1", "model.width=16", "model.heads=2", "model.feed_forward=16",
          "plan.batch_size_per_rank=2", "data.validation_sequences=4"]


def verify_resume(folder, mistake, *words, settings=()):
    sets = [word for setting in [*LESSON, *settings] for word in ("--set", setting)]
    return subprocess.run([BIN / "broken/samegrad", "verify-resume", *words, *sets], cwd=folder,
                          env={**os.environ, "SAMEGRAD_BROKEN": mistake}, capture_output=True, text=True, timeout=120)


def report(done):
    return json.loads(done.stdout)


def check_parameter(left, worst):
    """The two files that are left say the same to whoever reads them."""
    ours, reference = load_file(left / "diverged-schedule.safetensors"), load_file(left / "diverged-reference.safetensors")
    differences = {name: np.abs(ours[name].astype(float) - reference[name].astype(float)) for name in reference}
    name = max(differences, key=lambda key: differences[key].max())
    assert worst["parameter"] == name and worst["index"] == int(differences[name].argmax())
    assert worst["value"] == float(ours[name].flatten()[worst["index"]])
    assert worst["reference"] == float(reference[name].flatten()[worst["index"]])
    assert worst["different"] == sum(int((ours[key] != reference[key]).sum()) for key in reference) > 0


ADAMW = ["optimizer.kind=adamw", "optimizer.learning_rate=1e-3"]
DROPOUT = ["model.dropout=0.1"]
ONE_STOP = ["--stops", "3", "--worlds", "1,1", "--updates", "4"]


def test_without_a_mistake_all_is_equal(tmp_path):
    done = verify_resume(tmp_path, "none", *ONE_STOP, settings=[*ADAMW, *DROPOUT])
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("mistake, settings", [("optimizer-state-not-restored", ADAMW), ("data-order-restarted", []),
                                               ("place-built-saved", []),
                                               ("randomness-restarted", DROPOUT)])
def test_a_resume_that_forgets_is_caught_at_its_first_update_with_the_parameter(tmp_path, mistake, settings):
    done = verify_resume(tmp_path, mistake, *ONE_STOP, "--json", settings=settings)
    assert done.returncode == 3, done.stderr
    found = report(done)["schedules"][1]["first_difference"]
    assert found["update"] == 4 and found["repeated"]
    assert "hash_chain" in found["fields"] and "parameters_xxh3" in found["fields"]
    check_parameter(tmp_path / "outputs/verify-resume/outputs", found["worst"])


def test_a_generator_that_is_carried_is_caught_without_a_stop(tmp_path):
    done = verify_resume(tmp_path, "generator-carried", "--worlds", "2", "--updates", "2",
                         settings=["model.dropout=0.1"])
    assert done.returncode == 3, done.stderr
    text = " ".join(done.stdout.split())
    assert "2 to 2: differs first at update 1, in loss, loss_sum, gradient_norm" in text, text
    assert " component " in text and " instead of " in text, text
