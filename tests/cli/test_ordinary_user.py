"""The built program as an ordinary user, with a read-only source tree and a shared-memory file system of 64 MiB."""

import os
import pathlib
import subprocess

import pytest

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])
SOURCE = pathlib.Path(os.environ["SAMEGRAD_SOURCE"]).resolve()
SCRIPT = SOURCE / "tests/cli/ordinary_user.sh"

STAGE = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True)

pytestmark = pytest.mark.skipif(STAGE.returncode != 0,
                                reason=f"the stage needs root and a root folder that is a mount point: {STAGE.stderr}")


def as_ordinary_user(*words):
    return subprocess.run(["unshare", "--mount", "sh", SCRIPT, SOURCE, *words], capture_output=True, text=True,
                          timeout=120)


def test_the_stage_is_what_it_says():
    done = as_ordinary_user("sh", "-c", f"id -u; df --output=size -BM /dev/shm | tail -1; touch {SOURCE}/x 2>&1 || :")
    user, size, touch = done.stdout.splitlines()
    assert user == "65534" and size.strip() == "64M" and "Read-only" in touch, done


def test_the_lesson_trains_stops_resumes_and_evaluates():
    short = "--set plan.updates=16 --set plan.stop_at=8"
    steps = [f"train --nproc 2 {short}", f"train --nproc 2 {short} --continuous",
             f"train --nproc 2 {short} --resume artifacts/checkpoints/step-0008", f"evaluate {short}", "checkpoints"]
    done = as_ordinary_user("sh", "-ec", "\n".join(f"{BIN}/samegrad {step}" for step in steps))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert "FAIL" not in done.stdout and "PASS  resume" in done.stdout


def test_four_processes_with_a_model_larger_than_shared_memory():
    """4 gradients of 25 MB each would not fit 64 MiB: the transport must not need the file system at all."""
    done = as_ordinary_user(BIN / "samegrad", "train", "--nproc", "4", "--quiet", "--set", "plan.updates=1", "--continuous",
                            "--set", "model.width=512", "--set", "model.feed_forward=2048", "--set",
                            "data.train_sequences=64", "--set", "data.longest=80", "--set", "data.shortest=60")
    assert done.returncode == 0, done.stderr
