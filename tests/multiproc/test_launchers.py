"""Workers of torchrun, accelerate and others that speak as torch.distributed's env:// does."""

import os
import shlex
import subprocess

import pytest

from launched_run import (CONTINUOUS, FAULTY, SAMEGRAD, SCRIPTS, SMALL, done, free_port, hashes, run, settings,
                          static_torchrun, torchrun)

WORDS = settings(*SMALL)
QUICK = [*CONTINUOUS, *WORDS]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    done(folder, SAMEGRAD, *QUICK, "--nproc", 1)
    assert len(hashes(folder, ranks=1)) == 4
    return hashes(folder)


def test_the_lessons_three_trainings_under_torchrun_share_memory(tmp_path, alone):
    """The first one starts in an empty folder: nobody has prepared anything."""
    for words in ([], ["--continuous"], ["--resume", "artifacts/checkpoints/step-0002"]):
        ended = done(tmp_path, *static_torchrun(2), SAMEGRAD, "train", *words, *WORDS)
        assert ended.stderr.count("joined torchrun: 2 ranks on this host share memory") == 1
    assert hashes(tmp_path, ranks=2) == alone
    assert {**hashes(tmp_path, "stopped", ranks=2), **hashes(tmp_path, "resumed", ranks=2)} == alone


def test_commands_one_after_the_other_in_the_ranks_of_one_torchrun(tmp_path, alone):
    commands = [[*QUICK], ["train", *WORDS], ["train", "--resume", "latest", *WORDS], ["exercise", *WORDS]]
    script = " && ".join(shlex.join(str(word) for word in [SAMEGRAD, *command]) for command in commands)
    evaluate = shlex.join(str(word) for word in [SAMEGRAD, "evaluate", *WORDS])
    # A small model is not the lesson's: evaluate's checks say so, on every rank.
    ended = done(tmp_path, *torchrun(4), "sh", "-c", f"{script} && {{ {evaluate}; test $? = 3; }}")
    assert ended.stderr.count("joined torchrun: 4 ranks on this host share memory") == 5, ended.stderr
    assert hashes(tmp_path, ranks=4) == alone
    assert {**hashes(tmp_path, "stopped", ranks=4), **hashes(tmp_path, "resumed", ranks=4)} == alone
    assert (tmp_path / "outputs/report.json").exists()


@pytest.mark.parametrize("launcher", [torchrun(2), static_torchrun(4)], ids=["c10d-2", "static-4"])
def test_both_rendezvous_of_torchrun_give_the_same_hashes(tmp_path, alone, launcher):
    ended = done(tmp_path, *launcher, SAMEGRAD, *QUICK)
    ranks = launcher[3]
    assert f"joined torchrun: {ranks} ranks on this host share memory" in ended.stderr
    assert hashes(tmp_path, ranks=ranks) == alone


def test_behind_two_dashes_torchrun_takes_no_option_of_samegrad_for_its_own(tmp_path, alone):
    done(tmp_path, *torchrun(2), "--", SAMEGRAD, *QUICK, "--run", "of its own")
    assert hashes(tmp_path / "of its own", ranks=2) == alone


@pytest.mark.parametrize("option, note", [
    (["--multi_gpu", "--main_process_port", "0"], "joined accelerate: 4 ranks on this host share memory"),
    ([], "accelerate found no GPU and started one process for 4: starting 4 on this host"),
], ids=["all-started", "one-started"])
def test_accelerate_launch_with_four_processes(tmp_path, alone, option, note):
    ended = done(tmp_path, SCRIPTS / "accelerate", "launch", *option, "--num_processes", 4, "--no_python", SAMEGRAD,
                 *QUICK)
    assert note in ended.stderr
    assert hashes(tmp_path, ranks=4) == alone


def started_by_hand(folder, ranks, *words, program=SAMEGRAD, fault=None):
    """As a launcher that only sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT: exit codes and errors, by rank."""
    folder.mkdir(parents=True, exist_ok=True)
    place = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    started = [subprocess.Popen([str(word) for word in [program, *words]], cwd=folder, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, **place, "RANK": str(rank),
                                     **({"SAMEGRAD_FAULT": fault} if fault else {})}) for rank in range(ranks)]
    errors = [process.communicate(timeout=120)[1] for process in started]
    return [process.returncode for process in started], errors


def test_ranks_whose_launcher_keeps_no_store_meet_at_rank_0(tmp_path, alone):
    codes, errors = started_by_hand(tmp_path, 3, *QUICK)
    assert codes == [0, 0, 0], errors
    assert "joined the launcher: 3 ranks on this host share memory" in errors[0]
    assert hashes(tmp_path, ranks=3) == alone


def test_mpirun_starts_trainings(tmp_path, alone):
    """Played by its variables: a file of the job is where the ranks meet."""
    def place(rank):
        return {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
                "PMIX_NAMESPACE": tmp_path.name, "XDG_RUNTIME_DIR": str(tmp_path)}
    started = [subprocess.Popen([SAMEGRAD, *QUICK], cwd=tmp_path, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, **place(rank)}) for rank in range(2)]
    errors = [process.communicate(timeout=120)[1] for process in started]
    assert [process.returncode for process in started] == [0, 0], errors
    assert "joined mpirun: 2 ranks on this host share memory" in errors[0]
    assert hashes(tmp_path, ranks=2) == alone


def test_gloo_can_be_asked_for_and_rank_0_says_so(tmp_path, alone):
    codes, errors = started_by_hand(tmp_path, 2, *QUICK, "--backend", "gloo")
    assert codes == [0, 0], errors
    assert "joined the launcher: 2 ranks talk over gloo, because run.backend asks for it" in errors[0]
    assert "joined" not in errors[1]
    assert hashes(tmp_path, ranks=2) == alone


@pytest.mark.parametrize("backend, rank", [("gloo", 0), ("gloo", 1), ("shm", 1)])
def test_a_killed_rank_is_named_by_the_others(tmp_path, backend, rank):
    """Rank 0 takes the store with it."""
    codes, errors = started_by_hand(tmp_path, 3, *QUICK, "--quiet", "--backend", backend, program=FAULTY,
                                    fault=f"rank={rank},step=2,kind=kill9,phase=exchange")
    assert codes.pop(rank) == -9 and errors.pop(rank) == ""
    assert codes == [1, 1]
    for error in errors:
        assert f"rank {rank} " in error and "of update 2" in error, error


def test_an_address_where_nobody_keeps_the_store_is_named(tmp_path):
    place = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()),
             "TORCHELASTIC_USE_AGENT_STORE": "True"}
    ended = run(tmp_path, SAMEGRAD, *QUICK, "--set", "run.timeout_s=1", **place)
    assert ended.returncode == 1 and len(ended.stderr.splitlines()) == 1, ended.stderr
    assert f"MASTER_ADDR=127.0.0.1, MASTER_PORT={place['MASTER_PORT']}" in ended.stderr, ended.stderr


@pytest.mark.parametrize("second", [{"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}, {"PMI_SIZE": "2"},
                                    {"SLURM_STEP_NUM_TASKS": "2"}, {"SLURM_NTASKS": "2", "SLURM_STEP_ID": "0"}])
def test_two_launchers_that_contradict_each_other_are_both_named(tmp_path, second):
    place = {"RANK": "0", "WORLD_SIZE": "4", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "4", "GROUP_WORLD_SIZE": "1",
             "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", "TORCHELASTIC_RUN_ID": "none"}
    ended = run(tmp_path, SAMEGRAD, *QUICK, **place, **second)
    name, size = next(iter(second.items()))
    assert ended.returncode == 2 and len(ended.stderr.splitlines()) == 1
    assert ended.stderr.startswith(f"[launch] WORLD_SIZE=4 with {name}={size}: two launchers"), ended.stderr
    assert not list(tmp_path.iterdir())
