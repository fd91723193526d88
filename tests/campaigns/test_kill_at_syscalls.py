"""A few of the places of the campaign kill_at_syscalls; by hand it tries them all."""

import json
import os
import pathlib
import subprocess
import sys

from kill_at_syscalls import FORMS, ROOT

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])


def test_a_kill_at_any_system_call_of_a_save_is_made_good_by_the_resume(tmp_path):
    result = tmp_path / "result.json"
    done = subprocess.run([sys.executable, ROOT / "tests/campaigns/kill_at_syscalls.py", "--bin", BIN, "--budget", "3",
                           "--json", result], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(result.read_text())
    assert found["numbers"]["kills"] == found["numbers"]["same end"] >= 2 * len(FORMS)
    assert not found["by_system_call"] or found["numbers"]["places at which a folder is tried"] == 4
