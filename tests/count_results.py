"""Counts what a CTest run did, case by case, from JUnit files: count_results.py FOLDER CTEST_EXIT_CODE.

FOLDER/ctest.xml is CTest's own; a test named a/test_b.py is a pytest file, whose cases are in FOLDER/a.test_b.py.xml.
Prints the end of every failure's output, every skip with its reason, and last `N passed, N failed, N skipped`. Exit 1
where any failed, where none passed, or where CTest failed for a reason that no case shows.
"""

import pathlib
import sys
import xml.etree.ElementTree as ElementTree

TAIL_LINES = 40


class Results:
    def __init__(self):
        self.passed = 0
        self.failures = []  # (name, output)
        self.skips = []  # (name, reason)


def text_of(case, tag):
    element = case.find(tag)
    return "" if element is None else (element.text or "")


def gtest_skip_reason(output):
    """What GTEST_SKIP() was given: the lines between `file:line: Skipped` and the closing line of the case."""
    lines = output.splitlines()
    for begin, line in enumerate(lines):
        if line.endswith(": Skipped"):
            rest = lines[begin + 1 :]
            end = next((i for i, text in enumerate(rest) if text.startswith("[  SKIPPED ]")), len(rest))
            return " ".join(rest[:end]).strip()
    return ""


def add_pytest_file(results, name, ctest_failed, output, junit):
    failed_before = len(results.failures)
    counted_before = results.passed + len(results.skips)
    try:
        cases = ElementTree.parse(junit).iter("testcase")
    except (OSError, ElementTree.ParseError) as error:
        results.failures.append((name, f"{output}\nno results of its cases: {error}"))
        return
    for case in cases:
        full_name = f"{name}::{case.get('name')}"
        # One case can have several: a failure in its body and an error in its teardown.
        bad = case.findall("failure") + case.findall("error")
        skipped = case.find("skipped")
        if bad:
            results.failures.append((full_name, "\n".join(entry.text or entry.get("message", "") for entry in bad)))
        elif skipped is not None:
            results.skips.append((full_name, skipped.get("message", "")))
        else:
            results.passed += 1
    if ctest_failed and len(results.failures) == failed_before:
        results.failures.append((name, output))
    elif results.passed + len(results.skips) + len(results.failures) == counted_before + failed_before:
        results.failures.append((name, f"{output}\nno case ran"))


def add_ctest_case(results, case, folder):
    name, status = case.get("name"), case.get("status")
    output = text_of(case, "system-out")
    if name.endswith(".py"):
        add_pytest_file(results, name, status != "run", output, folder / (name.replace("/", ".") + ".xml"))
    elif status == "run":
        results.passed += 1
    elif status == "disabled":
        results.skips.append((name, "disabled in the source"))
    elif status == "notrun" and case.find("skipped").get("message", "").startswith("SKIP_") and "[  FAILED  ]" not in output:
        results.skips.append((name, gtest_skip_reason(output)))
    else:
        results.failures.append((name, output))


def count(folder, ctest_exit_code):
    results = Results()
    try:
        cases = ElementTree.parse(folder / "ctest.xml").iter("testcase")
    except (OSError, ElementTree.ParseError) as error:
        results.failures.append(("ctest", f"no results: {error}"))
        return results
    for case in cases:
        add_ctest_case(results, case, folder)
    if ctest_exit_code != 0 and not results.failures:
        results.failures.append(("ctest", f"exit code {ctest_exit_code}, and no failed case says why"))
    return results


def main():
    results = count(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
    for name, output in results.failures:
        print(f"FAILED {name}")
        for line in output.splitlines()[-TAIL_LINES:]:
            print(f"    {line}")
    for name, reason in results.skips:
        print(f"SKIPPED {name}: {reason or 'no reason given'}")
    print(f"{results.passed} passed, {len(results.failures)} failed, {len(results.skips)} skipped")
    return 0 if results.passed > 0 and not results.failures else 1


if __name__ == "__main__":
    sys.exit(main())
