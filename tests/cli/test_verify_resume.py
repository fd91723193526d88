"""`verify-resume`: the table that a person reads, the JSON that a program reads, and what it leaves alone."""

import json
import os
import pathlib
import re
import subprocess

import pytest

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])
SOURCE = pathlib.Path(os.environ["SAMEGRAD_SOURCE"])
TINY = ["model.layers=1", "model.width=16", "model.heads=2", "model.feed_forward=16"]
LESSON = [*TINY, "plan.updates=16", "plan.batch_size_per_rank=2", "data.validation_sequences=4"]


def samegrad(folder, *words, settings=LESSON, program=BIN / "samegrad", **environment):
    sets = [word for setting in settings for word in ("--set", setting)]
    return subprocess.run([program, *words, *sets], cwd=folder, env={**os.environ, **environment}, capture_output=True,
                          text=True, timeout=120)


def schedules(done):
    return [[(leg["processes"], leg["last_update"]) for leg in schedule["legs"]]
            for schedule in json.loads(done.stdout)["schedules"]]


def files_below(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_table_shows_what_was_asked_for(tmp_path):
    done = samegrad(tmp_path, "verify-resume", "--stops", "3,7", "--worlds", "2,3,1")
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()
    assert "processes to update" in rows[0] and "parameters after update 11" in rows[0]
    hashes = re.findall(r"\b[0-9a-f]{32}\b", done.stdout)
    assert rows[2].startswith("1 to 11 ") and rows[2].endswith("reference")
    assert rows[3].startswith("2 to 3, 3 to 7, 1 to 11 ") and rows[3].endswith("equal")
    assert len(hashes) == 2 and len(set(hashes)) == 1
    assert [line.rsplit(", ", 1)[0] for line in done.stderr.splitlines()] == [
        "1/2: 1 process, updates 1 to 11", "2/2: 2 processes, updates 1 to 3", "2/2: 3 processes, updates 4 to 7",
        "2/2: 1 process, updates 8 to 11"]


def test_the_hash_is_the_one_of_the_run_itself(tmp_path):
    proof = samegrad(tmp_path, "verify-resume", "--worlds", "2", "--updates", "3", "--json")
    assert samegrad(tmp_path, "train", "--nproc", "1", "--stop-at", "3", "--quiet").returncode == 0
    lines = [json.loads(line) for line in (tmp_path / "outputs/metrics.jsonl").open()]
    assert {schedule["hash_chain"] for schedule in json.loads(proof.stdout)["schedules"]} == {lines[-1]["hash_chain"]}


def test_the_runs_own_files_are_not_touched_and_the_folder_is_kept_when_asked(tmp_path):
    assert samegrad(tmp_path, "train", "--nproc", "2", "--stop-at", "2", "--quiet").returncode == 0
    before = files_below(tmp_path)
    done = samegrad(tmp_path, "verify-resume", "--worlds", "2", "--updates", "2", "--keep")
    assert done.returncode == 0, done.stderr
    kept = tmp_path / "outputs/verify-resume"
    assert (kept / "outputs/metrics.jsonl").exists() and str(kept.relative_to(tmp_path)) in done.stderr
    assert {path: data for path, data in files_below(tmp_path).items() if kept not in path.parents} == before
    samegrad(tmp_path, "clean", "--scope", "generated", settings=[])
    assert files_below(tmp_path) == {}


def test_every_run_of_the_default_list_is_the_reference_and_one_stops_at_an_epochs_end(tmp_path):
    (tmp_path / "data.jsonl").write_text("".join(json.dumps({"text": letter * 9}) + "\n" for letter in "abcdefghij"))
    settings = [*TINY, "data.train=data.jsonl", "data.validation=data.jsonl", "model.positions=32", "plan.epochs=3",
                "plan.batch_size_per_rank=1", "model.dropout=0.1"]
    done = samegrad(tmp_path, "verify-resume", "--config", SOURCE / "configs/text.yaml", "--json", settings=settings)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["holds"] and report["updates"] == report["total_updates"] == 9  # 10 samples in windows of 4: 3 an epoch
    assert schedules(done) == [[(1, 9)], [(2, 9)], [(3, 9)], [(5, 9)], [(2, 3), (3, 6), (1, 9)], [(1, 1), (4, 9)],
                               [(5, 8), (2, 9)], [(3, 6), (2, 9)]]
    assert len({schedule["hash_chain"] for schedule in report["schedules"]}) == 1
    assert not (tmp_path / "outputs/verify-resume").exists()


def test_several_backends_make_all_runs(tmp_path):
    done = samegrad(tmp_path, "verify-resume", "--worlds", "1,2", "--updates", "2", "--backends", "shm,gloo", "--json")
    assert done.returncode == 0, done.stderr
    rows = [(schedule["backend"], schedule["legs"][0]["processes"]) for schedule in json.loads(done.stdout)["schedules"]]
    assert rows == [("shm", 1), ("shm", 2), ("gloo", 1), ("gloo", 2)]


@pytest.mark.parametrize("words, said", [
    (["--stops", "7,3"], "[usage] verify-resume: --stops: each must be after the one before"),
    (["--stops", "3,7", "--worlds", "2,3"], "[usage] verify-resume: --worlds: 2 given; with 2 stops there are 3 legs"),
    (["--stops", "0"], "[usage] --stops: '0'; allowed: whole numbers, 1 to"),
    (["--worlds", "2,,3"], "[usage] --worlds: ''; allowed: whole numbers, 1 to 256"),
    (["--updates", "17"], "[verify-resume] --updates: 17; the run has 16: give fewer"),
    (["--stops", "4", "--updates", "4"], "[verify-resume] --stops: 4; a stop lies before the last update, 4"),
    (["--backends", "shm,ether"], "--backend: 'ether'"),
])
def test_what_cannot_be_is_refused_in_one_line_before_anything_is_trained(tmp_path, words, said):
    done = samegrad(tmp_path, "verify-resume", *words)
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and said in done.stderr, done.stderr


def test_a_leg_that_fails_ends_it_with_its_own_error_and_exit_code(tmp_path):
    rows = [{"prompt": "p", "answer": ""}] * 5 + [{"prompt": "p", "answer": "an answer"}]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = [*TINY, "data.train=data.jsonl", "model.positions=32", "plan.batch_size_per_rank=1",
                "plan.accumulation=1", "plan.virtual_ranks=1"]
    done = samegrad(tmp_path, "verify-resume", "--config", SOURCE / "configs/text.yaml", settings=settings)
    assert done.returncode == 1 and done.stdout == ""
    first, then = done.stderr.strip().splitlines()
    assert "0 supervised tokens in all ranks" in first
    assert "1/7: 1 process, updates 1 to 6: ended with exit code 1" in then, done.stderr


def test_a_killed_worker_ends_it_with_the_signals_code(tmp_path):
    done = samegrad(tmp_path, "verify-resume", "--stops", "2", "--worlds", "2,3", program=BIN / "faults/samegrad",
                    SAMEGRAD_FAULT="rank=1,step=4,kind=kill9")
    assert done.returncode == 128 + 9 and done.stdout == ""
    assert "rank 1" in done.stderr and "2/2: 3 processes, updates 3 to 6: ended with exit code 137" in done.stderr
