"""huggingface/transformers#24725: accumulation 2 x batch 1 did not give the gradient of batch 2 for 11 and 101 tokens."""

import pytest
from text_run import assert_equal, trained, write_rows


@pytest.fixture
def data(tmp_path):
    return write_rows(tmp_path / "two.jsonl", [{"text": "a" * 10}, {"text": "b" * 100}])  # 11 and 101 with the end token


def test_accumulating_equals_the_larger_batch(tmp_path, data):
    together = trained(tmp_path / "batch2", data, batch=2)
    accumulated = trained(tmp_path / "accumulate2", data, accumulation=2)
    for run in (together, accumulated):
        assert [line["supervised_tokens"] for line in run.metrics()] == [110]
    assert_equal(accumulated.gradient(1), together.gradient(1))
    assert accumulated.metrics()[0]["loss"] == pytest.approx(together.metrics()[0]["loss"], rel=1e-6)


def test_the_comparison_rejects_the_mean_of_the_two_means(tmp_path, data):
    together = trained(tmp_path / "batch2", data, batch=2)
    alone = [trained(tmp_path / f"only{i}", write_rows(tmp_path / f"only{i}.jsonl", [{"text": text}]))
             for i, text in enumerate(["a" * 10, "b" * 100])]
    first, second = (run.gradient(1) for run in alone)
    mean_of_means = {name: (first[name] + second[name]) / 2 for name in first}
    with pytest.raises(AssertionError):
        assert_equal(mean_of_means, together.gradient(1))
