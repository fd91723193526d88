"""A short form of launcher_kills.py, and the broken launchers that it must catch."""

import os
import pathlib

import pytest

from launcher_kills import BROKEN, campaign

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])


def test_no_process_of_the_job_outlives_the_launcher():
    result = campaign(BIN / "samegrad", seed=11, budget=13, bound_s=20)
    assert result["ok"] and len(result["by_victim"]) == 13, result


@pytest.mark.parametrize("broken", sorted(BROKEN))
def test_a_launcher_without_one_of_its_protections_is_caught(broken):
    result = campaign(BIN / "faults/samegrad", seed=12, budget=12, broken=broken)
    assert result["left"], result
