"""`samegrad checkpoints` on checkpoints that Python writes after docs/formats.md alone, whole and damaged."""

import hashlib
import json
import os
import pathlib
import subprocess

import numpy
import pytest
import safetensors.numpy

SAMEGRAD = pathlib.Path(os.environ["SAMEGRAD_BIN"]) / "samegrad"
FILES = ["model.safetensors", "optimizer.safetensors", "state.json", "rank-0.json", "rank-1.json"]


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def write_manifest(folder, update, run_id, version=2):
    files = [{"name": name, "size": len(data := (folder / name).read_bytes()), "sha256": sha256(data)} for name in FILES]
    manifest = {"format": "samegrad checkpoint", "format_version": version, "update": update, "run_id": run_id}
    text = json.dumps({**manifest, "facts": {"world_size": 2}, "files": files}, indent=2)
    text = text.removesuffix("\n}") + ',\n  "sha256": "'
    (folder / "manifest.json").write_text(text + sha256(text.encode()) + '"\n}\n')


def make_checkpoint(checkpoints, update, run_id="run-a"):
    folder = checkpoints / f"step-{update:04}"
    folder.mkdir(parents=True)
    weights = {"head.weight": numpy.arange(6, dtype=numpy.float32).reshape(2, 3)}
    safetensors.numpy.save_file(weights, folder / FILES[0])
    safetensors.numpy.save_file({}, folder / FILES[1], {"options": json.dumps({"learning_rate": 0.1})})
    config = {"model": {"kind": "encoder", "layers": 2}}
    (folder / "state.json").write_text(json.dumps({"update": update, "run_id": run_id, "config": config}))
    for rank in (0, 1):
        (folder / f"rank-{rank}.json").write_text(json.dumps({"virtual_rank": rank}))
    write_manifest(folder, update, run_id)
    return folder


def checkpoints(*words):
    return subprocess.run([SAMEGRAD, "checkpoints", *words], capture_output=True, text=True)


@pytest.mark.parametrize("version", [1, 2])
def test_a_checkpoint_written_after_the_document_is_whole_and_shown(tmp_path, version):
    folder = make_checkpoint(tmp_path, 50)
    write_manifest(folder, 50, "run-a", version)
    done = checkpoints(folder, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    (shown,) = json.loads(done.stdout)["checkpoints"]
    assert (shown["complete"], shown["update"], shown["run_id"]) == (True, 50, "run-a")
    assert shown["model"] == [{"name": "head.weight", "dtype": "F32", "shape": [2, 3]}]
    assert shown["optimizer_options"] == {"learning_rate": 0.1}
    assert [file["name"] for file in shown["files"]] == FILES
    assert shown["files"][0]["sha256"] == sha256((folder / FILES[0]).read_bytes())
    table = checkpoints(folder).stdout
    for part in ("complete", "update 50", "head.weight", "kind=encoder", shown["files"][0]["sha256"]):
        assert part in table


def test_without_a_path_the_runs_own_are_listed(tmp_path):
    make_checkpoint(tmp_path / "artifacts/checkpoints", 50)
    make_checkpoint(tmp_path / "artifacts/checkpoints", 100, "run-b")
    done = checkpoints("--run", tmp_path)
    assert done.returncode == 0
    assert "2 checkpoints, 0 damaged" in done.stdout and "run-b" in done.stdout


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


DAMAGE = {
    "flipped bit": (lambda folder: flip(folder / FILES[0]), "model.safetensors: damaged"),
    "cut": (lambda folder: os.truncate(folder / FILES[2], 10), "state.json: 10 bytes"),
    "manifest missing": (lambda folder: os.remove(folder / "manifest.json"), "manifest.json: missing"),
    "rank file missing": (lambda folder: os.remove(folder / FILES[4]), "rank-1.json: missing"),
    "manifest flipped": (lambda folder: flip(folder / "manifest.json"), "manifest.json: damaged"),
    "unlisted file": (lambda folder: (folder / "rank-2.json").write_text("{}"), "rank-2.json"),
    "later version": (lambda folder: write_manifest(folder, 50, "run-a", version=3), "version 3; this program reads"),
    "symlink": (lambda folder: (os.rename(folder / FILES[3], folder.parent / "x"), os.symlink("../x", folder / FILES[3])),
                "rank-0.json: not a regular file"),
}


@pytest.mark.parametrize("damage, reason", DAMAGE.values(), ids=DAMAGE)
def test_damage_is_named_and_exits_3_alone_and_in_a_list(tmp_path, damage, reason):
    make_checkpoint(tmp_path, 100)
    folder = make_checkpoint(tmp_path, 50)
    assert checkpoints(tmp_path).returncode == 0
    damage(folder)
    for path in (folder, tmp_path):
        done = checkpoints(path)
        assert done.returncode == 3
        assert "DAMAGED" in done.stdout and reason in done.stdout


def test_no_such_folder_is_bad_input(tmp_path):
    done = checkpoints(tmp_path / "nothing")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "no such folder" in done.stderr
