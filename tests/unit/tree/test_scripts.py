"""Every shell script of the tree is POSIX sh without findings."""

import fcntl
import os
import pathlib
import shutil
import subprocess

import pytest

SOURCE = pathlib.Path(os.environ["SAMEGRAD_SOURCE"])
SCRIPTS = sorted([*SOURCE.glob("scripts/*.sh"), *SOURCE.glob("examples/*/*.sh"), SOURCE / ".ci/run"])


def shellcheck(script):
    return subprocess.run(["shellcheck", "-x", script], capture_output=True, text=True, cwd=SOURCE)


def test_there_are_scripts():
    assert {"setup.sh", "demo.sh", "test.sh", "run"} <= {script.name for script in SCRIPTS}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_script_is_posix_sh(script):
    # dash, because a developer's /bin/sh may be bash, which accepts more.
    shell = shutil.which("dash") or "sh"
    checked = subprocess.run([shell, "-n", script], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_script_has_no_shellcheck_findings(script):
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    checked = shellcheck(script)
    assert checked.returncode == 0, checked.stdout


def test_shellcheck_rejects_a_script_that_is_not_posix(tmp_path):
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    script = tmp_path / "bad.sh"
    script.write_text("#!/bin/sh\n[[ -n $1 ]] && echo $1\n")
    assert shellcheck(script).returncode != 0


def test_a_second_setup_waits_for_the_first():
    """Two pips in one .venv break each other."""
    with open(SOURCE / "scripts/setup.sh") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        second = subprocess.Popen(["sh", "scripts/setup.sh", "tests"], cwd=SOURCE, stdout=subprocess.PIPE, text=True)
        assert "waiting for it" in second.stdout.readline()
        assert second.poll() is None
    said, _ = second.communicate(timeout=60)
    assert second.returncode == 0 and "all that 'tests' needs is there" in said, said
