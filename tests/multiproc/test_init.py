"""A user's program finds its ranks, whoever started it. mpirun, mpiexec and srun are played by their variables."""

import json
import os
import subprocess

import pytest

from launched_run import BIN, free_port, static_torchrun

PROBE = BIN / "init_probe"
PINNED = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "MKL_CBWR")


def start(words, **variables):
    environment = {name: value for name, value in os.environ.items() if name not in PINNED}
    return subprocess.Popen([str(word) for word in words], env={**environment, **variables}, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def ended(processes):
    """[(exit code, standard output, standard error)], by rank."""
    outputs = [process.communicate(timeout=60) for process in processes]
    return [(process.returncode, *output) for process, output in zip(processes, outputs)]


def found(results, ranks, backend):
    """What the ranks print, sorted; asserts that they are one world."""
    assert all(code == 0 for code, _, _ in results), results
    lines = sorted((json.loads(line) for _, out, _ in results for line in out.splitlines()), key=lambda line: line["rank"])
    assert lines == [{"rank": rank, "size": ranks, "backend": backend, "any": True, "threads": 1}
                     for rank in range(ranks)]
    return [error for _, _, error in results]


def mpirun(rank, ranks, job):
    return {"OMPI_COMM_WORLD_SIZE": str(ranks), "OMPI_COMM_WORLD_RANK": str(rank), "PMIX_NAMESPACE": job,
            "OMPI_COMM_WORLD_LOCAL_SIZE": str(ranks), "OMPI_COMM_WORLD_LOCAL_RANK": str(rank)}


def mpiexec(rank, ranks, _):
    return {"PMI_SIZE": str(ranks), "PMI_RANK": str(rank), "MPI_LOCALNRANKS": str(ranks), "MPI_LOCALRANKID": str(rank)}


def srun(rank, ranks, job):
    return {"SLURM_STEP_NUM_TASKS": str(ranks), "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank),
            "SLURM_STEP_NUM_NODES": "1", "SLURM_JOB_ID": job, "SLURM_STEP_ID": "0"}


@pytest.mark.parametrize("launcher", [mpirun, srun])
def test_ranks_of_another_launcher_meet_in_a_file_that_goes_and_share_memory(tmp_path, launcher):
    started = [start([PROBE], XDG_RUNTIME_DIR=str(tmp_path), **launcher(rank, 3, tmp_path.name)) for rank in range(3)]
    errors = found(ended(started), 3, "shm")
    assert errors == [f"joined {launcher.__name__}: 3 ranks on this host share memory\n", "", ""]
    assert list(tmp_path.iterdir()) == []


def test_two_programs_one_after_the_other_in_shells_that_mpiexec_started(tmp_path):
    """It gives its job no name: the ranks have the process in common that started the shells."""
    script = f"{PROBE} backend=gloo >{tmp_path}/first.$PMI_RANK && {PROBE}"
    (tmp_path / "meet").mkdir()
    started = [start(["sh", "-c", script], XDG_RUNTIME_DIR=str(tmp_path / "meet"), **mpiexec(rank, 2, "")) for rank in range(2)]
    errors = found(ended(started), 2, "shm")
    assert "joined mpiexec: 2 ranks talk over gloo" in errors[0] and errors[1] == ""
    assert [json.loads((tmp_path / f"first.{rank}").read_text())["backend"] for rank in range(2)] == ["gloo"] * 2
    assert list((tmp_path / "meet").iterdir()) == []


def test_ranks_of_mpirun_meet_at_the_address_that_they_are_given():
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "XDG_RUNTIME_DIR": "/nonexistent"}
    found(ended([start([PROBE], **mpirun(rank, 2, "x"), **address) for rank in range(2)]), 2, "shm")


@pytest.mark.parametrize("rendezvous, backend", [("file://{folder}/meeting", "auto"), ("tcp://127.0.0.1:{port}", "gloo")])
def test_an_explicit_place_goes_before_a_launchers(tmp_path, rendezvous, backend):
    rendezvous = rendezvous.format(folder=tmp_path, port=free_port())
    started = [start([PROBE, f"rank={rank}", "world_size=2", f"rendezvous={rendezvous}", f"backend={backend}"],
                     **mpirun(0, 5, "x")) for rank in range(2)]
    found(ended(started), 2, "shm" if backend == "auto" else "gloo")
    assert list(tmp_path.iterdir()) == []


def test_torchrun_starts_a_users_program():
    found(ended([start([*static_torchrun(2), PROBE])]), 2, "shm")


@pytest.mark.parametrize("backend", ["shm", "gloo"])
@pytest.mark.parametrize("way, code", [("throws", -6), ("exits", 7)])
def test_a_rank_that_ends_leaves_nobody_waiting(tmp_path, backend, way, code):
    started = [start([PROBE, f"rank={rank}", "world_size=2", f"rendezvous=file://{tmp_path}/meeting",
                      f"backend={backend}", f"{way}=1"]) for rank in range(2)]
    (survivor, _, error), (ended_code, _, _) = ended(started)
    assert (survivor, ended_code) == (1, code)
    assert "rank 1 " in error.splitlines()[-1], error


def test_bits_that_are_not_promised_are_said_once_with_what_to_do(tmp_path):
    def say(*words, **variables):
        (_, error_0), (_, error_1) = [(code, error) for code, _, error in ended(
            [start([PROBE, f"rank={rank}", "world_size=2", f"rendezvous=file://{tmp_path}/meeting", *words],
                   **(variables if rank == 1 else {})) for rank in range(2)])]
        assert error_1 == ""
        return error_0.splitlines()[1:]

    assert say() == []
    assert say(OMP_NUM_THREADS="1") == []
    (line,) = say(MKL_CBWR="COMPATIBLE")
    assert "promised: ranks differ in mkl_cbwr: rank 0 has AUTO, rank 1 has COMPATIBLE: start all ranks with" in line
    (line,) = say(OMP_NUM_THREADS="4")
    assert line.startswith("warning: [init] the same bits for every number of processes are not promised: "
                           "rank 1: OMP_NUM_THREADS is not 1"), line
    (line,) = say("mkl_first")
    assert "rank 0: MKL is not in a reproducible mode, because it was used before init()" in line
    assert "call init() first" in line


def test_a_file_of_ranks_that_were_killed_while_they_met_is_named(tmp_path):
    meeting = tmp_path / "meeting"
    place = ["world_size=2", f"rendezvous=file://{meeting}"]
    killed = start([PROBE, "rank=0", *place])
    while not meeting.exists() or meeting.stat().st_size < 200:
        assert killed.poll() is None
    killed.kill()
    killed.wait()
    ((code, _, error),) = ended([start([PROBE, "rank=1", *place])])
    assert code == 1
    assert error == (f"[launch] rank 0 (pid {killed.pid}) came to {meeting} and has ended; where it belongs to an "
                     "earlier run, remove the file\n")
