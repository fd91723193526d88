"""The trained program with real processes: one hash for every number of them, through stops, failures and resumes."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest
from safetensors.torch import load_file

from launched_run import worker_pids

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])
TEXT = pathlib.Path(os.environ["SAMEGRAD_SOURCE"]) / "configs/text.yaml"
SHORT = ["--set", "plan.updates=8", "--set", "plan.stop_at=4"]


def samegrad(folder, *words, program=BIN / "samegrad", fault=None):
    environment = {**os.environ, **({"SAMEGRAD_FAULT": fault} if fault else {})}
    return subprocess.run([program, words[0], *SHORT, *words[1:]], cwd=folder, env=environment, capture_output=True,
                          text=True, timeout=120)


def train(folder, ranks, *words, **options):
    folder.mkdir(parents=True, exist_ok=True)
    return samegrad(folder, "train", "--nproc", str(ranks), "--quiet", *words, **options)


def trained(folder, ranks, *words):
    done = train(folder, ranks, *words)
    assert done.returncode == 0, done.stderr


def lines(folder, kind):
    every = [json.loads(line) for line in (folder / "outputs/metrics.jsonl").open()]
    return [line for line in every if line["kind"] == kind]


def hashes(folder, kind="continuous"):
    return {line["update"]: (line["parameters_xxh3"], line["hash_chain"]) for line in lines(folder, kind)}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    trained(folder, 1, "--continuous")
    return hashes(folder)


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
def test_parameters_have_one_hash_after_every_update(tmp_path, uninterrupted, ranks):
    trained(tmp_path, ranks, "--continuous")
    assert len(uninterrupted) == 8 and hashes(tmp_path) == uninterrupted
    assert all(len(line["ranks"]) == ranks for line in lines(tmp_path, "continuous"))


@pytest.mark.parametrize("first, then", [("0", "1"), ("1", "0")])
def test_a_window_of_text_built_ahead_changes_no_bit_and_a_resume_may_begin_or_end_it(tmp_path, first, then):
    data = tmp_path / "train.jsonl"
    data.write_text("".join(json.dumps({"text": f"line {number} " * (number % 7 + 1)}) + "\n" for number in range(64)))
    sets = ["plan.epochs=0", "model.layers=1", "model.width=32", "model.feed_forward=64", f"data.train={data}"]
    text = ["--config", str(TEXT), *(word for setting in sets for word in ("--set", setting))]
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    trained(whole, 1, "--continuous", *text, "--set", "data.prefetch=0")
    trained(parts, 2, *text, "--set", f"data.prefetch={first}")
    trained(parts, 3, *text, "--resume", "latest", "--set", f"data.prefetch={then}")
    assert len(hashes(whole)) == 8 and {**hashes(parts, "stopped"), **hashes(parts, "resumed")} == hashes(whole)


def test_the_comparison_rejects_another_seed(tmp_path, uninterrupted):
    trained(tmp_path, 2, "--continuous", "--set", "seed=43")
    assert hashes(tmp_path) != uninterrupted


@pytest.mark.parametrize("first, then", [(2, 2), (2, 3), (4, 1)])
def test_a_resumed_run_is_the_continuous_one_at_every_update(tmp_path, uninterrupted, first, then):
    trained(tmp_path, first)
    assert set(hashes(tmp_path, "stopped")) == {1, 2, 3, 4}
    trained(tmp_path, then, "--resume", "artifacts/checkpoints/step-0004")
    resumed = hashes(tmp_path, "resumed")
    assert resumed == {update: uninterrupted[update] for update in (5, 6, 7, 8)}


@pytest.mark.parametrize("settings", [["optimizer.kind=adamw", "optimizer.learning_rate=1e-3", "model.dropout=0.2"],
                                      ["optimizer.momentum=0.9", "schedule.kind=cosine", "schedule.warmup_updates=2",
                                       "optimizer.max_grad_norm=0.5"]], ids=["adamw-dropout", "momentum-cosine-clip"])
def test_optimizer_state_schedule_and_randomness_resume_exactly(tmp_path, settings):
    words = [word for setting in settings for word in ("--set", setting)]
    trained(tmp_path, 3, "--continuous", *words)
    trained(tmp_path, 2, *words)
    trained(tmp_path, 1, "--resume", "latest", *words)
    continuous = hashes(tmp_path)
    assert {**hashes(tmp_path, "stopped"), **hashes(tmp_path, "resumed")} == continuous


def test_checkpoints_of_different_numbers_of_processes_hold_the_same_bytes(tmp_path):
    for ranks in (1, 3):
        trained(tmp_path / str(ranks), ranks)
    for name in ("model.safetensors", "optimizer.safetensors", "rank-0.json", "rank-1.json"):
        files = [tmp_path / str(ranks) / "artifacts/checkpoints/step-0004" / name for ranks in (1, 3)]
        assert files[0].read_bytes() == files[1].read_bytes(), name


def test_a_resume_again_drops_its_own_lines_past_the_checkpoint(tmp_path):
    trained(tmp_path, 2)
    for _ in range(2):
        trained(tmp_path, 2, "--resume", "artifacts/checkpoints/step-0004")
    assert [line["update"] for line in lines(tmp_path, "resumed")] == [5, 6, 7, 8]


def test_a_finished_run_says_that_nothing_is_left(tmp_path):
    trained(tmp_path, 2, "--continuous")
    done = train(tmp_path, 2, "--resume", "latest")
    assert done.returncode == 0 and "already at update 8 of 8" in done.stdout


@pytest.mark.parametrize("key, old, new", [("seed", 42, 7), ("plan.batch_size_per_rank", 8, 4),
                                           ("optimizer.kind", "sgd", "adamw"), ("plan.accumulation", 2, 1)])
def test_a_resume_with_another_plan_names_both_values(tmp_path, key, old, new):
    trained(tmp_path, 2)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    done = train(tmp_path, 2, "--resume", "artifacts/checkpoints/step-0004", "--set", f"{key}={new}")
    assert done.returncode == 2
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before, "files changed"
    assert len(done.stderr.strip().splitlines()) == 1
    assert key in done.stderr and str(old) in done.stderr and str(new) in done.stderr, done.stderr


def workers_of(folder):
    """Pids of the workers that run in the folder."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        try:
            if process.name.isdigit() and (process / "cwd").resolve() == folder.resolve():
                found.append(int(process.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("phase", ["agreement", "backward", "exchange"])
@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_rank_ends_all_and_is_named(tmp_path, phase, rank):
    done = train(tmp_path, 3, program=BIN / "faults/samegrad", fault=f"rank={rank},step=2,kind=kill9,phase={phase}")
    assert done.returncode == 128 + signal.SIGKILL
    first = done.stderr.strip().splitlines()[0]
    assert f"rank {rank} " in first and "SIGKILL" in first, done.stderr
    assert "update 2" in done.stderr, done.stderr
    assert workers_of(tmp_path) == []


def test_a_stopped_rank_ends_all_at_the_deadline_and_is_named(tmp_path):
    done = train(tmp_path, 2, "--set", "run.timeout_s=2", program=BIN / "faults/samegrad",
                 fault="rank=1,step=3,kind=hang,phase=exchange")
    assert done.returncode == 1
    assert "rank 1" in done.stderr and "update 3" in done.stderr and "stopped" in done.stderr, done.stderr
    assert workers_of(tmp_path) == []


def test_an_exception_on_one_rank_ends_all_with_its_line(tmp_path):
    done = train(tmp_path, 3, program=BIN / "faults/samegrad", fault="rank=1,step=2,kind=throw")
    assert done.returncode == 1
    said, who, where = done.stderr.strip().splitlines()
    assert said.startswith("[fault] ") and who.startswith("[launch] rank 1 (pid "), done.stderr
    assert who.endswith(", exit code 1) failed first; in consequence ranks 0, 2: the same line"), done.stderr
    assert where.startswith("[launch] rank 1 was last seen on ") and " in update 2, phase " in where, done.stderr
    assert [line["update"] for line in lines(tmp_path, "stopped")] == [1]
    assert not list(tmp_path.glob("outputs/final-*"))


@pytest.mark.parametrize("wanted, code", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_with_a_checkpoint_from_which_the_run_is_exact(tmp_path, uninterrupted, wanted, code):
    started = subprocess.Popen([BIN / "samegrad", "train", "--nproc", "2", "--set", "plan.updates=100000", "--continuous",
                                "--quiet"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    metrics = tmp_path / "outputs/metrics.jsonl"
    while not metrics.exists() or metrics.stat().st_size == 0:  # the first update is done
        assert started.poll() is None, started.stderr.read()
        time.sleep(0.01)
    started.send_signal(wanted)
    _, errors = started.communicate(timeout=60)
    assert started.returncode == code, errors
    (checkpoint,) = (tmp_path / "artifacts/checkpoints").iterdir()
    done = lines(tmp_path, "continuous")
    assert checkpoint.name == f"step-{len(done):04d}"
    shared = set(uninterrupted) & {line["update"] for line in done}
    assert 1 in shared
    assert all(hashes(tmp_path)[update] == uninterrupted[update] for update in shared)
    assert workers_of(tmp_path) == []


def signal_mask(pid, name):
    """SigCgt (signals with a handler) or ShdPnd (signals that wait) of a process, as a set."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    bits = int(status.split(f"\n{name}:\t")[1].split("\n")[0], 16)
    return {number for number in range(1, 65) if bits >> (number - 1) & 1}


def worker_of_rank(launcher, rank):
    """The pid of a rank's worker as soon as it is there."""
    while True:
        for child in worker_pids(launcher):
            try:
                if f"\0RANK={rank}\0".encode() in pathlib.Path(f"/proc/{child}/environ").read_bytes():
                    return int(child)
            except OSError:
                continue


def test_a_stop_that_comes_before_a_rank_is_loaded_waits_for_it_and_all_stop_at_update_0(tmp_path):
    started = subprocess.Popen([BIN / "samegrad", "train", "--nproc", "2", "--quiet"], cwd=tmp_path,
                               stderr=subprocess.PIPE, text=True)
    late = worker_of_rank(started.pid, 1)
    os.kill(late, signal.SIGSTOP)  # libtorch is not even loaded: that takes 0.2 s
    assert signal.SIGTERM not in signal_mask(late, "SigCgt")
    other = worker_of_rank(started.pid, 0)
    while signal.SIGTERM not in signal_mask(other, "SigCgt"):
        time.sleep(0.01)
    started.send_signal(signal.SIGTERM)
    while signal.SIGTERM not in signal_mask(late, "ShdPnd"):
        time.sleep(0.01)
    os.kill(late, signal.SIGCONT)
    _, errors = started.communicate(timeout=60)
    assert started.returncode == 143, errors
    assert [path.name for path in (tmp_path / "artifacts/checkpoints").iterdir()] == ["step-0000"]
    assert workers_of(tmp_path) == []


def test_a_second_training_in_the_folder_is_refused(tmp_path):
    first = subprocess.Popen([BIN / "samegrad", "train", "--nproc", "1", "--set", "plan.updates=100000", "--continuous",
                              "--quiet"], cwd=tmp_path)
    metrics = tmp_path / "outputs/metrics.jsonl"
    while not metrics.exists() or metrics.stat().st_size == 0:
        assert first.poll() is None
        time.sleep(0.01)
    second = train(tmp_path, 2)
    first.send_signal(signal.SIGTERM)
    assert first.wait(timeout=60) == 143
    assert second.returncode == 2 and "a training works in this folder" in second.stderr, second.stderr
    assert len(second.stderr.strip().splitlines()) == 1
    trained(tmp_path, 2)


def test_clean_leaves_the_files_of_a_training_that_runs(tmp_path):
    words = [BIN / "samegrad", "train", "--nproc", "1", "--set", "plan.updates=100000", "--continuous", "--quiet"]
    running = subprocess.Popen(words, cwd=tmp_path)
    metrics = tmp_path / "outputs/metrics.jsonl"
    while not metrics.exists() or metrics.stat().st_size == 0:
        assert running.poll() is None
        time.sleep(0.01)
    clean = subprocess.run([BIN / "samegrad", "clean", "--scope", "generated"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    running.send_signal(signal.SIGTERM)
    assert running.wait(timeout=60) == 143
    assert clean.returncode == 2 and "[clean] " in clean.stderr and "a training works in this folder" in clean.stderr
    assert metrics.exists()


@pytest.mark.parametrize("remove", ["outputs/metrics.jsonl", ".", "mv"])
def test_a_training_whose_metrics_are_removed_says_so_and_ends(tmp_path, remove):
    run = tmp_path / "run"
    words = [BIN / "samegrad", "train", "--nproc", "2", "--set", "plan.updates=100000", "--continuous", "--quiet", "--run", run]
    running = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    metrics = run / "outputs/metrics.jsonl"
    while not metrics.exists() or metrics.stat().st_size == 0:
        assert running.poll() is None
        time.sleep(0.01)
    how = "moved away" if remove == "mv" else "removed"
    if remove == "mv":
        metrics.rename(run / "moved.jsonl")
    else:
        metrics.unlink() if remove != "." else shutil.rmtree(run, ignore_errors=True)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 1 and f"[metrics] {metrics}: was {how} while the run writes it" in errors, errors


def test_changed_initial_weights_are_noticed_and_made_again(tmp_path, uninterrupted):
    assert samegrad(tmp_path, "prepare").returncode == 0
    init = tmp_path / "outputs/init.safetensors"
    right = init.read_bytes()
    init.write_bytes(right[:-4] + b"\0\0\x40\x3f")
    trained(tmp_path, 2, "--continuous")
    assert init.read_bytes() == right and hashes(tmp_path) == uninterrupted


def test_a_policy_may_change_at_a_resume(tmp_path):
    trained(tmp_path, 2)
    trained(tmp_path, 2, "--resume", "latest", "--set", "objective.empty_window=skip", "--set", "optimizer.non_finite=skip")


def test_the_checkpoints_weights_are_the_final_ones(tmp_path):
    trained(tmp_path, 2)
    saved = load_file(tmp_path / "artifacts/checkpoints/step-0004/model.safetensors")
    final = load_file(tmp_path / "outputs/final-stopped.safetensors")
    assert set(saved) == set(final) and all((saved[name] == final[name]).all() for name in saved)


def test_nothing_stays_in_shared_memory(tmp_path):
    """In a /dev/shm of its own: other launchers of this machine come and go."""
    script = 'mount -t tmpfs none /dev/shm && { "$@"; echo "code $?"; ls -A /dev/shm; }'
    unshared = ["unshare", *([] if os.geteuid() == 0 else ["-r"]), "-m", "sh", "-c", script, "sh"]
    for program, fault, code in ((BIN / "samegrad", "", 0), (BIN / "faults/samegrad", "rank=1,step=2,kind=kill9", 137)):
        done = subprocess.run([*unshared, program, "train", "--nproc", "2", "--quiet", *SHORT], cwd=tmp_path, text=True,
                              capture_output=True, timeout=120, env={**os.environ, "SAMEGRAD_FAULT": fault})
        if "mount: " in done.stderr or "unshare: " in done.stderr:
            pytest.skip(f"/dev/shm cannot be mounted apart here: {done.stderr}")
        assert done.stdout == f"code {code}\n", done.stderr
