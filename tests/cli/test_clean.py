"""clean removes what samegrad generated and nothing else."""

import hashlib
import json
import os
import pathlib
import socket
import subprocess

import pytest

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])


def clean(run, *arguments):
    return subprocess.run([BIN / "samegrad", "clean", "--scope", "generated", "--run", run, *arguments],
                          capture_output=True, text=True, timeout=60)


GENERATED = [
    "outputs/plan.json",
    "outputs/init.safetensors",
    "outputs/metrics.jsonl",
    "outputs/final-resumed.safetensors",
    "outputs/data/train.jsonl",
    "outputs/data/index-validation.bin",
    "outputs/data/index-validation.known.json",
    "outputs/figures/loss.svg",
    "artifacts/checkpoints/step-0050/manifest.json",
    "artifacts/checkpoints/step-0050/model.safetensors",
    "artifacts/checkpoints/step-0050/rank-0.json",
    "artifacts/checkpoints/step-123456/rank-17.json",
]
MINE = [
    "notes.txt",
    "outputs/plan.json.bak",
    "outputs/data/mine.jsonl",
    "outputs/figures/mine.svg",
    "outputs/mine/plan.json",
    "artifacts/model.safetensors",
    "artifacts/checkpoints/step-0050/rank-x.json",
    "artifacts/checkpoints/step-50/model.safetensors",
    "artifacts/checkpoints/step-best/manifest.json",
    "artifacts/checkpoints/model.safetensors",
]


def put(run, names):
    for name in names:
        path = run / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("123456789\n")


def files(run):
    return sorted(str(path.relative_to(run)) for path in run.rglob("*") if path.is_file() or path.is_symlink())


def owner(process, host=socket.gethostname()):
    return f"{hashlib.sha256(host.encode()).hexdigest()[:8]}-{process}"


def dead_process():
    child = subprocess.Popen(["true"])
    child.wait()
    return child.pid


def test_a_dry_run_lists_and_removes_nothing(tmp_path):
    put(tmp_path, GENERATED + MINE)
    report = json.loads(clean(tmp_path, "--dry-run", "--json").stdout)
    assert sorted(item["path"] for item in report["files"]) == sorted(str(tmp_path / name) for name in GENERATED)
    assert report["bytes"] == 10 * len(GENERATED) and report["dry_run"]
    assert files(tmp_path) == sorted(GENERATED + MINE)
    text = clean(tmp_path, "--dry-run").stdout
    assert f"{10 * len(GENERATED)} B; nothing was removed (--dry-run)" in text and "left alone: " in text


def test_it_removes_exactly_what_the_dry_run_lists(tmp_path):
    put(tmp_path, GENERATED + MINE)
    result = clean(tmp_path)
    assert result.returncode == 0, result.stderr
    assert files(tmp_path) == sorted(MINE)


def test_what_a_killed_dry_run_left_goes_and_that_of_one_that_runs_stays(tmp_path):
    dead, living = f".dry-run.tmp-{owner(dead_process())}", f".dry-run.tmp-{owner(os.getpid())}"
    prepared = ["data/train.jsonl", "data/index-train.bin", "data.lock.json", "plan.json", "init.safetensors"]
    put(tmp_path, [f"{dead}/{name}" for name in prepared] + [f"{living}/plan.json"])
    assert clean(tmp_path).returncode == 0
    assert files(tmp_path) == [f"{living}/plan.json"] and not (tmp_path / dead).exists()
    put(tmp_path, [f"{dead}/plan.json", f"{dead}/mine.txt"])
    assert f"left alone: {tmp_path / dead}/mine.txt" in clean(tmp_path).stdout
    assert files(tmp_path) == sorted([f"{dead}/mine.txt", f"{living}/plan.json"])


def test_empty_folders_go_too(tmp_path):
    put(tmp_path, GENERATED + ["notes.txt"])
    clean(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert "0 generated files" in clean(tmp_path).stdout


@pytest.mark.parametrize("link", ["outputs", "outputs/data", "artifacts", "artifacts/checkpoints",
                                  "artifacts/checkpoints/step-0001", "outputs/plan.json"])
def test_links_are_never_followed(tmp_path, link):
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    put(elsewhere, ["plan.json", "train.jsonl", "model.safetensors", "data/train.jsonl", "checkpoints/step-0001/state.json",
                    "step-0001/state.json"])
    before = files(elsewhere)
    (run / link).parent.mkdir(parents=True, exist_ok=True)
    (run / link).symlink_to(elsewhere / "plan.json" if link.endswith("json") else elsewhere)
    result = clean(run)
    assert result.returncode == 0, result.stderr
    assert files(elsewhere) == before
    assert (run / link).is_symlink() and "(a link)" in result.stdout


def names_of(owner):
    """What a process may leave, one of each kind."""
    return [f"outputs/.plan.json.tmp-{owner}", f"outputs/data/.index-train.bin.tmp-{owner}",
            f"outputs/figures/.loss.png.tmp-{owner}", f"outputs/status/.rank-3.tmp-{owner}",
            f"outputs/..samegrad-probe.tmp-{owner}", f"artifacts/checkpoints/..samegrad-probe.tmp-{owner}",
            *(f"artifacts/checkpoints/.{kind}-step-0007-{owner}/model.safetensors"
              for kind in ("saving", "replaced", "removing"))]


def test_broken_off_writes_go_once_their_process_is_gone(tmp_path):
    dead, alive = owner(dead_process()), owner(os.getpid())
    abandoned = names_of(dead) + ["outputs/.samegrad-probe", "artifacts/checkpoints/.samegrad-probe"]
    stay = names_of(alive) + names_of(owner(dead_process(), "another host")) + [f"outputs/.mine.json.tmp-{dead}"]
    put(tmp_path, abandoned + stay)
    assert clean(tmp_path).returncode == 0
    assert files(tmp_path) == sorted(stay)
