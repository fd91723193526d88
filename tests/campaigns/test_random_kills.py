"""A few kills of the campaign random_kills; by hand it makes a thousand."""

import json
import os
import pathlib
import subprocess
import sys

from random_kills import BROKEN_RESUMES, ROOT

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])


def test_a_training_that_is_killed_at_random_times_ends_as_if_nobody_had_killed_it(tmp_path):
    result = tmp_path / "result.json"
    done = subprocess.run([sys.executable, ROOT / "tests/campaigns/random_kills.py", "--bin", BIN, "--budget", "6",
                           "--json", result], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(result.read_text())
    assert found["numbers"]["kills"] >= 6
    assert found["broken_variants"] == dict.fromkeys(BROKEN_RESUMES, True)
