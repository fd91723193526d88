"""`samegrad bisect` names what was planted between two runs."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest
from safetensors.torch import load_file

from bisected_runs import BIN, MOMENTUM, assert_both_reproduced, bisect, named, parts, resumed_after, train

TEXT = ["--config", pathlib.Path(os.environ["SAMEGRAD_SOURCE"]) / "configs/text.yaml"]


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
                "data__train": "rows.jsonl", "optimizer__momentum": 0.0,
                "plan__balance": "none"}  # another length would move other samples, too
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


def test_an_altered_optimizer_state_is_named_with_its_tensor_and_component(tmp_path, plain):
    found = bisect(plain, resumed_after(tmp_path / "b", *MOMENTUM))
    assert found["differing_update"] == 3 and parts(found) == ["optimizer state"]
    assert found["findings"][0]["tensor"] == "head.bias.momentum_buffer"
    assert "[2]" in found["findings"][0]["text"] and "1 of 4 components" in found["findings"][0]["text"]
    assert found["b"]["replayed_from"].endswith("step-0002")
    assert_both_reproduced(found)


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
