"""Lightning-AI/pytorch-lightning#19987, modelscope/ms-swift#10084: the last, shorter window was divided by the configured
accumulation."""

import json

import pytest
from text_run import assert_equal, trained, write_rows

TEXTS = [letter * 20 for letter in "abcde"]
STILL = dict(optimizer__kind="sgd", optimizer__learning_rate="1e-30", optimizer__max_grad_norm="0")


@pytest.mark.parametrize("ranks, virtual_ranks, accumulation", [(1, 1, 4), (2, 2, 2), (1, 2, 2)])
def test_the_last_window_is_the_mean_of_what_it_holds(tmp_path, ranks, virtual_ranks, accumulation):
    data = write_rows(tmp_path / "data.jsonl", [{"text": text} for text in TEXTS])
    run = trained(tmp_path / "run", data, ranks=ranks, virtual_ranks=virtual_ranks, accumulation=accumulation, **STILL)
    assert [line["supervised_tokens"] for line in run.metrics()] == [80, 20]
    plan = json.loads((run.folder / "outputs/plan.json").read_text())["plan"]
    (last,) = [i for rank in plan[1] for micro in rank for i in micro]
    alone = trained(tmp_path / "alone", write_rows(tmp_path / "alone.jsonl", [{"text": TEXTS[last]}]), **STILL)
    assert_equal(run.gradient(2), alone.gradient(1))
    with pytest.raises(AssertionError):
        assert_equal(run.gradient(2), alone.gradient(1), ratio=0.25)


def test_nothing_leaks_into_the_next_epochs_first_window(tmp_path):
    data = write_rows(tmp_path / "data.jsonl", [{"text": text} for text in TEXTS])
    run = trained(tmp_path / "run", data, accumulation=4, plan__epochs=2, **STILL)
    plan = json.loads((run.folder / "outputs/plan.json").read_text())["plan"]
    ids = [sorted(i for rank in window for micro in rank for i in micro) for window in plan]
    assert [len(window) for window in ids] == [4, 1, 4, 1]
    assert sorted(ids[0] + ids[1]) == sorted(ids[2] + ids[3]) == [0, 1, 2, 3, 4]
