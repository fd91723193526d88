"""docs/ddp-parity.md names tests that are there, and each row has one or a reason."""

import os
import pathlib
import re

SOURCE = pathlib.Path(os.environ["SAMEGRAD_SOURCE"])
DOCUMENT = SOURCE / "docs/ddp-parity.md"
FILE = re.compile(r"`((?:[\w-]+/)*[\w-]+\.(?:cpp|py))`:((?:\s*`[\w.]+`,?)+)")


def named_tests(text):
    """-> [(file, test)]"""
    return [(file, test) for file, tests in FILE.findall(text) for test in re.findall(r"`([\w.]+)`", tests)]


def is_there(file, test):
    path = SOURCE / ("tests" if "/" in file else "tests/unit/ddp") / file
    if not path.exists():
        return False
    suite, _, case = test.rpartition(".")
    pattern = rf"^TEST(_P|_F)?\({suite},\s*{case}\)" if suite else rf"^def {case}\("
    return re.search(pattern, path.read_text(), re.MULTILINE) is not None


def rows(text):
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("| PyTorch |")]


def test_every_test_that_the_table_names_exists():
    named = named_tests(DOCUMENT.read_text())
    assert len(named) > 40
    assert [one for one in named if not is_there(*one)] == []


def test_every_row_has_a_test_or_says_not_offered_and_why():
    found = rows(DOCUMENT.read_text())
    assert len(found) > 35
    assert [row for row in found if len(row) != 3 or not (row[2] or re.match("not offered: .{20}", row[1]))] == []


def test_a_test_that_is_not_there_is_found():
    text = "| a | the same | `comm_hook_test.cpp`: `CommHooks.NothingIsDividedAfterAHook`, `CommHooks.NoSuchTest` |"
    assert [is_there(*one) for one in named_tests(text)] == [True, False]
    assert not is_there("oracle/test_ddp_parity.py", "test_no_such_test")
    assert not is_there("no_such_test.cpp", "A.B")
