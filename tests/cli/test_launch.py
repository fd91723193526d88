"""`samegrad launch` starts a user's program in several processes, names the first that fails, and leaves none behind."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import time

import pytest

SAMEGRAD = pathlib.Path(os.environ["SAMEGRAD_BIN"]) / "samegrad"
PROBE = pathlib.Path(os.environ["SAMEGRAD_BIN"]) / "init_probe"


def launch(ranks, *program, options=("--no-prefix",), **variables):
    words = [SAMEGRAD, "launch", "--nproc", str(ranks), *options, "--", *program]
    result = subprocess.run(words, capture_output=True, text=True, timeout=60, env={**os.environ, **variables})
    # On a busy machine the culprit is named once before the others have ended.
    early = "(other ranks have not ended yet)\n"
    result.stderr = "".join(line for line in result.stderr.splitlines(keepends=True) if not line.endswith(early))
    return result


def shell(ranks, script, **variables):
    return launch(ranks, "sh", "-c", script, **variables)


def test_every_process_has_a_place_pinned_threads_and_the_shared_memory():
    said = "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $OMP_NUM_THREADS $MKL_NUM_THREADS $MKL_CBWR"
    result = shell(3, f'echo "{said} $(readlink /proc/self/fd/$SAMEGRAD_SHM_FD)"', OMP_NUM_THREADS="4")
    assert result.returncode == 0 and result.stderr == ""
    assert sorted(result.stdout.splitlines()) == [
        f"{rank}/3 {rank}/3 1 1 AUTO /memfd:samegrad (deleted)" for rank in range(3)]


def test_every_process_has_what_programs_for_torchrun_read():
    names = ["GROUP_RANK", "ROLE_RANK", "ROLE_NAME", "GROUP_WORLD_SIZE", "ROLE_WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT",
             "TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_USE_AGENT_STORE",
             "TORCH_NCCL_ASYNC_ERROR_HANDLING", "MASTER_ADDR"]
    result = shell(2, "echo " + " ".join(f"${name}" for name in names), TORCH_NCCL_ASYNC_ERROR_HANDLING="0")
    assert sorted(result.stdout.splitlines()) == [f"0 {rank} default 1 2 0 0 none True 0 127.0.0.1" for rank in range(2)]
    ports = {line for line in shell(2, "echo $MASTER_PORT").stdout.splitlines()}
    assert len(ports) == 1 and 1024 <= int(ports.pop()) <= 65535
    without = launch(2, "sh", "-c", 'echo "${MASTER_ADDR-none} ${MASTER_PORT-none}"', options=("--no-prefix", "--store", "no"))
    assert without.stdout == "none none\n" * 2


def test_the_store_can_have_a_place_of_ones_own_if_it_is_free():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        taken.listen()
        result = launch(1, "true", options=("--master-port", str(port)))
        assert result.returncode == 2
        assert result.stderr.startswith(f"[launch] the store at 127.0.0.1:{port}: Address already in use; leave --master-")
    result = launch(1, "sh", "-c", "echo $MASTER_ADDR $MASTER_PORT",
                    options=("--no-prefix", "--master-port", str(port), "--master-addr", "localhost"))
    assert result.stdout == f"localhost {port}\n"
    assert "[launch] the store at 192.0.2.1:0: " in launch(1, "true", options=("--master-addr", "192.0.2.1")).stderr


def test_arguments_after_the_dashes_are_the_programs_own():
    result = launch(1, "printf", "<%s>", "--help", "--nproc", "7", "--", "two words", "")
    assert result.stdout == "<--help><--nproc><7><--><two words><>"


def test_options_of_torchrun_have_their_names_and_PET_variables_are_their_defaults():
    for words in (["--nproc-per-node", "2"], ["--nproc_per_node=2"], ["--num_processes", "2", "--standalone"]):
        done = subprocess.run([SAMEGRAD, "launch", *words, "--monitor-interval", "5", "--", "true"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    settings = {**os.environ, "PET_NPROC_PER_NODE": "3", "PET_MAX_RESTARTS": "1"}
    script = 'echo "$RANK of $WORLD_SIZE, $TORCHELASTIC_MAX_RESTARTS"'
    done = subprocess.run([SAMEGRAD, "launch", "--no-prefix", "--", "sh", "-c", script], capture_output=True, text=True,
                          env=settings)
    assert sorted(done.stdout.splitlines()) == [f"{rank} of 3, 1" for rank in range(3)]
    done = subprocess.run([SAMEGRAD, "launch", "--nproc", "1", "--no-prefix", "--", "sh", "-c", script], capture_output=True,
                          text=True, env=settings)
    assert done.stdout == "0 of 1, 1\n"
    done = subprocess.run([SAMEGRAD, "launch", "--nproc", "auto", "--no-prefix", "--", "sh", "-c", "echo $WORLD_SIZE"],
                          capture_output=True, text=True)
    assert done.stdout.splitlines() == [str(len(os.sched_getaffinity(0)))] * len(os.sched_getaffinity(0))


@pytest.mark.parametrize("option, reason", [
    ("--nnodes=2", "starts processes of this host only"), ("--node_rank=1", "starts processes of this host only"),
    ("--rdzv-backend=c10d", "need no rendezvous"), ("--rdzv_endpoint=x:1", "need no rendezvous"),
    ("--no-python", "starts any program"), ("-m", "write -- python3 -m MODULE"),
    ("--start-method=spawn", "leave it out"), ("--role=trainer", "all processes have the role")])
def test_options_of_torchrun_that_it_does_not_have_are_refused_with_what_to_do(option, reason):
    result = launch(2, "true", options=(option,))
    assert result.returncode == 2
    assert result.stderr.startswith(f"[usage] launch: {option.split('=')[0]}: ") and reason in result.stderr


@pytest.mark.parametrize("options, said", [
    (("--min-nproc", "3", "--max-restarts", "1"), "--min-nproc 3 with --nproc 2; it is at most that"),
    (("--min-nproc", "1"), "--min-nproc without --max-restarts"),
    (("--tee", "3"), "--tee without --log-dir"),
    (("--tee", "7", "--log-dir", "logs"), "--tee: '7'; allowed: 0 none, 1 standard output"),
    (("--store", "always"), "--store: 'always'; allowed: auto"),
    (("--max-restarts", "-1"), "--max-restarts: '-1'; allowed: a whole number, 0 to 1000000")])
def test_options_that_cannot_be_are_refused(options, said, tmp_path):
    result = launch(2, "true", options=options)
    assert result.returncode == 2 and said in result.stderr, result.stderr


@pytest.mark.parametrize("options, backend", [(("--no-prefix",), "shm"), (("--no-prefix", "--backend", "gloo"), "gloo")])
def test_init_joins_what_launch_started(options, backend):
    result = launch(2, PROBE, options=options)
    assert result.returncode == 0 and result.stderr == "", result.stderr
    assert sorted(result.stdout.splitlines()) == [
        f'{{"rank":{rank},"size":2,"backend":"{backend}","any":true,"threads":1}}' for rank in range(2)]


def test_a_second_init_is_refused_with_what_to_do():
    result = launch(2, PROBE, "twice")
    assert result.returncode == 2
    assert "[init] called a second time, but a launcher's shared memory can be joined once: keep the World" in result.stderr


@pytest.mark.parametrize("options", [("--no-prefix",), ("--no-prefix", "--backend", "gloo")])
def test_a_rank_that_is_done_before_init_leaves_nobody_waiting_in_it(options):
    result = launch(2, "sh", "-c", f'test $RANK = 0 || exit 0; exec {PROBE}', options=options)
    assert result.returncode == 1
    line = [line for line in result.stderr.splitlines() if line.startswith("[launch] rank 1 (pid ")][0]
    assert ", exit code 0) " in line and "before it joined the others (samegrad::init())" in line, result.stderr


def test_the_first_that_fails_is_named_and_the_others_are_ended():
    result = shell(3, 'test $RANK != 1 || exit 7; exec sleep 1000')
    assert result.returncode == 7
    first, then = result.stderr.splitlines()
    assert first.startswith("[launch] rank 1 (pid ") and "exit code 7) failed first" in first
    assert then == "[launch] in consequence ranks 0, 2: ended by the launcher"


def test_a_signal_that_ends_a_process_is_named_and_returned_as_128_and_its_number():
    result = shell(2, 'test $RANK != 1 || kill -SEGV $$; exec sleep 1000')
    assert result.returncode == 128 + signal.SIGSEGV
    assert "signal 11 SIGSEGV) failed first: Segmentation fault" in result.stderr


@pytest.mark.parametrize("asked, ended_by", [(signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGINT),
                                             (signal.SIGHUP, signal.SIGTERM)])
def test_a_signal_to_launch_ends_all(tmp_path, asked, ended_by):
    script = f'echo $$ > {tmp_path}/pid.$RANK.part && mv {tmp_path}/pid.$RANK.part {tmp_path}/pid.$RANK; exec sleep 1000'
    started = subprocess.Popen([SAMEGRAD, "launch", "--nproc", "2", "--", "sh", "-c", script])
    files = [tmp_path / f"pid.{rank}" for rank in range(2)]
    while not all(file.exists() for file in files):
        assert started.poll() is None
        time.sleep(0.01)
    started.send_signal(asked)
    assert started.wait(timeout=60) == 128 + ended_by
    assert not any(pathlib.Path(f"/proc/{file.read_text().strip()}").exists() for file in files)


def test_what_cannot_be_started_is_said_in_one_line_before_anything_starts(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("#!/bin/sh\n")
    for program, said in [(tmp_path / "absent", "No such file or directory; give the path"), (tmp_path, "Is a directory"),
                          (plain, "Permission denied"), ("no-such-program-here", "looked for in PATH; give a path, such as")]:
        result = launch(2, program)
        assert result.returncode == 2 and result.stdout == ""
        (line,) = result.stderr.splitlines()
        assert line.startswith(f"[launch] '{program}': ") and said in line, line
    plain.chmod(0o755)
    assert launch(2, plain).returncode == 0
    assert launch(2, plain.name, PATH=f"{os.environ['PATH']}:{tmp_path}").returncode == 0


def test_inside_another_launcher_it_is_refused():
    result = launch(2, "true", RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="1")
    assert result.returncode == 2
    assert result.stderr.startswith("[launch] inside a launcher that started 2 processes; let it start the program")


def test_a_backend_that_is_not_built_is_refused_by_name():
    result = launch(2, "true", options=("--backend", "nccl"))
    assert result.returncode == 2 and "--backend: 'nccl' is not built" in result.stderr


def test_a_programs_own_last_line_is_in_the_report():
    result = launch(2, "sh", "-c", 'test $RANK != 1 || { echo "ValueError: boom" >&2; exit 3; }; exec sleep 1000', options=())
    assert result.returncode == 3
    own, first, _ = result.stderr.splitlines()
    assert own == "[rank 1] ValueError: boom"
    assert first.endswith(", exit code 3) failed first: its own lines are above, the last one: ValueError: boom")


def test_an_exception_that_nobody_catches_is_quoted_and_those_that_missed_the_rank_are_consequences():
    result = launch(3, PROBE, "throws=1", options=())
    assert result.returncode == 128 + signal.SIGABRT
    first, then, place = [line for line in result.stderr.splitlines() if line.startswith("[launch] ")]
    assert first.startswith("[launch] rank 1 (pid ") and ", signal 6 SIGABRT) failed first: Aborted; " in first
    assert first.endswith("the last one:   what():  a user's own trouble")
    assert then.startswith("[launch] in consequence rank")
    assert place.startswith(f"[launch] rank 1 was last seen on {socket.gethostname()} in phase ")


@pytest.mark.parametrize("first_line", ["#!/no/such/interpreter", "no first line at all"])
def test_a_script_that_no_interpreter_can_run_is_a_mistake_in_the_input(tmp_path, first_line):
    script = tmp_path / "script"
    script.write_text(first_line + "\n")
    script.chmod(0o755)
    result = launch(1, script)
    assert result.returncode == 2 and result.stderr.startswith(f"[launch] cannot start '{script}': ")
    assert result.stderr.endswith("; a script needs a first line #!/path/of/its/interpreter\n")


def test_the_same_report_as_json(tmp_path):
    file = tmp_path / "failure.json"
    result = launch(2, "sh", "-c", "test $RANK != 1 || kill -9 $$; exec sleep 1000", options=("--failure-json", file))
    failure = json.loads(file.read_text())
    assert result.returncode == failure["exit_code"] == 137 and failure["kind"] == "failed"
    assert failure["lines"] == result.stderr.splitlines()
    culprit = failure["culprit"]
    assert (culprit["rank"], culprit["signal"], culprit["exit_code"]) == (1, 9, None)
    assert culprit["host"] == socket.gethostname() and f"(pid {culprit['pid']}, signal 9" in failure["lines"][0]
    assert [other["rank"] for other in failure["consequences"]] == [0] and failure["consequences"][0]["ended_by_launcher"]


@pytest.mark.parametrize("make", [lambda file: file.mkdir(), lambda file: file.symlink_to("elsewhere"), os.mkfifo,
                                  lambda file: file.parent.rmdir() or file.parent.write_text("")],
                         ids=["a folder", "a link", "a pipe", "under a file"])
def test_a_report_that_could_not_be_written_is_refused_before_anything_starts(tmp_path, make):
    file = tmp_path / "reports/failure.json"
    file.parent.mkdir()
    make(file)
    result = subprocess.run([SAMEGRAD, "launch", "--nproc", "2", "--failure-json", file, "--", "touch", tmp_path / "started"],
                            capture_output=True, text=True, timeout=60)
    assert result.returncode == 2 and result.stderr.startswith(f"[launch] --failure-json: {file}: "), result.stderr
    assert not (tmp_path / "started").exists() and not (tmp_path / "elsewhere").exists()


def test_a_report_that_cannot_be_written_any_more_changes_nothing_of_the_verdict(tmp_path):
    file = tmp_path / "failure.json"
    result = launch(2, "sh", "-c", f"mkdir -p {file}; test $RANK = 0 || exit 7", options=("--failure-json", file))
    first, *others, last = result.stderr.splitlines()
    assert result.returncode == 7 and "(pid " in first and ", exit code 7) failed first" in first
    assert last.startswith(f"warning: [launch] --failure-json: [write] {file}: renaming: "), last


def test_a_report_of_an_older_launch_is_gone_when_one_succeeds(tmp_path):
    file = tmp_path / "failure.json"
    assert launch(1, "false", options=("--failure-json", file)).returncode == 1 and file.exists()
    assert launch(1, "true", options=("--failure-json", file)).returncode == 0 and not file.exists()


def test_the_death_of_a_process_of_the_launcher_itself_is_said_too(tmp_path):
    words = [SAMEGRAD, "launch", "--nproc", "1", "--failure-json", tmp_path / "failure.json", "--", "sh", "-c",
             "kill -9 $PPID; exec sleep 1000"]
    result = subprocess.run(words, capture_output=True, text=True, timeout=60)
    line = "[launch] one of the launcher's own processes was ended (signal 9); the workers were killed"
    assert (result.returncode, result.stderr.splitlines()[-1]) == (137, line)
    failure = json.loads((tmp_path / "failure.json").read_text())
    assert (failure["kind"], failure["exit_code"], failure["lines"], failure["culprit"]) == ("launcher", 137, [line], None)


def test_each_line_has_its_ranks_prefix_and_files_hold_what_came(tmp_path):
    script = r"printf 'one\n 10%%\r 20%%\r'; echo two >&2; printf unfinished"
    result = launch(2, "sh", "-c", script, options=("--log-dir", tmp_path))
    for rank in range(2):
        folder = tmp_path / f"attempt_0/rank-{rank}"
        assert (folder / "stdout.log").read_bytes() == b"one\n 10%\r 20%\runfinished"
        assert (folder / "stderr.log").read_bytes() == b"two\n"
    # subprocess reads a carriage return as a line's end.
    said = sorted(result.stdout.splitlines())
    assert said == [f"[rank {rank}] {text}" for rank in range(2) for text in (" 10%", " 20%", "one", "unfinished")]
    assert sorted(result.stderr.splitlines()) == ["[rank 0] two", "[rank 1] two"]


def test_redirected_output_is_in_files_only_and_by_rank(tmp_path):
    options = ("--log-dir", tmp_path, "--redirects", "0:1,1:3", "--tee", "0:2")
    result = launch(2, "sh", "-c", "echo out $RANK; echo error $RANK >&2", options=options)
    assert (result.stdout, result.stderr) == ("", "[rank 0] error 0\n")
    files = {str(file.relative_to(tmp_path)): file.read_text() for file in tmp_path.rglob("*.log")}
    assert files == {"attempt_0/rank-0/stdout.log": "out 0\n", "attempt_0/rank-0/stderr.log": "error 0\n",
                     "attempt_0/rank-1/stdout.log": "out 1\n", "attempt_0/rank-1/stderr.log": "error 1\n"}


def test_workers_that_flood_or_close_their_output_harm_nobody():
    script = """
        case $RANK in
        0) head -c 3000000 /dev/zero | tr '\\0' x;;
        1) exec >&- 2>&-; sleep 0.1;;
        2) echo alive;;
        esac"""
    result = launch(3, "sh", "-c", script, options=())
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert "[rank 2] alive" in lines
    assert sum(len(line) - len("[rank 0] ") for line in lines if line.startswith("[rank 0] ")) == 3_000_000


def test_workers_go_on_where_the_launchers_output_is_closed(tmp_path):
    script = f"i=0; while test $i -lt 20000; do echo line $i; i=$((i + 1)); done; touch {tmp_path}/done.$RANK"
    started = subprocess.Popen([SAMEGRAD, "launch", "--nproc", "2", "--", "sh", "-c", script], stdout=subprocess.PIPE)
    started.stdout.readline()
    started.stdout.close()
    assert started.wait(timeout=60) == 0
    assert {file.name for file in tmp_path.iterdir()} == {"done.0", "done.1"}


def test_a_failure_is_noticed_while_the_launchers_output_is_blocked(tmp_path):
    script = f"test $RANK = 0 || {{ echo $$ > {tmp_path}/pid; exec yes; }}; until test -e {tmp_path}/go; do sleep 0.02; done; exit 5"
    started = subprocess.Popen([SAMEGRAD, "launch", "--nproc", "2", "--failure-json", tmp_path / "failure.json", "--", "sh", "-c",
                                script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert started.stdout.readline() == b"[rank 1] y\n"
    flooding = pathlib.Path("/proc") / (tmp_path / "pid").read_text().strip()
    (tmp_path / "go").touch()  # from here on nobody reads the pipe, which is full
    while flooding.exists():
        assert started.poll() is None
        time.sleep(0.01)
    started.send_signal(signal.SIGTERM)  # what could not be printed is dropped
    started.wait(timeout=60)
    assert started.returncode == 5
    assert "exit code 5) failed first" in started.stderr.readline().decode()


def test_what_a_worker_leaves_running_is_ended():
    script = "(setsid sh -c 'exec sleep 1000' &); (setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1000; done' &); exit 0"
    begin = time.monotonic()
    result = launch(1, "sh", "-c", script, options=("--no-prefix", "--grace", "1"))
    assert result.returncode == 0 and time.monotonic() - begin < 30
    (pid,) = result.stdout.split()
    assert not pathlib.Path(f"/proc/{pid}").exists()


def test_the_grace_period_ends_with_a_kill(tmp_path):
    script = f"trap '' TERM; touch {tmp_path}/ready; while :; do sleep 0.1; done"
    started = subprocess.Popen([SAMEGRAD, "launch", "--nproc", "1", "--grace", "1", "--", "sh", "-c", script],
                               stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "ready").exists():
        time.sleep(0.01)
    started.send_signal(signal.SIGTERM)
    _, errors = started.communicate(timeout=60)
    assert started.returncode == 143
    assert errors == "warning: [launch] workers that had not ended 1 s after SIGTERM are killed (--grace)\n"


def test_usr1_is_passed_on_each_time(tmp_path):
    script = f"trap 'echo got >> {tmp_path}/got' USR1; touch {tmp_path}/ready; until test -e {tmp_path}/end; do sleep 0.02; done"
    started = subprocess.Popen([SAMEGRAD, "launch", "--nproc", "1", "--", "sh", "-c", script])
    while not (tmp_path / "ready").exists():
        time.sleep(0.01)
    for times in (1, 2):
        started.send_signal(signal.SIGUSR1)
        while not (tmp_path / "got").exists() or (tmp_path / "got").read_text() != "got\n" * times:
            assert started.poll() is None
            time.sleep(0.01)
    (tmp_path / "end").touch()
    assert started.wait(timeout=60) == 0


def test_a_failed_job_is_started_again_as_often_as_asked(tmp_path):
    script = 'test $TORCHELASTIC_RESTART_COUNT = 2 || exit $((RANK + 4)); echo "rank $RANK of $WORLD_SIZE"'
    result = launch(2, "sh", "-c", script, options=("--no-prefix", "--max-restarts", "2", "--log-dir", tmp_path))
    assert result.returncode == 0
    assert sorted(result.stdout.splitlines()) == ["rank 0 of 2", "rank 1 of 2"]
    assert [line for line in result.stderr.splitlines() if "starting again" in line] == [
        "[launch] starting again (restart 1 of 2)", "[launch] starting again (restart 2 of 2)"]
    assert {file.name for file in tmp_path.iterdir()} == {"attempt_0", "attempt_1", "attempt_2"}
    result = launch(2, "sh", "-c", script, options=("--max-restarts", "1"))
    assert result.returncode in (4, 5) and result.stderr.splitlines()[-1] == "[launch] gave up after 1 restart"


def test_a_crash_loop_of_a_program_that_tells_nothing_of_its_progress_ends_early_and_says_so():
    result = launch(2, "false", options=("--max-restarts", "99"))
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert last == "[launch] stopped early after 4 restarts: 5 attempts in a row ended with exit code 1 within 10 s"


def test_a_rank_that_fails_twice_at_the_same_place_costs_one_process(tmp_path):
    script = 'test $RANK != 2 || exit 9; test $WORLD_SIZE = 2 || exec sleep 1000; echo "$RANK of $WORLD_SIZE"'
    result = launch(3, "sh", "-c", script, options=("--no-prefix", "--max-restarts", "3", "--min-nproc", "1"))
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.splitlines()) == ["0 of 2", "1 of 2"]
    assert "(restart 2 of 3) with 2 processes, because rank 2 failed twice at the same place" in result.stderr
