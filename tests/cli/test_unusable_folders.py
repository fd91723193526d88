"""A folder that a training cannot write to is found before the first update, and a dry run changes nothing."""

import os
import pathlib
import shutil
import subprocess

import pytest

SAMEGRAD = pathlib.Path(os.environ["SAMEGRAD_BIN"]) / "samegrad"
SMALL = [
    "data.train_sequences=32", "data.validation_sequences=4", "data.test_sequences=4", "data.shortest=4",
    "data.split=8", "data.longest=16", "model.width=16", "model.heads=2", "model.feed_forward=16", "plan.updates=4",
    "plan.stop_at=2",
]  # fmt: skip
SETTINGS = [word for setting in SMALL for word in ("--set", setting)]
STAGE = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True)
needs_a_stage = pytest.mark.skipif(STAGE.returncode != 0, reason=f"mounts of its own are refused: {STAGE.stderr}")


def train(folder, *words):
    command = [str(word) for word in (SAMEGRAD, "train", *words, *SETTINGS)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=folder)


def contents(folder):
    """Every path below, what a link leads to, and each file's bytes and time."""
    found = {}
    for path in sorted(folder.rglob("*")):
        file = path.is_file() and not path.is_symlink()
        found[path.relative_to(folder)] = (path.read_bytes(), path.stat().st_mtime_ns) if file else path.is_symlink()
    return found


def file_at(name):
    def put(folder):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("mine")
    return put


def link_at(name, target):
    def put(folder):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(target)
    return put


def folder_at(name):
    return lambda folder: (folder / name).mkdir(parents=True)


CANNOT = "[train] ./artifacts/checkpoints cannot take checkpoints: "


@pytest.mark.parametrize("put, words, said", [
    (file_at("artifacts"), [], (CANNOT, "artifacts: is no folder; nothing was computed")),
    (file_at("artifacts/checkpoints"), [], (CANNOT, "artifacts/checkpoints: is no folder")),
    (link_at("artifacts", "nowhere"), [], (CANNOT, "artifacts: is a link to what is not there")),
    (link_at("artifacts/checkpoints", "/proc"), [], (CANNOT, "; nothing was computed; make it writable")),
    (link_at("artifacts", "/proc"), [], (CANNOT, "making the folder: ")),
    (link_at("artifacts", "artifacts"), [], (CANNOT, "Too many levels of symbolic links")),
    (file_at("outputs"), [], ("[train] ./outputs cannot take the run's files: ", "outputs: is no folder")),
    (folder_at("outputs/final-stopped.safetensors/x"), [], ("final-stopped.safetensors: a folder", "move it away")),
    (file_at("dumps"), ["--dump-gradients", "dumps/a"],
     ("[train] dumps/a cannot take gradients (--dump-gradients): ", "dumps: is no folder")),
])
def test_what_is_in_the_way_is_found_before_the_first_update_and_nothing_is_left(tmp_path, put, words, said):
    put(tmp_path)
    before = contents(tmp_path)
    done = train(tmp_path, "--nproc", 2, *words)
    assert done.returncode == 1, done
    line, *launcher = done.stderr.splitlines()
    assert all(one.startswith("[launch] rank 0 ") for one in launcher), launcher
    assert all(part in line for part in said), line
    assert contents(tmp_path) == before
    assert done.stdout == ""


def test_without_an_obstacle_the_same_command_trains_and_leaves_no_probe(tmp_path):
    done = train(tmp_path, "--nproc", 2, "--dump-gradients", "dumps/a")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "artifacts/checkpoints/step-0002/manifest.json").exists()
    assert [path.name for path in sorted((tmp_path / "dumps/a").iterdir())] == [
        "gradients-0001.safetensors", "gradients-0002.safetensors"]
    assert not list(tmp_path.rglob(".*"))


def test_standard_output_that_cannot_be_written_ends_a_training_after_its_work_with_one_line(tmp_path):
    def run(name, output):
        command = [str(word) for word in (SAMEGRAD, "train", "--nproc", 2, "--run", name, *SETTINGS)]
        return subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, timeout=60, cwd=tmp_path)
    reader, writer = os.pipe()
    os.close(reader)
    with open("/dev/full", "w") as full, os.fdopen(writer, "w") as nobody_reads:
        for name, output in [("full", full), ("closed", nobody_reads)]:
            done = run(name, output)
            assert done.returncode == 1
            assert "[print] standard output cannot be written: the results above are not complete\n" in done.stderr
            assert (tmp_path / name / "artifacts/checkpoints/step-0002/manifest.json").exists()


def on_a_file_system(folder, options):
    """Trains with artifacts/ on a file system of its own."""
    (folder / "artifacts").mkdir()
    command = [str(word) for word in (SAMEGRAD, "train", "--nproc", 2, *SETTINGS)]
    script = f'mount -t tmpfs -o {options} none artifacts && "$@"; code=$?; ls -A artifacts; exit $code'
    return subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", *command], capture_output=True, text=True,
                          timeout=60, cwd=folder)


@needs_a_stage
@pytest.mark.parametrize("options, said", [
    ("ro", "making the folder: Read-only file system"),
    ("size=8k", " bytes are free there; nothing was computed; free some, or give another folder"),
])
def test_a_read_only_or_small_file_system_is_found_before_the_first_update(tmp_path, options, said):
    done = on_a_file_system(tmp_path, options)
    assert done.returncode == 1 and done.stdout == "", done
    line, *launcher = done.stderr.splitlines()
    assert all(one.startswith("[launch] rank 0 ") for one in launcher), launcher
    assert line.startswith(CANNOT) and said in line, line
    assert [path.name for path in tmp_path.iterdir()] == ["artifacts"]


@needs_a_stage
def test_a_file_system_with_enough_room_is_taken(tmp_path):
    done = on_a_file_system(tmp_path, "size=2m")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "checkpoints"


def test_a_dry_run_changes_nothing_in_a_new_or_a_used_folder(tmp_path):
    planned = train(tmp_path, "--dry-run", "--nproc", 2, "--run", "new/run")
    assert planned.returncode == 0 and "the run's folder is as it was" in planned.stdout, planned.stderr
    assert contents(tmp_path) == {}
    assert train(tmp_path, "--nproc", 2).returncode == 0
    before = contents(tmp_path)
    other = ["--set", "seed=7", "--set", "plan.accumulation=1"]
    assert train(tmp_path, "--dry-run", "--nproc", 2, *other).returncode == 0
    assert train(tmp_path, "--dry-run", "--resume", "latest").returncode == 0
    assert contents(tmp_path) == before
    changed = train(tmp_path, *other)  # the comparison sees what a run does
    assert changed.returncode == 0 and contents(tmp_path) != before


@pytest.mark.parametrize("words", [["--nproc", "2", "--backend", "shm"], ["--nproc", "2", "--backend", "gloo"], []], ids=" ".join)
def test_a_limit_of_file_sizes_is_an_error_with_a_name_and_no_signal(tmp_path, words):
    command = [str(word) for word in (SAMEGRAD, "train", *words, *SETTINGS)]
    result = subprocess.run(["sh", "-c", 'ulimit -f 8; exec "$@"', "sh", *command], capture_output=True, text=True, timeout=60,
                            cwd=tmp_path)
    assert result.returncode == 1, (result.returncode, result.stderr)
    assert "File too large" in result.stderr and "signal" not in result.stderr, result.stderr


@pytest.mark.parametrize("put", [file_at("artifacts/checkpoints"), link_at("artifacts/checkpoints", "nowhere")], ids=["file", "link"])
def test_an_evaluation_needs_no_checkpoints(tmp_path, put):
    trained = train(tmp_path, "--continuous")
    assert trained.returncode == 0, trained.stderr
    shutil.rmtree(tmp_path / "artifacts/checkpoints")
    put(tmp_path)
    command = [str(word) for word in (SAMEGRAD, "evaluate", "--nproc", "1", *SETTINGS)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert result.returncode in (0, 3) and "filesystem error" not in result.stderr, result.stderr
