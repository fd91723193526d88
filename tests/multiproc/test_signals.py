"""SIGTERM and SIGUSR1 at any time: a complete checkpoint of one update on all ranks, and a run whose bits they do not touch."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from launched_run import torchrun, worker_pids

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])
TINY = ["model.layers=1", "model.width=16", "model.heads=2", "model.feed_forward=16", "plan.batch_size_per_rank=2",
        "plan.updates=6", "evaluation.every=3"]
WORDS = ["train", "--continuous", "--quiet", "--resume", "auto", *(word for one in TINY for word in ("--set", one))]
PHASES = [("prepare", 0), ("agreement", 1), ("backward", 2), ("exchange", 2), ("evaluation", 3), ("agreement", 6)]


def train(folder, *words, ranks=2, fault=None, launcher=(), rank_variables=None):
    """The same command each time, as a scheduler starts a job again."""
    folder.mkdir(exist_ok=True)
    environment = {**os.environ, **({"SAMEGRAD_FAULT": fault} if fault else {}), **(rank_variables or {})}
    program = [BIN / ("faults/samegrad" if fault else "samegrad"), *WORDS, *words]
    started = [*launcher, *program] if launcher or rank_variables else [*program, "--nproc", str(ranks)]
    return subprocess.Popen([str(word) for word in started], cwd=folder, env=environment, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def ended(*arguments, **options):
    started = train(*arguments, **options)
    output, errors = started.communicate(timeout=100)
    return started.returncode, output + errors


def chain(folder):
    lines = [json.loads(line) for line in (folder / "outputs/metrics.jsonl").open()]
    return {line["update"]: line["hash_chain"] for line in lines}


def checkpoints(folder):
    listed = subprocess.run([BIN / "samegrad", "checkpoints", "--json"], cwd=folder, capture_output=True, text=True)
    assert listed.returncode == 0, listed.stdout + listed.stderr  # 3 on any damage
    return sorted(path.name for path in (folder / "artifacts/checkpoints").iterdir())


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    code, said = ended(folder, ranks=1)
    assert code == 0, said
    assert len(chain(folder)) == 6
    return chain(folder)


@pytest.mark.parametrize("phase, step, rank", [(*place, i % 2) for i, place in enumerate(PHASES)])
def test_sigterm_to_one_rank_stops_all_at_one_update_with_a_checkpoint(tmp_path, uninterrupted, phase, step, rank):
    fault = f"rank={rank},step={step},kind=signal:15,phase={phase}"
    code, said = ended(tmp_path, fault=fault)
    stopped_before_the_last = (phase, step) != ("agreement", 6)
    assert code == (143 if stopped_before_the_last else 0), said
    assert len(checkpoints(tmp_path)) == 1
    if stopped_before_the_last:
        assert checkpoints(tmp_path) == [f"step-{step:04d}"]
        code, said = ended(tmp_path, ranks=3)
        assert code == 0, said
    assert chain(tmp_path) == uninterrupted


@pytest.mark.parametrize("phase", ["save:begin", "save:writing-manifest.json", "save:placed"])
def test_sigterm_in_a_save_leaves_that_checkpoint_whole(tmp_path, uninterrupted, phase):
    code, said = ended(tmp_path, "--set", "checkpoint.every=2", fault=f"step=2,kind=signal:15,phase={phase}")
    assert code == 143, said
    assert checkpoints(tmp_path) == ["step-0002"]
    code, said = ended(tmp_path, "--set", "checkpoint.every=2", ranks=1)
    assert code == 0, said
    assert chain(tmp_path) == uninterrupted


@pytest.mark.parametrize("phase, step", PHASES)
def test_sigusr1_to_one_rank_saves_and_the_run_goes_on(tmp_path, uninterrupted, phase, step):
    code, said = ended(tmp_path, fault=f"rank=1,step={step},kind=signal:10,phase={phase}")
    assert code == 0, said
    asked_in_time = (phase, step) != ("agreement", 6)
    assert checkpoints(tmp_path) == ([f"step-{step + 1:04d}"] if asked_in_time else []) + ["step-0006"]
    assert chain(tmp_path) == uninterrupted


def signal_set(pid, name, sent):
    """Whether the process has the signal in the set: SigBlk, blocked, or SigCgt, handled."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return bool(int(re.search(rf"{name}:\t(\w+)", status).group(1), 16) >> (sent - 1) & 1)


def stopped_early(started, whose):
    """-> the pid of the launcher, a worker of it or one that took its place, stopped as early as it can have a signal."""
    while True:
        assert started.poll() is None, started.stderr.read()
        pids = worker_pids(started.pid) if whose == "worker" else [started.pid]
        try:
            name = pathlib.Path(f"/proc/{pids[-1]}/comm").read_text().strip() if pids else ""
            if whose == "launcher" and name == "samegrad" and not signal_set(pids[-1], "SigBlk", signal.SIGTERM):
                continue  # before main()
        except OSError:
            continue
        if name == ("samegrad" if whose == "launcher" else "samegrad-worker"):
            os.kill(int(pids[-1]), signal.SIGSTOP)
            return int(pids[-1])


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1],
                         ids=lambda sent: sent.name)
@pytest.mark.parametrize("whose, backend", [("launcher", "shm"), ("worker", "shm"), ("worker", "gloo"), ("alone", "auto")])
def test_a_signal_that_comes_while_programs_are_loaded_waits_until_it_can_be_handled(tmp_path, uninterrupted, whose, backend, sent):
    saves_only = sent == signal.SIGUSR1
    words = ["--max-restarts", "2"] * (whose != "alone") + ["--set", "plan.updates=100000"] * (not saves_only)
    started = train(tmp_path, "--backend", backend, *words,
                    rank_variables={"RANK": "0", "WORLD_SIZE": "1"} if whose == "alone" else None)
    early = stopped_early(started, whose)
    waits = signal_set(early, "SigBlk", sent)
    assert waits or signal_set(early, "SigCgt", sent)
    os.kill(early, sent)
    os.kill(early, signal.SIGCONT)
    output, errors = started.communicate(timeout=100)
    code = 143 if (whose, sent) == ("launcher", signal.SIGHUP) else 128 + sent  # a launcher passes it on as SIGTERM
    assert started.returncode == (0 if saves_only else code), output + errors
    assert "starting again" not in errors
    assert len(checkpoints(tmp_path)) == (2 if saves_only else 1)
    if waits and whose != "launcher":
        assert checkpoints(tmp_path)[0] == ("step-0001" if saves_only else "step-0000")
    if saves_only:
        assert chain(tmp_path) == uninterrupted


def test_a_worker_that_does_not_hold_its_signals_would_be_taken_for_a_failed_one(tmp_path):
    words = [BIN / "faults/samegrad", *WORDS, "--nproc", "2", "--max-restarts", "1"]
    for attempt in range(10):  # on a busy machine it may be found too late
        started = subprocess.Popen(words, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**os.environ, "SAMEGRAD_FAULT_SWITCH": "signals-are-not-held"})
        early = stopped_early(started, "worker")
        in_time = not signal_set(early, "SigCgt", signal.SIGTERM)
        os.kill(early, signal.SIGTERM if in_time else signal.SIGKILL)
        os.kill(early, signal.SIGCONT)
        _, errors = started.communicate(timeout=100)
        if in_time:
            break
    assert in_time and started.returncode == 0 and "starting again (restart 1 of 1)" in errors, errors


@pytest.fixture
def unread_pipe():
    """The end to write to of a full pipe that nobody reads."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 4096)
    os.set_blocking(writer, True)
    yield writer
    os.close(reader)
    os.close(writer)


def test_a_training_that_cannot_say_what_is_wrong_can_be_ended_all_the_same(tmp_path, unread_pipe):
    started = subprocess.Popen([BIN / "samegrad", "train", "--set", "nonsense=1"], cwd=tmp_path, stderr=unread_pipe)
    while "pipe" not in pathlib.Path(f"/proc/{started.pid}/wchan").read_text():
        assert started.poll() is None
        time.sleep(0.01)
    started.terminate()
    assert started.wait(timeout=60) == -signal.SIGTERM


def test_grace_bounds_a_stop_of_a_training_whose_output_nobody_reads(tmp_path, unread_pipe):
    words = [word for word in WORDS if word != "--quiet"]
    started = subprocess.Popen([BIN / "samegrad", *words, "--grace", "1"], cwd=tmp_path, stdout=unread_pipe, stderr=unread_pipe)
    while not signal_set(started.pid, "SigCgt", signal.SIGTERM):
        assert started.poll() is None
        time.sleep(0.01)
    started.terminate()
    assert started.wait(timeout=60) == 1


def test_a_stop_while_ranks_join_names_the_one_that_has_not(tmp_path):
    started = train(tmp_path, "--grace", "1", "--failure-json", "failure.json")
    worker = stopped_early(started, "worker")
    started.send_signal(signal.SIGTERM)
    _, errors = started.communicate(timeout=60)
    failure = json.loads((tmp_path / "failure.json").read_text())
    assert (started.returncode, failure["kind"], failure["culprit"]["pid"]) == (1, "silent", worker), errors
    assert "this run has no checkpoint; not all ranks have joined" in failure["lines"][0]


def when_updates_are_made(folder, started, updates):
    metrics = folder / "outputs/metrics.jsonl"
    while not metrics.exists() or metrics.read_text().count("\n") < updates:
        assert started.poll() is None, started.stderr.read()
        time.sleep(0.01)


@pytest.mark.parametrize("backend, grace, fault",
                         [("shm", 1, "rank=1,step=3,kind=hang,phase=backward"), ("gloo", 1, "rank=1,step=3,kind=hang,phase=backward"),
                          ("shm", 5, "rank=1,step=0,kind=hang,phase=prepare")],
                         ids=["shm", "gloo", "in the preparation"])
def test_a_stop_that_waits_in_vain_for_a_stopped_rank_names_that_rank(tmp_path, backend, grace, fault):
    started = train(tmp_path, "--grace", str(grace), "--backend", backend, "--failure-json", "failure.json", fault=fault)
    stopped_processes(tmp_path, 1)
    update = 2 if "step=3" in fault else 0
    while update > 0 and not status_of(tmp_path)["ranks"][0]["in_collective"]:
        time.sleep(0.01)
    started.send_signal(signal.SIGTERM)
    _, errors = started.communicate(timeout=60)
    failure = json.loads((tmp_path / "failure.json").read_text())
    assert (started.returncode, failure["kind"], failure["culprit"]["rank"]) == (1, "silent", 1), errors
    pid = failure["culprit"]["pid"]
    first = next(line for line in errors.splitlines() if "was waited for until" in line)
    assert first.startswith(
        f"[launch] rank 1 (pid {pid}, ended by the launcher) was waited for until rank 0 gave up: [stop] signal 15 came {grace} s "
        f"ago, and update {update} is not saved; this run has no checkpoint; rank 1 (pid {pid}) did not come to ")
    assert ": it is stopped (SIGCONT wakes it), " in first and "--grace" not in first


def test_a_stop_that_takes_longer_than_its_grace_says_what_is_not_saved(tmp_path):
    started = train(tmp_path, "--grace", "1", fault="rank=1,step=3,kind=sleep:60,phase=backward")
    when_updates_are_made(tmp_path, started, 2)
    started.send_signal(signal.SIGTERM)
    _, errors = started.communicate(timeout=60)
    assert started.returncode == 1, errors
    assert re.search(r"\[launch\] rank 1 \(pid \d+, exit code 1\) failed first: \[stop\] signal 15 came 1 s ago, and update 2 is "
                     r"not saved; this run has no checkpoint; give more time with --grace, or save more often "
                     r"\(checkpoint.every\)\n", errors), errors


@pytest.mark.parametrize("processes", [["--nproc", "2"], []], ids=["launched", "alone"])
def test_sigint_stays_ignored_where_a_script_started_the_training_in_the_background(tmp_path, processes):
    words = [BIN / "samegrad", *WORDS, "--set", "plan.updates=100000", *processes]
    script = subprocess.Popen(["sh", "-c", '"$@" & echo $!; wait $!', "sh", *words], cwd=tmp_path, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    training = int(script.stdout.readline())
    when_updates_are_made(tmp_path, script, 1)
    os.kill(training, signal.SIGINT)
    when_updates_are_made(tmp_path, script, len(chain(tmp_path)) + 3)
    os.kill(training, signal.SIGTERM)
    _, errors = script.communicate(timeout=60)
    assert script.returncode == 143, errors
    assert len(checkpoints(tmp_path)) == 1


def status_of(folder):
    told = subprocess.run([BIN / "samegrad", "status", "--json"], cwd=folder, capture_output=True, text=True, timeout=60)
    return json.loads(told.stdout)


def stop(folder, **where):
    return subprocess.run([BIN / "samegrad", "stop", folder], capture_output=True, text=True, timeout=60, **where)


def goes_on_with(stopped):
    """-> the command that a person copies."""
    return re.search(r"; go on with: (.*)\n$", stopped.stdout).group(1)


def goes_on(command, cwd, codes=(0,)):
    """The output of the command, in a shell."""
    result = subprocess.run(command, shell=True, cwd=cwd, capture_output=True, text=True, timeout=100,
                            env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"})
    assert result.returncode in codes, result.stderr
    return result.stdout


def copied(command, cwd):
    """One more update by the printed command."""
    newest = int(max(checkpoints(cwd))[5:])
    goes_on(f"{command} --set plan.updates={newest + 1}", cwd)
    assert checkpoints(cwd) == [f"step-{update:04d}" for update in (newest, newest + 1)]


def test_stop_ends_a_training_from_outside_and_says_where_it_goes_on(tmp_path, uninterrupted):
    started = train(tmp_path, "--set", "plan.updates=100000", ranks=3)
    when_updates_are_made(tmp_path, started, 2)
    stopped = stop(tmp_path, cwd=tmp_path)
    assert stopped.returncode == 0, stopped.stderr
    (checkpoint,) = checkpoints(tmp_path)
    assert stopped.stdout.startswith("asked ranks 0, 1, 2 to stop\n") and f"{checkpoint}; go on with" in stopped.stdout
    assert started.wait(timeout=60) == 143
    again = stop(tmp_path)
    assert again.returncode == 2 and "no rank of a training runs here" in again.stderr
    shared = set(chain(tmp_path)) & set(uninterrupted)
    assert len(shared) >= 2 and all(chain(tmp_path)[update] == uninterrupted[update] for update in shared)
    given = [word for word in WORDS[1:] if word not in ("--resume", "auto")]
    assert goes_on_with(stopped) == "samegrad train --resume latest " + " ".join([*given, "--set", "plan.updates=100000", "--nproc", "3"])
    copied(goes_on_with(stopped), tmp_path)


def test_the_command_to_go_on_with_works_from_another_folder_with_a_config_and_a_run_of_any_name(tmp_path):
    place = tmp_path / "a place"
    place.mkdir()
    run = place / "run's"
    sections = {}
    for section, name, value in (re.split("[.=]", one) for one in [*TINY, "plan.updates=100000", "plan.stop_at=0"]):
        sections.setdefault(section, {})[name] = int(value)
    (place / "c.yaml").write_text(json.dumps(sections))
    words = ["train", "--quiet", "--nproc", "2", "--config", "c.yaml", "--run", run.name]
    started = subprocess.Popen([BIN / "samegrad", *words], cwd=place, stderr=subprocess.PIPE, text=True)
    when_updates_are_made(run, started, 2)
    stopped = stop(run, cwd=tmp_path)
    assert stopped.returncode == 0 and started.wait(timeout=60) == 143, stopped.stderr
    assert goes_on_with(stopped).startswith(f"cd '{place}' && samegrad train --resume latest --quiet --nproc 2 --config c.yaml --run ")
    copied(goes_on_with(stopped), run)


def next_command(output):
    """-> the command of a summary's last line."""
    return re.search(r"^next: (.*)$", output, re.M).group(1)


LOUD = [word for word in WORDS if word not in ("--quiet", "--continuous", "--resume", "auto")]


@pytest.mark.parametrize("given, last", [(["--continuous"], 6), (["--stop-at", "5"], 5), (["--set", "plan.stop_at=5"], 5)],
                         ids=["continuous", "an option", "a key"])
def test_a_stopped_training_goes_on_by_the_proposed_command_to_the_update_that_it_was_given(tmp_path, uninterrupted, given, last):
    options = ["--nproc", "2", "--backend", "gloo", "--max-restarts", "1", "--grace", "20", *given]
    environment = {**os.environ, "SAMEGRAD_FAULT": "rank=1,step=2,kind=signal:15,phase=backward"}
    stopped = subprocess.run([BIN / "faults/samegrad", *LOUD, "--set", "plan.stop_at=4", *options], cwd=tmp_path, env=environment,
                             capture_output=True, text=True, timeout=100)
    assert stopped.returncode == 143, stopped.stderr
    assert next_command(stopped.stdout) == "samegrad train --resume latest " + " ".join(
        [*LOUD[1:], "--set", "plan.stop_at=4", *options])
    then = goes_on(next_command(stopped.stdout), tmp_path)
    assert checkpoints(tmp_path)[-1] == f"step-{last:04d}"
    if last < 6:
        then = goes_on(next_command(then), tmp_path)
    assert chain(tmp_path) == uninterrupted
    assert next_command(then).startswith("samegrad evaluate ")
    report = goes_on(next_command(then), tmp_path, codes=(0, 3))  # of so small a model not every check holds
    assert "zero window" in report.lower() or "gradient" in report.lower()


def test_a_training_that_another_launcher_started_goes_on_in_as_many_processes(tmp_path):
    words = [BIN / "samegrad", "launch", "--nproc", "2", "--no-prefix", "--", BIN / "samegrad", *LOUD, "--stop-at", "2"]
    stopped = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert stopped.returncode == 0, stopped.stderr
    assert next_command(stopped.stdout).startswith("samegrad train --resume latest --nproc 2 --set ")


def test_stop_wakes_ranks_that_are_stopped(tmp_path):
    started = train(tmp_path, "--set", "plan.updates=100000")
    when_updates_are_made(tmp_path, started, 2)
    for rank in status_of(tmp_path)["ranks"]:
        os.kill(rank["pid"], signal.SIGSTOP)
    stopped = stop(tmp_path)
    assert stopped.returncode == 0 and started.wait(timeout=60) == 143, stopped.stderr
    assert len(checkpoints(tmp_path)) == 1


def test_stop_names_the_checkpoint_to_go_on_from_and_not_one_that_a_resume_took_back(tmp_path):
    code, said = ended(tmp_path, "--set", "checkpoint.every=2")
    assert code == 0 and checkpoints(tmp_path) == ["step-0002", "step-0004", "step-0006"], said
    words = [word if word != "auto" else "artifacts/checkpoints/step-0002" for word in WORDS]
    started = subprocess.Popen([BIN / "faults/samegrad", *words, "--nproc", "2"], cwd=tmp_path, stderr=subprocess.PIPE,
                               env={**os.environ, "SAMEGRAD_FAULT": "step=4,kind=hang,phase=agreement"})
    stopped_processes(tmp_path)
    stopped = stop(tmp_path)
    assert stopped.returncode == 0 and started.wait(timeout=60) == 143, stopped.stderr
    assert "artifacts/checkpoints/step-0004; go on with" in stopped.stdout


def test_stop_refuses_a_folder_without_a_training(tmp_path):
    refused = stop(tmp_path)
    assert refused.returncode == 2 and len(refused.stderr.splitlines()) == 1


def test_stop_and_status_say_the_same_of_a_folder_that_is_not_there(tmp_path):
    said = [subprocess.run([BIN / "samegrad", verb, tmp_path / "nowhere"], capture_output=True, text=True, timeout=60)
            for verb in ("status", "stop")]
    assert [one.returncode for one in said] == [2, 2]
    assert said[0].stderr.replace("[status]", "[stop]") == said[1].stderr
    assert "no such folder" in said[1].stderr


def stopped_processes(folder, count=2):
    """-> ids of the processes that work in `folder`, once a fault has stopped so many."""
    while True:
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                state = (process / "stat").read_text().rsplit(")", 1)[1].split()[0]
                if state == "T" and (process / "cwd").samefile(folder):
                    found.append(int(process.name))
            except OSError:
                continue  # it has ended
        if len(found) == count:
            return found
        time.sleep(0.01)


def go_on_once_signalled(processes):
    for process in processes:
        status = pathlib.Path(f"/proc/{process}/status")
        while not int(re.search(r"ShdPnd:\s*(\w+)", status.read_text())[1], 16) >> (signal.SIGTERM - 1) & 1:
            time.sleep(0.01)
        os.kill(process, signal.SIGCONT)


def test_one_command_started_again_by_torchrun_reaches_the_end_with_the_same_bits(tmp_path, uninterrupted):
    """torchrun passes SIGTERM on and kills after 30 s."""
    codes = []
    for update in (2, 4):
        started = train(tmp_path, launcher=torchrun(2), fault=f"step={update},kind=signal:19,phase=backward")
        processes = stopped_processes(tmp_path)
        started.send_signal(signal.SIGTERM)
        go_on_once_signalled(processes)
        _, errors = started.communicate(timeout=100)
        codes.append(started.returncode)
        assert checkpoints(tmp_path), errors
    assert 0 not in codes
    code, said = ended(tmp_path, launcher=torchrun(2))
    assert code == 0, said
    assert chain(tmp_path) == uninterrupted


def test_one_command_started_again_by_srun_reaches_the_end_with_the_same_bits(tmp_path, uninterrupted):
    """Played by its variables. Slurm sends SIGTERM to all tasks of a step."""
    def start(fault=None):
        return [train(tmp_path, fault=fault, rank_variables={
            "SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank), "SLURM_STEP_NUM_NODES": "1",
            "SLURM_JOB_ID": tmp_path.name, "SLURM_STEP_ID": "0"}) for rank in range(2)]

    def codes(started):
        said = [one.communicate(timeout=100) for one in started]
        return [one.returncode for one in started], said
    for update in (2, 4):
        started = start(fault=f"step={update},kind=signal:19,phase=backward")
        processes = stopped_processes(tmp_path)
        for one in started:
            one.send_signal(signal.SIGTERM)
        go_on_once_signalled(processes)
        found, said = codes(started)
        assert found == [143, 143], said
        assert checkpoints(tmp_path)[-1] == f"step-{max(chain(tmp_path)):04d}"
    found, said = codes(start())
    assert found == [0, 0], said
    assert chain(tmp_path) == uninterrupted
