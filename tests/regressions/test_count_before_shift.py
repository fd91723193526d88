"""huggingface/transformers#46204: labels were counted before the one-position shift, one phantom token a row."""

import pytest
from text_run import LN_256, trained, write_rows

FIVE = {"input_ids": [10, 20, 30, 40, 50], "labels": [10, 20, 30, 40, 50]}


@pytest.mark.parametrize("ranks", [1, 2])
def test_two_rows_of_five_tokens_have_eight_targets(tmp_path, ranks):
    data = write_rows(tmp_path / "data.jsonl", [FIVE, FIVE])
    run = trained(tmp_path / "run", data, ranks=ranks, virtual_ranks=2, model__init="zero-head")
    line = run.metrics()[0]
    assert line["supervised_tokens"] == 8
    assert line["loss"] == pytest.approx(LN_256, abs=1e-6)  # the bug shows 4.436142


def test_a_row_of_one_token_counts_nothing_and_is_reported(tmp_path):
    data = write_rows(tmp_path / "data.jsonl", [FIVE, {"input_ids": [10], "labels": [10]}])
    run = trained(tmp_path / "run", data, virtual_ranks=2, model__init="zero-head", words=["--dry-run"])
    assert "line 2" in run.output
    run = trained(tmp_path / "run", data, virtual_ranks=2, model__init="zero-head")
    assert run.metrics()[0]["supervised_tokens"] == 4


def test_a_masked_first_token_is_not_subtracted_again(tmp_path):
    masked = {"input_ids": FIVE["input_ids"], "labels": [-100, -100, 30, 40, 50]}
    data = write_rows(tmp_path / "data.jsonl", [masked, masked])
    run = trained(tmp_path / "run", data, virtual_ranks=2, model__init="zero-head")
    assert run.metrics()[0]["supervised_tokens"] == 6
    assert run.metrics()[0]["loss"] == pytest.approx(LN_256, abs=1e-6)
