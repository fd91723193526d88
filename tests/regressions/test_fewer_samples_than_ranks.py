"""pytorch/pytorch#45324, Lightning#5047: fewer samples than ranks, or than one batch, crashed or trained zero steps."""

import pytest
from text_run import assert_identical, train, trained, write_rows


@pytest.mark.parametrize("ranks", [2, 4])
def test_one_sample_makes_one_update_equal_to_one_process(tmp_path, ranks):
    data = write_rows(tmp_path / "data.jsonl", [{"text": "the only sample"}])
    one = trained(tmp_path / "one", data, ranks=1, virtual_ranks=4)
    several = trained(tmp_path / "several", data, ranks=ranks, virtual_ranks=4)
    assert len(several.metrics()) == 1 and len(several.metrics()[0]["ranks"]) == ranks
    assert_identical(several.final(), one.final())


def test_more_ranks_than_atoms_is_no_error_and_changes_no_bits(tmp_path):
    data = write_rows(tmp_path / "data.jsonl", [{"text": "a b c"}, {"text": "d e f g"}])
    one = trained(tmp_path / "one", data, ranks=1, virtual_ranks=2)
    four = trained(tmp_path / "four", data, ranks=4, virtual_ranks=2)
    assert_identical(four.final(), one.final())


def test_three_samples_in_a_batch_of_eight_make_one_update(tmp_path):
    data = write_rows(tmp_path / "data.jsonl", [{"text": text} for text in ("abc", "de", "fghi")])
    run = trained(tmp_path / "run", data, batch=8)
    assert [line["supervised_tokens"] for line in run.metrics()] == [3 + 2 + 4]


@pytest.mark.parametrize("content", ["", "\n \n"], ids=["empty", "blank"])
def test_a_file_without_samples_is_refused_by_name(tmp_path, content):
    data = tmp_path / "nothing.jsonl"
    data.write_text(content)
    run = train(tmp_path / "run", data, ranks=2, virtual_ranks=2)
    assert run.exit_code == 2
    assert "nothing.jsonl" in run.errors and "0 samples" in run.errors
    assert run.checkpoints() == []


def test_a_validation_file_of_one_line_is_evaluated_once(tmp_path):
    data = write_rows(tmp_path / "data.jsonl", [{"text": "abc"}] * 4)
    validation = write_rows(tmp_path / "validation.jsonl", [{"text": "hello"}])
    runs = [trained(tmp_path / str(ranks), data, ranks=ranks, virtual_ranks=2, data__validation=validation)
            for ranks in (1, 2)]
    for run in runs:
        shown = run.metrics()[-1]["validation"]
        assert shown["samples"] == 1 and shown["supervised_tokens"] == 5
    assert runs[0].metrics()[-1]["validation"] == runs[1].metrics()[-1]["validation"]
