"""`samegrad bisect` names what was planted between two runs, and whose record is wrong."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess

import pytest
from safetensors.torch import load_file, save_file

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])
QUICK = {"plan.updates": 4, "plan.stop_at": 2, "model.width": 32, "model.layers": 1, "model.feed_forward": 64,
         "data.train_sequences": 128, "data.validation_sequences": 8, "data.test_sequences": 8,
         "plan.batch_size_per_rank": 4, "optimizer.momentum": 0.9}
TEXT = ["--config", pathlib.Path(os.environ["SAMEGRAD_SOURCE"]) / "configs/text.yaml"]


def train(folder, *words, ranks=1, program="samegrad", mistake=None, **settings):
    folder.mkdir(exist_ok=True)
    keys = {**QUICK, **{key.replace("__", "."): value for key, value in settings.items()}}
    command = [BIN / program, "train", "--quiet", "--nproc", str(ranks), *words]
    for key, value in keys.items():
        command += ["--set", f"{key}={value}"]
    environment = {**os.environ, **({"SAMEGRAD_BROKEN": mistake} if mistake else {})}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder


def bisect(a, b, *words, code=3):
    done = subprocess.run([BIN / "samegrad", "bisect", a, b, "--json", "--quiet", *words], capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    if code == 2:
        (line,) = done.stderr.strip().splitlines()
        return line
    assert done.stderr == ""
    return json.loads(done.stdout)


def parts(found):
    return [finding["part"] for finding in found["findings"]]


def named(pairs):
    return {pair["name"]: (pair["a"], pair["b"]) for pair in pairs}


def assert_both_reproduced(found):
    assert found["window_compared"]
    assert found["a"]["unreproduced"] is None and found["b"]["unreproduced"] is None
    assert found["a"]["not_replayed"] == found["b"]["not_replayed"] == ""


def sign_again(checkpoint, name):
    """Makes a checkpoint whole again after its file `name` was changed."""
    file = checkpoint / "manifest.json"
    manifest = json.loads(file.read_text())
    del manifest["sha256"]
    for part in manifest["files"]:
        if part["name"] == name:
            content = (checkpoint / name).read_bytes()
            part.update(size=len(content), sha256=hashlib.sha256(content).hexdigest())
    text = json.dumps(manifest, indent=2)[:-2] + ',\n  "sha256": "'
    file.write_text(text + hashlib.sha256(text.encode()).hexdigest() + '"\n}\n')


def change_tensors(file, change):
    """Rewrites a safetensors file, its metadata kept."""
    length = int.from_bytes(file.read_bytes()[:8], "little")
    metadata = json.loads(file.read_bytes()[8:8 + length]).get("__metadata__")
    tensors = load_file(file)
    change(tensors)
    save_file(tensors, file, metadata=metadata)


def change_lines(folder, change):
    file = folder / "outputs/metrics.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps(line) + "\n" for line in change(lines)))


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A continuous run, never changed."""
    return train(tmp_path_factory.mktemp("plain"), "--continuous")


def test_equal_runs_of_different_numbers_of_processes_agree(tmp_path, plain):
    other = train(tmp_path / "three", "--continuous", ranks=3)
    found = bisect(plain, other, code=0)
    assert found["same"] and found["differing_update"] is None
    assert (found["first_compared_update"], found["last_compared_update"]) == (1, 4)
    assert "agree" in found["verdict"]


def test_a_stopped_and_resumed_run_agrees_with_the_continuous_one_in_one_folder(tmp_path, plain):
    folder = shutil.copytree(plain, tmp_path / "both")
    train(folder, ranks=2)
    train(folder, "--resume", "latest", ranks=3)
    found = bisect(folder, folder, "--kind", "continuous,resumed", code=0)
    assert found["a"]["kinds"] == ["continuous"] and found["b"]["kinds"] == ["stopped", "resumed"]
    assert found["last_compared_update"] == 4


def test_another_learning_rate_is_named_and_the_gradient_is_not(tmp_path, plain):
    found = bisect(plain, train(tmp_path / "b", "--continuous", optimizer__learning_rate=0.05))
    assert found["differing_update"] == 1
    assert parts(found)[0] == "learning rate" and "gradient" not in parts(found)
    assert named(found["config"]) == {"optimizer.learning_rate": ("0.1", "0.05")}
    assert_both_reproduced(found)


def test_another_weight_decay_is_named_as_an_option(tmp_path, plain):
    found = bisect(plain, train(tmp_path / "b", "--continuous", optimizer__weight_decay=0.5))
    assert found["differing_update"] == 1 and parts(found) == ["optimizer options"]
    assert found["findings"][0]["text"] == "optimizer.weight_decay 0.0 / 0.5"


def test_another_batch_size_is_a_difference_of_the_plan(tmp_path, plain):
    found = bisect(plain, train(tmp_path / "b", "--continuous", plan__batch_size_per_rank=8))
    assert found["differing_update"] == 1 and parts(found)[0] == "plan"
    assert found["findings"][0]["atom"] == 0
    assert named(found["config"]) == {"plan.batch_size_per_rank": ("4", "8")}
    assert_both_reproduced(found)


def test_another_accumulation_is_a_difference_of_the_plan(tmp_path, plain):
    found = bisect(plain, train(tmp_path / "b", "--continuous", plan__accumulation=4))
    assert found["findings"][0]["text"] == "atoms of the window 4 / 8" and found["findings"][0]["part"] == "plan"
    assert named(found["config"]) == {"plan.accumulation": ("2", "4")}


def test_another_seed_is_named(tmp_path, plain):
    found = bisect(plain, train(tmp_path / "b", "--continuous", seed=43))
    assert found["differing_update"] == 1 and parts(found)[0] == "plan" and "parameters" in parts(found)
    assert named(found["config"]) == {"seed": ("42", "43")} and "train sha256" in named(found["data"])
    assert_both_reproduced(found)


def test_dropout_alone_shows_in_the_gradient_of_every_atom(tmp_path, plain):
    found = bisect(plain, train(tmp_path / "b", "--continuous", model__dropout=0.5))
    assert found["differing_update"] == 1 and set(parts(found)) == {"gradient"}
    first = found["findings"][0]
    assert first["atom"] == 0 and first["tensor"] in load_file(plain / "outputs/init.safetensors")
    assert float(first["a"]) != float(first["b"])
    assert named(found["config"]) == {"model.dropout": ("0.0", "0.5")}


def test_one_altered_sample_is_named_with_its_atom_at_the_update_that_uses_it(tmp_path):
    rows = [{"prompt": f"number {i} is ", "completion": f"{i * i} and more"} for i in range(32)]
    settings = {"plan__updates": 0, "plan__epochs": 1, "plan__virtual_ranks": 2, "plan__accumulation": 2,
                "plan__batch_size_per_rank": 2, "plan__stop_at": 0, "model__positions": 64, "model__heads": 2,
                "data__train": "rows.jsonl", "optimizer__momentum": 0.0}
    for name, text in (("a", rows[20]["completion"]), ("b", "xx")):
        (tmp_path / name).mkdir()
        altered = [{**row, "completion": text} if i == 20 else row for i, row in enumerate(rows)]
        (tmp_path / name / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in altered))
        train(tmp_path / name, *TEXT, **settings)
    plan = json.loads((tmp_path / "a/outputs/plan.json").read_text())["plan"]
    (update, atom), = [(u + 1, r * 2 + m) for u, window in enumerate(plan) for r, rank in enumerate(window)
                       for m, micro in enumerate(rank) if 20 in micro]
    found = bisect(tmp_path / "a", tmp_path / "b")
    assert found["differing_update"] == update
    assert [f["atom"] for f in found["findings"] if f["part"] in ("data", "count")] == [atom, atom]
    assert found["findings"][0]["part"] == "data" and "sample 20" in found["findings"][0]["text"]
    assert {f["atom"] for f in found["findings"] if f["part"] == "gradient"} == {atom}
    assert found["recorded"][0]["what"] == "supervised tokens"
    assert_both_reproduced(found)

    (tmp_path / "b/rows.jsonl").write_text((tmp_path / "a/rows.jsonl").read_text())
    found = bisect(tmp_path / "a", tmp_path / "b")
    assert "rows.jsonl" in found["b"]["not_replayed"] and not found["window_compared"]
    assert found["a"]["not_replayed"] == "" and found["a"]["unreproduced"] is None
    (tmp_path / "b/rows.jsonl").unlink()
    assert "rows.jsonl" in bisect(tmp_path / "a", tmp_path / "b")["b"]["not_replayed"]


def alter(checkpoint, file, tensor, component, change):
    """Another value in a checkpoint, which is whole again afterwards."""
    def add(tensors):
        tensors[tensor][component] += change
    change_tensors(checkpoint / file, add)
    sign_again(checkpoint, file)


def resumed_after(folder, *alteration, **settings):
    train(folder, **settings)
    alter(folder / "artifacts/checkpoints/step-0002", *alteration)
    return train(folder, "--resume", "latest", **settings)


MOMENTUM = ("optimizer.safetensors", "head.bias.momentum_buffer", 2, 1.0)


def test_an_altered_optimizer_state_is_named_with_its_tensor_and_component(tmp_path, plain):
    found = bisect(plain, resumed_after(tmp_path / "b", *MOMENTUM))
    assert found["differing_update"] == 3 and parts(found) == ["optimizer state"]
    assert found["findings"][0]["tensor"] == "head.bias.momentum_buffer"
    assert "[2]" in found["findings"][0]["text"] and "1 of 4 components" in found["findings"][0]["text"]
    assert found["b"]["replayed_from"].endswith("step-0002")
    assert_both_reproduced(found)


def test_a_damaged_checkpoint_is_passed_over_and_said_so(tmp_path, plain):
    """From the one before it the altered state is not come by: then the record is what cannot be reproduced."""
    other = resumed_after(tmp_path / "b", *MOMENTUM, checkpoint__every=1)
    file = other / "artifacts/checkpoints/step-0002/optimizer.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"\x7f")
    found = bisect(plain, other)
    assert found["b"]["replayed_from"].endswith("step-0001") and found["b"]["replayed_updates"] == 2
    assert any("step-0002" in note for note in found["b"]["notes"])
    assert found["findings"] == [] and found["b"]["unreproduced"]["update"] == 3
    assert "run B's recorded parameters of update 3" in found["verdict"]


def test_altered_weights_in_a_checkpoint_are_not_what_the_run_recorded(tmp_path, plain):
    found = bisect(plain, resumed_after(tmp_path / "b", "model.safetensors", "head.bias", 1, 0.5))
    assert found["differing_update"] == 3 and parts(found)[0] == "parameters"
    assert found["findings"][0]["tensor"] == "head.bias"
    assert found["b"]["unreproduced"]["update"] == 2
    assert [each["what"] for each in found["b"]["unreproduced"]["differences"]] == ["parameters"]


@pytest.mark.parametrize("mistake, what", [("mean-of-means", "loss sum"), ("missing-world-size", "gradient"),
                                           ("count-before-shift", "supervised tokens")])
def test_a_run_that_computed_wrongly_is_not_reproduced_and_is_named(tmp_path, plain, mistake, what):
    wrong = train(tmp_path / "wrong", "--continuous", program="broken/samegrad", mistake=mistake)
    found = bisect(plain, wrong)
    assert found["differing_update"] == 1 and found["window_compared"] and found["findings"] == []
    assert found["a"]["unreproduced"] is None
    assert found["b"]["unreproduced"]["differences"][0]["what"] == what
    assert f"run B's recorded {what} of update 1 is not what this program computes" in found["verdict"]
    assert "run A's recorded" in bisect(wrong, plain)["verdict"]


def test_a_run_under_another_dispatch_is_named_with_it_and_reproduced_under_its_own(tmp_path, plain):
    other = train(tmp_path / "b", "--continuous", run__isa="default")
    found = bisect(plain, other)
    assert named(found["dispatch"])["aten_capability"][1] == "DEFAULT"
    assert found["a"]["unreproduced"] is None and found["a"]["other_dispatch"] == ""
    assert found["b"]["unreproduced"] and "aten_capability was DEFAULT" in found["b"]["other_dispatch"]
    under_its_own = bisect(plain, other, "--set", "run.isa=default")
    assert under_its_own["b"]["unreproduced"] is None and under_its_own["a"]["unreproduced"]


def test_a_run_without_any_checkpoint_is_replayed_from_its_initial_weights(tmp_path, plain):
    other = train(tmp_path / "b", "--continuous", optimizer__learning_rate=0.05)
    shutil.rmtree(other / "artifacts")
    found = bisect(plain, other)
    assert parts(found)[0] == "learning rate" and "initial weights" in found["b"]["replayed_from"]
    (other / "outputs/run.json").unlink()
    found = bisect(plain, other)
    assert "configuration is not known" in found["b"]["not_replayed"] and found["differing_update"] == 1


def test_damaged_records_are_refused_with_their_line(tmp_path, plain):
    other = shutil.copytree(plain, tmp_path / "b")

    def without_the_second(lines):
        return [line for line in lines if line["update"] != 2]

    change_lines(other, without_the_second)
    assert "update 2 of run" in bisect(plain, other, code=2)
    change_lines(other, lambda lines: [{**lines[0], "parameters_xxh3": "none"}, *lines[1:]])
    assert "metrics.jsonl:1: 'parameters_xxh3'" in bisect(plain, other, code=2)
    change_lines(other, lambda lines: [])
    assert "no line of a run" in bisect(plain, other, code=2)
    (other / "outputs/metrics.jsonl").unlink()
    assert "metrics.jsonl" in bisect(plain, other, code=2)
    assert "no-such-folder" in bisect(plain, tmp_path / "no-such-folder", code=2)


def test_a_changed_hash_in_a_record_is_not_reproduced(tmp_path, plain):
    other = shutil.copytree(plain, tmp_path / "b")
    change_lines(other, lambda lines: [{**line, "gradient_xxh3": "0" * 32} if line["update"] == 3 else line
                                       for line in lines])
    found = bisect(plain, other)
    assert found["differing_update"] == 3 and found["findings"] == []
    assert "run B's recorded gradient of update 3" in found["verdict"]


def test_without_replay_only_the_records_are_compared(tmp_path, plain):
    found = bisect(plain, train(tmp_path / "b", "--continuous", optimizer__learning_rate=0.05), "--no-replay")
    assert found["differing_update"] == 1 and found["findings"] == [] and not found["window_compared"]
    assert [each["what"] for each in found["recorded"]] == ["learning rate", "parameters", "hash chain"]


def test_bisect_writes_nothing_and_tells_a_person(tmp_path, plain):
    other = train(tmp_path / "b", "--continuous", optimizer__learning_rate=0.05)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    done = subprocess.run([BIN / "samegrad", "bisect", plain, other], capture_output=True, text=True, timeout=120)
    assert done.returncode == 3
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    assert done.stdout.strip().splitlines()[-1] == (
        "update 1 is the first that differs, in the learning rate: learning rate 0.1 / 0.05")
    assert "optimizer.learning_rate" in done.stdout and max(map(len, done.stdout.splitlines())) <= 100
