"""pytorch#73320, #126510, Lightning#401, OpenNMT-py#1298: a second job on the machine died with "address in use", because a
fixed default port was the job's identity."""

import os
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.join(os.environ["SAMEGRAD_SOURCE"], "tests/multiproc"))
from launched_run import SAMEGRAD, BIN  # noqa: E402


def start(backend):
    words = [SAMEGRAD, "launch", "--nproc", "2", "--backend", backend, "--no-prefix", "--", BIN / "init_probe"]
    return subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("backend", ["shm", "gloo"])
def test_jobs_without_a_port_do_not_meet_neither_at_once_nor_one_after_the_other(backend):
    for jobs in (4, 1):
        started = [start(backend) for _ in range(jobs)]
        for job in started:
            output, errors = job.communicate(timeout=60)
            assert (job.returncode, errors) == (0, "")
            assert sorted(line.split(",")[:2] for line in output.splitlines()) == [
                ['{"rank":0', '"size":2'], ['{"rank":1', '"size":2']]
