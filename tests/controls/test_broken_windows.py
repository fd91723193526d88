"""A well-known mistake built into the product makes `verify` exit with 3, by the check that is there for it."""

import json
import os
import pathlib
import subprocess

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])
QUICK = ["plan.updates=2", "plan.stop_at=1", "model.width=32", "model.layers=1", "model.heads=2",
         "model.feed_forward=64"]
GRADIENTS = {"gradient, float32", "gradient, float64"}
MISTAKES = ["mean-of-means", "extra-accumulation-division", "missing-world-size", "local-count", "count-before-shift"]


def failed_checks(folder, mistake):
    sets = [word for setting in QUICK for word in ("--set", setting)]
    done = subprocess.run([BIN / "broken/samegrad", "verify", "--nproc", "2", "--json", *sets], cwd=folder,
                          env={**os.environ, "SAMEGRAD_BROKEN": mistake}, capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, 3), done.stderr
    report = json.loads(done.stdout)
    failed = {check["name"] for check in report["checks"] if not check["holds"]}
    assert done.returncode == (3 if failed else 0) and report["holds"] is not bool(failed)
    return failed


def test_without_a_mistake_every_check_holds(tmp_path):
    assert failed_checks(tmp_path, "none") == set()


def test_a_wrong_normalisation_is_caught_by_the_gradient_in_both_precisions(tmp_path):
    for mistake in MISTAKES:
        assert GRADIENTS <= failed_checks(tmp_path, mistake), mistake


def test_a_wrong_count_is_caught_by_the_loss_too(tmp_path):
    assert {"loss, float32", "loss, float64"} <= failed_checks(tmp_path, "count-before-shift")


def test_a_billionth_in_one_component_is_caught_by_the_float64_check_only(tmp_path):
    assert failed_checks(tmp_path, "billionth-in-a-component") == {"gradient, float64"}
