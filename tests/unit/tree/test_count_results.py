"""The last line of scripts/test.sh is right: real CTest and pytest runs, with every way to fail, are counted."""

import os
import pathlib
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(os.environ["SAMEGRAD_SOURCE"])

PYTEST_FILE = """
import os, pytest
def test_passes(): pass
@pytest.mark.parametrize("n", [1, 2])
def test_passes_too(n): pass
@pytest.mark.skip(reason="needs a second moon")
def test_skips(): pass
"""
FAILS = "def test_fails(): assert 'left' == 'right'\n"
CRASHES = "def test_crashes(): os._exit(0)\n"
TEARDOWN_FAILS = """
@pytest.fixture
def fragile():
    yield
    raise ValueError("torn down badly")
def test_with_fixture(fragile): pass
"""


def run_suite(folder, pytest_text="", cases=()):
    """A CTest suite of shell commands [(name, command)] and, where given, one pytest file. -> (last line, exit, all)."""
    lines = []
    for name, command in cases:
        lines.append(f"add_test([==[{name}]==] sh -c [==[{command}]==])\n")
        lines.append(f'set_tests_properties([==[{name}]==] PROPERTIES TIMEOUT 20 SKIP_REGULAR_EXPRESSION "\\\\[  SKIPPED \\\\]")\n')
    junit = folder / "junit"
    junit.mkdir()
    if pytest_text:
        (folder / "test_it.py").write_text(pytest_text)
        lines.append(
            f"add_test([==[unit/test_it.py]==] {sys.executable} -m pytest -q -p no:cacheprovider"
            f" --junitxml={junit}/unit.test_it.py.xml {folder}/test_it.py)\n"
        )
    (folder / "CTestTestfile.cmake").write_text("".join(lines))
    ctest = subprocess.run(["ctest", "--test-dir", folder, "--output-junit", "junit/ctest.xml"], capture_output=True)
    return count(junit, ctest.returncode)


def count(junit, ctest_exit_code):
    counted = subprocess.run(
        [sys.executable, SOURCE / "tests/count_results.py", junit, str(ctest_exit_code)], capture_output=True, text=True
    )
    return counted.stdout.splitlines()[-1], counted.returncode, counted.stdout


def test_cases_are_counted_one_by_one_and_a_skip_says_why(tmp_path):
    gtest_skip = "printf 'a.cpp:5: Skipped\\nno such device\\n[  SKIPPED ] A.Skips (0 ms)\\n'"
    last, code, output = run_suite(tmp_path, PYTEST_FILE, [("a.passes", "true"), ("a.skips", gtest_skip)])
    assert (last, code) == ("4 passed, 0 failed, 2 skipped", 0)
    assert "SKIPPED a.skips: no such device" in output
    assert "SKIPPED unit/test_it.py::test_skips: needs a second moon" in output


@pytest.mark.parametrize("command", ["echo the reason; exit 1", "kill -ABRT $$", "printf '[  SKIPPED ]\\n[  FAILED  ]\\n'; exit 1"])
def test_a_failing_program_is_a_failure(tmp_path, command):
    last, code, _ = run_suite(tmp_path, cases=[("a.passes", "true"), ("a.fails", command)])
    assert (last, code) == ("1 passed, 1 failed, 0 skipped", 1)


def test_a_program_that_cannot_start_is_a_failure(tmp_path):
    junit = tmp_path / "junit"
    junit.mkdir()
    (tmp_path / "CTestTestfile.cmake").write_text("add_test(a.passes true)\nadd_test(missing /nonexistent/program)\n")
    ctest = subprocess.run(["ctest", "--test-dir", tmp_path, "--output-junit", "junit/ctest.xml"], capture_output=True)
    assert count(junit, ctest.returncode)[:2] == ("1 passed, 1 failed, 0 skipped", 1)


@pytest.mark.parametrize(
    "added, expected, shown",
    [
        (FAILS, "3 passed, 1 failed, 1 skipped", "assert 'left' == 'right'"),
        (CRASHES, "0 passed, 1 failed, 0 skipped", "no results of its cases"),
        (TEARDOWN_FAILS, "3 passed, 1 failed, 1 skipped", "torn down badly"),
        ("import no_such_module\n", "0 passed, 1 failed, 0 skipped", "no_such_module"),
    ],
)
def test_a_pytest_file_that_fails_or_crashes_is_a_failure(tmp_path, added, expected, shown):
    last, code, output = run_suite(tmp_path, PYTEST_FILE + added)
    assert (last, code) == (expected, 1)
    assert shown in output


def test_a_pytest_file_without_cases_is_a_failure(tmp_path):
    last, code, _ = run_suite(tmp_path, "x = 1\n", [("a.passes", "true")])
    assert (last, code) == ("1 passed, 1 failed, 0 skipped", 1)


def test_no_test_at_all_is_a_failure(tmp_path):
    last, code, _ = run_suite(tmp_path)
    assert last.startswith("0 passed") and code == 1


def test_only_skips_are_a_failure(tmp_path):
    last, code, _ = run_suite(tmp_path, cases=[("a.skips", "echo '[  SKIPPED ]'")])
    assert (last, code) == ("0 passed, 0 failed, 1 skipped", 1)


def test_a_ctest_that_fails_without_a_failed_case_is_a_failure(tmp_path):
    run_suite(tmp_path, cases=[("a.passes", "true")])
    assert count(tmp_path / "junit", 8)[:2] == ("1 passed, 1 failed, 0 skipped", 1)
    assert count(tmp_path / "nothing here", 0)[:2] == ("0 passed, 1 failed, 0 skipped", 1)
