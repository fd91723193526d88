"""`samegrad bisect` says whose record is not what the run's own state gives, and refuses records that are damaged."""

import json
import shutil

import pytest

from bisected_runs import MOMENTUM, bisect, change_lines, named, parts, resumed_after, train
from signed_manifest import sign_file_again


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A continuous run, never changed."""
    return train(tmp_path_factory.mktemp("plain"), "--continuous")


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
                                           ("count-before-shift", "loss divisor")])
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


def test_what_a_checkpoint_claims_is_not_believed(tmp_path, plain):
    """Whole by its digests, and not what a training writes: said of that run, without an end by the system."""
    other = shutil.copytree(plain, tmp_path / "b")
    change_lines(other, lambda lines: [{**line, "loss_sum": 0.5} if line["update"] == 3 else line for line in lines])
    checkpoint = other / "artifacts/checkpoints/step-0004"
    right = json.loads((checkpoint / "state.json").read_text())

    def not_replayed(**changes):
        (checkpoint / "state.json").write_text(json.dumps({**right, **changes}))
        sign_file_again(checkpoint, "state.json")
        found = bisect(plain, other)
        assert found["a"]["not_replayed"] == "" and not found["window_compared"]
        return found["b"]["not_replayed"]

    assert "too small for the" in not_replayed(config={**right["config"],
                                                       "model": {**right["config"]["model"], "width": 8192}})
    assert "seed" in not_replayed(config={**right["config"], "seed": "forty"})
    assert "it is no object" in not_replayed(config=[])
    assert "data lock" in not_replayed(data_lock={"format": 1})
    assert "is past the plan's last" in not_replayed(config={**right["config"],
                                                             "plan": {**right["config"]["plan"], "updates": 2}})
