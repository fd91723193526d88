"""pytorch#73320, #126510, Lightning#401, OpenNMT-py#1298: a second job on the machine died with "address in use", because a
fixed default port was the job's identity."""

import os
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.join(os.environ["SAMEGRAD_SOURCE"], "tests/multiproc"))
from launched_run import SAMEGRAD, BIN, free_port  # noqa: E402


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


def hold(folder, *options):
    """A job that says its port and lasts until the folder has a file `end`."""
    script = 'echo $MASTER_PORT; until test -e "$0"; do sleep 0.02; done'
    words = [SAMEGRAD, "launch", "--nproc", "2", "--no-prefix", *options, "--", "sh", "-c", script, folder / "end"]
    return subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(folder, jobs):
    (folder / "end").touch()
    for job in jobs:
        _, errors = job.communicate(timeout=60)
        assert (job.returncode, errors) == (0, "")
    (folder / "end").unlink()


def test_programs_for_torchrun_have_a_port_of_their_own_in_each_job(tmp_path):
    jobs = [hold(tmp_path) for _ in range(3)]
    ports = [{job.stdout.readline() for _ in range(2)} for job in jobs]
    finish(tmp_path, jobs)
    assert all(len(found) == 1 for found in ports) and len(set.union(*ports)) == 3


def test_a_port_that_is_asked_for_twice_ends_the_second_job_by_its_name_before_it_starts_anything(tmp_path):
    port = str(free_port())
    for _ in range(2):  # again right after the first one's end
        first = hold(tmp_path, "--master-port", port)
        assert [first.stdout.readline() for _ in range(2)] == [port + "\n"] * 2
        second = hold(tmp_path, "--master-port", port)
        output, errors = second.communicate(timeout=60)
        assert second.returncode == 2 and output == "", "it started a worker"
        assert errors.startswith(f"[launch] the store at 127.0.0.1:{port}: Address already in use; ")
        assert len(errors.splitlines()) == 1
        finish(tmp_path, [first])
