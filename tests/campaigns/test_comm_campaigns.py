"""Short forms of the campaigns of hangs and of mismatched calls, and the mistakes that they must catch."""

import json
import os
import pathlib
import subprocess

import pytest

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])


def campaign(name, *words):
    """-> (exit code, result). A busy machine may report late here; the long form counts that as wrong."""
    result = subprocess.run([BIN / f"{name}_campaign", "--json", "--allow-late", *map(str, words)], capture_output=True,
                            text=True, timeout=100)
    assert result.returncode in (0, 1), result
    return result.returncode, json.loads(result.stdout)


def test_hangs_are_named_rightly_and_the_slow_that_come_back_are_no_failure():
    code, found = campaign("hangs", "--cases", 24, "--seed", 7)
    assert (code, found["wrong"], found["cases"]) == (0, 0, 24), found["first_wrong"]
    assert len(found["kinds"]) == 7


@pytest.mark.parametrize("broken", ["no-record", "blames-a-waiting-rank", "stopped-is-slow", "hears-nothing"])
def test_the_campaign_of_hangs_catches(broken):
    code, found = campaign("hangs", "--cases", 12, "--seed", 7, "--broken", broken)
    assert code == 1 and found["wrong"] > 0


def test_mismatched_calls_end_all_ranks_with_one_story():
    code, found = campaign("mismatches", "--cases", 60, "--seed", 7)
    assert (code, found["wrong"], found["cases"]) == (0, 0, 60), found["first_wrong"]


@pytest.mark.parametrize("broken, cases", [("compares-nothing", 4), ("compares-operations", 25),
                                           ("compares-no-types", 25)])
def test_the_campaign_of_mismatches_catches(broken, cases):
    code, found = campaign("mismatches", "--cases", cases, "--seed", 9, "--broken", broken)
    assert code == 1 and found["wrong"] > 0
