"""A reader of the output that goes away ends every command that prints alike, by SIGPIPE and without a word of its own."""

import os
import pathlib
import signal
import subprocess
import time

import pytest

SAMEGRAD = pathlib.Path(os.environ["SAMEGRAD_BIN"]) / "samegrad"
SMALL = [word for one in ("model.width=32", "model.layers=1", "model.heads=2", "model.feed_forward=64")
         for word in ("--set", one)]
COMMANDS = [["--help"], ["train", "--help"], ["version"], ["config"], ["env"], ["status", "."], ["status", ".", "--json"],
            ["clean", "--scope", "generated", "--dry-run"], ["prepare"],
            ["exercise", "--nproc", "2", *SMALL]]


def without_reader(folder, words):
    """(exit code, standard error) with a pipe as standard output that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    started = subprocess.Popen([SAMEGRAD, *words], cwd=folder, stdout=writer, stderr=subprocess.PIPE, text=True,
                               restore_signals=True)
    os.close(writer)
    _, errors = started.communicate(timeout=100)
    return started.returncode, errors


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_it_ends_by_the_signal_and_says_nothing(tmp_path, words):
    if words[0] == "exercise":  # says what it had to prepare
        subprocess.run([SAMEGRAD, "prepare", *SMALL], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    assert without_reader(tmp_path, words) == (-signal.SIGPIPE, "")


def test_a_failure_is_still_said_where_nobody_reads_the_output(tmp_path):
    code, errors = without_reader(tmp_path, ["status", "absent"])
    assert code == 2 and errors.startswith("[status] ")


def test_a_training_whose_output_nobody_reads_is_done_all_the_same_and_not_started_again(tmp_path):
    words = ["train", "--nproc", "2", "--max-restarts", "2", "--continuous", "--set", "plan.updates=2", *SMALL]
    code, errors = without_reader(tmp_path, words)
    assert code == 1 and "[print] standard output cannot be written" in errors
    assert errors.splitlines()[-1] == "[launch] not started again: its work was done before"
    assert (tmp_path / "outputs/final-continuous.safetensors").exists()
    listed = subprocess.run([SAMEGRAD, "checkpoints"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert listed.returncode == 0 and "1 checkpoint, 0 damaged" in listed.stdout


def test_a_training_that_is_stopped_while_nobody_reads_its_output_has_the_code_of_a_stop(tmp_path):
    words = [SAMEGRAD, "train", "--nproc", "2", "--max-restarts", "2", "--set", "plan.updates=100000", *SMALL]
    started = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    started.stdout.readline()
    started.stdout.close()
    metrics = tmp_path / "outputs/metrics.jsonl"
    while not metrics.exists() or not metrics.read_text():
        assert started.poll() is None
        time.sleep(0.01)
    started.terminate()
    errors = started.stderr.read()
    assert started.wait(timeout=60) == 128 + signal.SIGTERM, errors
    assert "warning: standard output cannot be written" in errors
