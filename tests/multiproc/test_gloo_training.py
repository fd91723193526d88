"""Training over gloo: the bits of shared memory, for any number of processes; a lost rank ends all and is named."""

import signal

import pytest

from launched_run import CONTINUOUS, FAULTY, SAMEGRAD, SMALL, SOURCE, done, hashes, run, settings

ROWS = "".join(f'{{"text": "{word * (3 + 7 * i % 11)}"}}\n' for i, word in enumerate(["same ", "bits ", "again "] * 8))
TASKS = {
    "lesson": settings(*SMALL),
    "text": ["--config", SOURCE / "configs/text.yaml",
             *settings(*SMALL, "plan.accumulation=2", "plan.batch_size_per_rank=2", "model.positions=128",
                       "data.train=rows.jsonl")],
}
OPTIMIZERS = {"sgd": settings("optimizer.kind=sgd", "optimizer.learning_rate=0.1"),
              "adamw": settings("optimizer.kind=adamw", "optimizer.learning_rate=1e-3")}
RUNS = {f"{task}-{optimizer}-dropout-{dropout}": [*TASKS[task], *OPTIMIZERS[optimizer], *settings(f"model.dropout={dropout}")]
        for task in TASKS for optimizer in OPTIMIZERS for dropout in ("0", "0.1")}
LESSON = "lesson-sgd-dropout-0"


def trained(folder, name, ranks, *words):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rows.jsonl").write_text(ROWS)
    done(folder, SAMEGRAD, *CONTINUOUS, "--nproc", ranks, "--quiet", *RUNS[name], *words)
    return hashes(folder, ranks=ranks)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """The hashes of each run over shared memory, by its name."""
    found = {name: trained(tmp_path_factory.mktemp(name), name, 2, "--backend", "shm") for name in RUNS}
    assert [len(each) for each in found.values()] == [4] * len(RUNS)
    assert len({each[4] for each in found.values()}) == len(RUNS), "two of the runs are the same one"
    return found


@pytest.mark.parametrize("name", RUNS)
def test_gloo_has_the_hashes_of_shared_memory_for_any_number_of_processes(tmp_path, shared, name):
    for ranks in (1, 2, 3, 4):
        assert trained(tmp_path / str(ranks), name, ranks, "--backend", "gloo") == shared[name], ranks


def test_the_comparison_rejects_another_seed(tmp_path, shared):
    assert trained(tmp_path, LESSON, 2, "--backend", "gloo", "--set", "seed=43") != shared[LESSON]


def test_a_checkpoint_of_one_backend_resumes_over_the_other(tmp_path, shared):
    continuous = shared[LESSON]
    train = [SAMEGRAD, "train", "--quiet", *RUNS[LESSON], "--nproc"]
    done(tmp_path / "mixed", *train, 2, "--backend", "gloo")
    done(tmp_path / "mixed", *train, 3, "--resume", "latest", "--backend", "shm")
    done(tmp_path / "mixed", *train, 1, "--resume", "latest")  # nothing is left
    assert {**hashes(tmp_path / "mixed", "stopped"), **hashes(tmp_path / "mixed", "resumed")} == continuous


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_rank_ends_all_and_is_named(tmp_path, rank):
    ended = run(tmp_path, FAULTY, "train", "--nproc", 3, "--quiet", "--backend", "gloo", *settings(*SMALL),
                fault=f"rank={rank},step=2,kind=kill9,phase=exchange")
    assert ended.returncode == 128 + signal.SIGKILL
    # On a busy machine the culprit is named once before the others have ended.
    first, second, _ = [line for line in ended.stderr.splitlines() if not line.endswith("(other ranks have not ended yet)")]
    assert f"rank {rank} " in first and "SIGKILL" in first
    assert f"rank {rank} " in second and "ended without leaving the run before 'window' of update 2" in second


def test_an_exception_on_one_rank_ends_all_with_its_line(tmp_path):
    ended = run(tmp_path, FAULTY, "train", "--nproc", 3, "--quiet", "--backend", "gloo", *settings(*SMALL),
                fault="rank=1,step=2,kind=throw")
    assert ended.returncode == 1
    said, who, _ = ended.stderr.strip().splitlines()
    assert said.startswith("[fault] ") and who.startswith("[launch] rank 1 (pid ")
    assert who.endswith(", exit code 1) failed first; in consequence ranks 0, 2: the same line"), ended.stderr


def test_two_workers_of_env_meet_over_gloo(tmp_path):
    assert '"ok": true' in done(tmp_path, SAMEGRAD, "env", "--dual", "--json", "--set", "run.backend=gloo").stdout
