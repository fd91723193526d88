"""Asks the plan_probe program."""

import json
import os
import subprocess


def ask(**request):
    program = os.path.join(os.environ["SAMEGRAD_BIN"], "plan_probe")
    done = subprocess.run([program], input=json.dumps(request), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)
