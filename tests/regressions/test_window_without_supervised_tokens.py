"""NVIDIA-NeMo/Automodel#3796: a window without any supervised token turned all weights into NaN and the run went on."""

import json

import pytest
from text_run import assert_identical, train, trained, write_rows


def one_in_six(tmp_path):
    rows = [{"prompt": f"p{i}", "answer": ""} for i in range(5)] + [{"prompt": "p", "answer": "an answer"}]
    return write_rows(tmp_path / "data.jsonl", rows)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_all_ranks_refuse_together_and_nothing_is_written(tmp_path, ranks):
    run = train(tmp_path / "run", one_in_six(tmp_path), ranks=ranks, virtual_ranks=2)
    assert run.exit_code == 1
    first_line = run.errors.strip().splitlines()[-1] if ranks == 1 else run.errors
    assert "0 supervised tokens in all ranks" in first_line and "update" in first_line
    assert run.errors.count("0 supervised tokens in all ranks") == 1, "one message for all ranks"
    assert run.checkpoints() == []
    assert not list(run.folder.glob("outputs/final-*"))


@pytest.mark.parametrize("ranks", [1, 2])
def test_skipping_moves_nothing_and_is_counted(tmp_path, ranks):
    run = trained(tmp_path / "run", one_in_six(tmp_path), ranks=ranks, virtual_ranks=2,
                  objective__empty_window="skip", optimizer__weight_decay="0.5", schedule__kind="linear")
    lines = run.metrics()
    assert sorted(line["action"] for line in lines) == ["skip", "skip", "train"]
    before = None
    for line in lines:
        if line["action"] == "skip" and before is not None:
            assert line["parameters_xxh3"] == before
        before = line["parameters_xxh3"]
    (state,) = run.folder.glob("artifacts/checkpoints/*/state.json")
    state = json.loads(state.read_text())
    assert state["skipped_windows"] == 2 and state["schedule"]["steps_taken"] == 1


def test_the_trained_window_is_the_same_as_without_the_skipped_ones(tmp_path):
    skipping = trained(tmp_path / "run", one_in_six(tmp_path), virtual_ranks=2, objective__empty_window="skip")
    only = write_rows(tmp_path / "only.jsonl", [{"prompt": "p", "answer": "an answer"}])
    alone = trained(tmp_path / "alone", only, virtual_ranks=2)
    assert_identical(skipping.final(), alone.final())


def test_a_rank_whose_own_atoms_are_empty_takes_part_with_zeros(tmp_path):
    """pytorch/pytorch#23425: the rank with nothing to learn skipped its backward and the other waited for ever."""
    data = write_rows(tmp_path / "data.jsonl", [{"prompt": "x", "answer": ""}, {"prompt": "p", "answer": "twelve bytes"}])
    one = trained(tmp_path / "one", data, ranks=1, virtual_ranks=2)
    two = trained(tmp_path / "two", data, ranks=2, virtual_ranks=2)
    assert sorted(share["supervised_tokens"] for share in two.metrics()[0]["ranks"]) == [0, 13]
    assert_identical(two.final(), one.final())
