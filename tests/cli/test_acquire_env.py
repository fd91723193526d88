"""acquire and env: what a run takes in, and what it finds here."""

import json
import os
import pathlib
import subprocess

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])
TEXT = ["--config", pathlib.Path(os.environ["SAMEGRAD_SOURCE"]) / "configs/text.yaml"]


def run(*arguments, **options):
    return subprocess.run([BIN / "samegrad", *arguments], capture_output=True, text=True, timeout=60, **options)


def test_the_lesson_needs_nothing_from_outside():
    result = run("acquire", "--json")
    assert result.returncode == 0
    report = json.loads(result.stdout)
    assert report["ok"] and report["to_acquire"] == 0
    assert {item["kind"] for item in report["inputs"]} == {"generated"}
    assert len(report["inputs"]) == 4
    assert "Nothing has to be acquired" in run("acquire").stdout


def test_a_users_files_are_listed_with_their_size(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "abc"}\n')
    result = run("acquire", *TEXT, "--set", f"data.train={tmp_path}/a.jsonl", "--json")
    assert result.returncode == 0
    train = json.loads(result.stdout)["inputs"][0]
    assert (train["name"], train["kind"], train["bytes"]) == ("data.train", "file", 16)


def test_what_is_missing_or_elsewhere_ends_acquire_with_2(tmp_path):
    for source, reason in [(f"{tmp_path}/none.jsonl", "there is no such file"), (tmp_path, "is no regular file"),
                           ("https://example.org/a.jsonl", "is an address"), ("hf://some/set", "is an address")]:
        result = run("acquire", *TEXT, "--set", f"data.train={source}", "--json")
        assert result.returncode == 2, source
        assert result.stderr.startswith(f"[acquire] data.train: '{source}' ") and reason in result.stderr
        assert json.loads(result.stdout)["ok"] is False


def test_env_tells_what_is_here(tmp_path):
    result = run("env", "--json", "--run", tmp_path / "not" / "yet")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["parameters"] == 282628
    assert report["cpu"]["cores"] == len(os.sched_getaffinity(0))
    assert report["memory"]["free_bytes"] > report["memory"]["needed_bytes"] > 2 * 100 * 2**20
    status = os.statvfs(tmp_path)
    assert abs(report["disk"]["free_bytes"] - status.f_bavail * status.f_frsize) < 2**30
    assert report["pinned"] == {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "MKL_CBWR": "AUTO"}
    assert report["device"] == "cpu" and report["missing"] == []
    assert not (tmp_path / "not").exists()


def test_env_shows_the_launcher_that_started_it():
    environment = dict(os.environ, SLURM_PROCID="3", RANK="1")
    report = json.loads(run("env", "--json", env=environment).stdout)
    assert report["launcher"]["SLURM_PROCID"] == "3" and report["launcher"]["RANK"] == "1"


def test_env_ends_with_2_where_the_run_does_not_fit():
    too_large = ["--set", "model.width=65536", "--set", "model.feed_forward=1000000", "--set", "model.layers=100"]
    result = run("env", "--json", *too_large)
    assert result.returncode == 2
    assert result.stderr.startswith("[env] memory: ")
    reasons = json.loads(result.stdout)["missing"]
    assert [reason.split(":")[0] for reason in reasons] == ["memory", "disk"]


def test_env_ends_with_2_where_the_run_folder_cannot_be_written():
    result = run("env", "--run", "/proc/nothing/here")
    assert result.returncode == 2
    assert "'/proc' cannot be written" in result.stderr or "disk: 0 B free" in result.stderr


def test_env_dual_really_starts_two_processes():
    result = run("env", "--dual", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["dual"] == {"processes": 2, "ok": True}
