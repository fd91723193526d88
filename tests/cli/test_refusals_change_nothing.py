"""A command that is refused has written nothing: each file of the run's folder is as it was, in bytes and time."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(os.environ["SAMEGRAD_SOURCE"])
sys.path.insert(0, str(SOURCE / "tests/multiproc"))
from signed_manifest import sign_file_again  # noqa: E402
from safetensors.numpy import load_file, save_file  # noqa: E402

SAMEGRAD = pathlib.Path(os.environ["SAMEGRAD_BIN"]) / "samegrad"
MODEL = ["model.width=16", "model.layers=1", "model.heads=2", "model.feed_forward=16"]
LESSON = [*MODEL, "data.train_sequences=32", "data.validation_sequences=4", "data.test_sequences=4", "data.shortest=4",
          "data.split=8", "data.longest=16", "plan.updates=4", "plan.stop_at=0"]
TEXT = [*MODEL, "data.task=text", "data.train=a.txt", "data.validation=b.txt", "model.kind=decoder",
        "model.vocabulary=257", "model.positions=32", "plan.updates=4", "plan.stop_at=0"]
LONGER = ["plan.updates=6"]  # a resume may do it: another plan.json


def samegrad(folder, command, run, *settings, **variables):
    words = [word for setting in (*run, *settings) for word in ("--set", setting)]
    return subprocess.run([SAMEGRAD, *command.split(), *words], capture_output=True, text=True, timeout=60, cwd=folder,
                          env={**os.environ, **variables})


def contents(folder):
    return {path.relative_to(folder): (path.read_bytes(), path.stat().st_mtime_ns) if path.is_file() else None
            for path in sorted(folder.rglob("*"))}


def stopped_run(folder, run):
    (folder / "a.txt").write_text("\n\n".join(f"document {n} of this text" for n in range(40)))
    (folder / "b.txt").write_text("another one\n\nand one more")
    trained = samegrad(folder, "train --nproc 1 --stop-at 2 --quiet", run)
    assert trained.returncode == 0, trained.stderr
    return folder


@pytest.fixture(scope="module")
def lesson(tmp_path_factory):
    return stopped_run(tmp_path_factory.mktemp("lesson"), LESSON)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return stopped_run(tmp_path_factory.mktemp("text"), TEXT)


def left_by_an_earlier_proof(folder):
    left = folder / "outputs/verify-resume/outputs"
    left.mkdir(parents=True)
    (left / "plan.json").write_text("{}")
    (left / "metrics.jsonl").write_text("what differed")


def another_shape(folder):
    """With digests that fit: refused only where it is restored."""
    checkpoint = folder / "artifacts/checkpoints/step-0002"
    tensors = load_file(checkpoint / "model.safetensors")
    tensors["head.bias"] = tensors["head.bias"][:3]
    save_file(tensors, checkpoint / "model.safetensors")
    sign_file_again(checkpoint, "model.safetensors")


def other_training_data(folder):
    (folder / "a.txt").write_text("\n\n".join(f"line {n} of another text" for n in range(40)))


def other_validation_data(folder):
    (folder / "b.txt").write_text("something else\n\nto look at")


def metrics_that_are_a_folder(folder):
    (folder / "outputs/metrics.jsonl").rename(folder / "outputs/moved.jsonl")
    (folder / "outputs/metrics.jsonl").mkdir()


def a_folder_of_somebodys(folder):
    (folder / "artifacts/checkpoints/step-0003").mkdir()
    (folder / "artifacts/checkpoints/step-0003/thesis.txt").write_text("mine")


def no_final_weights(folder):
    (folder / "outputs/final-stopped.safetensors").unlink()


REFUSED = {
    "another config": ("train --resume latest", None, ["optimizer.learning_rate=0.5", *LONGER],
                       "[resume] optimizer.learning_rate"),
    "a tensor that does not fit": ("train --resume latest", another_shape, LONGER, "tensor 'head.bias'"),
    "fewer updates than are made": ("train --resume latest", None, ["plan.updates=1"], "[resume] plan.updates"),
    "a stop that is passed": ("train --resume latest --stop-at 1", None, LONGER, "[resume] --stop-at: 1"),
    "other instructions": ("train --resume latest", None, ["run.isa=default", *LONGER], "made under another dispatch"),
    "no such checkpoint": ("train --resume nowhere", None, LONGER, "nowhere"),
    "a plan that the data cannot fill": ("train", None, ["plan.batch_size_per_rank=4000"], "[plan]"),
    "an update that there is not": ("verify --nproc 1 --update 9", None, LONGER, "[verify] update 9"),
    "an update past those of a checkpoint": ("verify --nproc 1 --checkpoint latest --update 9", None, LONGER,
                                             "[verify] update 9"),
    "metrics that cannot be written": ("train --nproc 1", metrics_that_are_a_folder, LONGER, "[metrics] "),
    "metrics that a resume cannot write": ("train --resume artifacts/checkpoints/step-0002", metrics_that_are_a_folder, LONGER,
                                           "[metrics] "),
    "a folder where a checkpoint goes": ("train --nproc 1", a_folder_of_somebodys, LONGER,
                                         "step-0003: holds 'thesis.txt', which is no checkpoint's"),
    "no weights to evaluate": ("evaluate --nproc 1", no_final_weights, LONGER, "[evaluate] no final weights"),
    "weights of another model": ("evaluate --nproc 1", None, ["model.width=32"], "final-stopped.safetensors: tensor"),
    "a proof with a stop that is past the end": ("verify-resume --stops 99", left_by_an_earlier_proof, [], "[verify-resume] --stops: 99"),
    "an exercise on other sums": ("exercise --nproc 1", None, ["objective.unit=sequence", *LONGER], "[exercise] objective"),
}  # fmt: skip
REFUSED_TEXT = {
    "other training data": ("train --resume latest", other_training_data, [], "the data changed: train"),
    "other validation data and a stop that is passed": ("train --resume latest --stop-at 1", other_validation_data, [],
                                                        "[resume] --stop-at: 1"),
    "a stop that is past the last epoch": ("train --nproc 2 --stop-at 9", None, ["plan.updates=0", "plan.epochs=1"],
                                           "[config] --stop-at: 9 is past the last update; plan.epochs = 1"),
    "a stop that is past the last epoch, in a resume": (
        "train --resume latest", None, ["plan.updates=0", "plan.epochs=3", "plan.stop_at=9"],
        "[config] plan.stop_at: 9 is past the last update; plan.epochs = 3"),
    "a checkpoint of other data": ("verify --nproc 1 --checkpoint latest", other_training_data, [], "the data changed: train"),
    "an evaluation on other training data": ("evaluate --nproc 1", other_training_data, [], "the data changed: train"),
    "an exercise on text": ("exercise --nproc 1", None, LONGER, "[exercise] data.task"),
}


def refused_and_unchanged(folder, command, run, change, settings, said):
    if change:
        change(folder)
    before = contents(folder)
    result = samegrad(folder, command, run, *settings)
    assert result.returncode in (1, 2, 3) and said in result.stderr, result.stderr
    after = contents(folder)
    assert [str(path) for path in after.keys() | before.keys() if after.get(path, 0) != before.get(path, 0)] == []


@pytest.mark.parametrize("command, change, settings, said", REFUSED.values(), ids=REFUSED)
def test_refused_in_a_run_of_the_lesson(tmp_path, lesson, command, change, settings, said):
    folder = shutil.copytree(lesson, tmp_path / "run")
    refused_and_unchanged(folder, command, LESSON, change, settings, said)


@pytest.mark.parametrize("command, change, settings, said", REFUSED_TEXT.values(), ids=REFUSED_TEXT)
def test_refused_in_a_run_on_text(tmp_path, text, command, change, settings, said):
    folder = shutil.copytree(text, tmp_path / "run")
    refused_and_unchanged(folder, command, TEXT, change, settings, said)


@pytest.mark.parametrize("command", ["train --resume latest", "train --nproc 2 --resume latest", "evaluate --nproc 1",
                                     "verify --nproc 1 --update 9", "verify-resume --stops 99"])
def test_refused_in_an_empty_folder(tmp_path, command):
    refused_and_unchanged(tmp_path, command, LESSON, None, [], "")


def test_an_evaluation_on_other_validation_data_says_so(tmp_path, text):
    folder = shutil.copytree(text, tmp_path / "run")
    same = samegrad(folder, "evaluate --nproc 1", TEXT)
    assert same.returncode == 0 and "warning:" not in same.stderr, same.stderr
    other_validation_data(folder)
    result = samegrad(folder, "evaluate --nproc 1", TEXT)
    assert result.returncode == 0, result.stderr
    assert "warning: [evaluate] data.validation: other data than when " in result.stderr


def test_what_is_accepted_does_change_the_plan(tmp_path, lesson):
    folder = shutil.copytree(lesson, tmp_path / "run")
    before = contents(folder)
    resumed = samegrad(folder, "train --resume latest --stop-at 3", LESSON, *LONGER)
    assert resumed.returncode == 0, resumed.stderr
    changed = {str(path) for path, found in contents(folder).items() if found != before.get(path, 0)}
    assert {"outputs/plan.json", "outputs/run.json", "outputs/metrics.jsonl"} <= changed
