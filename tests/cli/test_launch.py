"""`samegrad launch` starts a user's program in several processes, names the first that fails, and leaves none behind."""

import os
import pathlib
import signal
import subprocess
import time

import pytest

SAMEGRAD = pathlib.Path(os.environ["SAMEGRAD_BIN"]) / "samegrad"
PROBE = pathlib.Path(os.environ["SAMEGRAD_BIN"]) / "init_probe"


def launch(ranks, *program, options=(), **variables):
    words = [SAMEGRAD, "launch", "--nproc", str(ranks), *options, "--", *program]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, env={**os.environ, **variables})


def shell(ranks, script, **variables):
    return launch(ranks, "sh", "-c", script, **variables)


def test_every_process_has_a_place_pinned_threads_and_the_shared_memory():
    said = "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $OMP_NUM_THREADS $MKL_NUM_THREADS $MKL_CBWR"
    script = f'echo "{said} ${{MASTER_ADDR-none}} ${{MASTER_PORT-none}} $(readlink /proc/self/fd/$SAMEGRAD_SHM_FD)"'
    result = shell(3, script, OMP_NUM_THREADS="4")
    assert result.returncode == 0 and result.stderr == ""
    assert sorted(result.stdout.splitlines()) == [
        f"{rank}/3 {rank}/3 1 1 AUTO none none /memfd:samegrad (deleted)" for rank in range(3)]


def test_arguments_after_the_dashes_are_the_programs_own():
    result = launch(1, "printf", "<%s>", "--help", "--nproc", "7", "--", "two words", "")
    assert result.stdout == "<--help><--nproc><7><--><two words><>"


@pytest.mark.parametrize("options, backend", [((), "shm"), (("--backend", "gloo"), "gloo")])
def test_init_joins_what_launch_started(options, backend):
    result = launch(2, PROBE, options=options)
    assert result.returncode == 0 and result.stderr == "", result.stderr
    assert sorted(result.stdout.splitlines()) == [
        f'{{"rank":{rank},"size":2,"backend":"{backend}","any":true,"threads":1}}' for rank in range(2)]


def test_a_second_init_is_refused_with_what_to_do():
    result = launch(2, PROBE, "twice")
    assert result.returncode == 2
    assert "[init] called a second time, but a launcher's shared memory can be joined once: keep the World" in result.stderr


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


def test_sigterm_to_launch_ends_all(tmp_path):
    script = f'echo $$ > {tmp_path}/pid.$RANK.part && mv {tmp_path}/pid.$RANK.part {tmp_path}/pid.$RANK; exec sleep 1000'
    started = subprocess.Popen([SAMEGRAD, "launch", "--nproc", "2", "--", "sh", "-c", script])
    files = [tmp_path / f"pid.{rank}" for rank in range(2)]
    while not all(file.exists() for file in files):
        assert started.poll() is None
        time.sleep(0.01)
    started.send_signal(signal.SIGTERM)
    assert started.wait(timeout=60) == 128 + signal.SIGTERM
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
