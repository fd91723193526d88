"""huggingface/transformers#35204, deepspeedai/DeepSpeed#3367: the printed loss grew with the accumulation, or was the
last microbatch's."""

import pytest
from text_run import LN_256, trained, write_rows


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("accumulation", [1, 2, 4, 8])
def test_the_first_logged_loss_is_the_same_for_every_accumulation(tmp_path, ranks, accumulation):
    data = write_rows(tmp_path / "data.jsonl", [{"text": "the same line"}] * 16)
    run = trained(tmp_path / "run", data, ranks=ranks, virtual_ranks=2, accumulation=accumulation,
                  batch=8 // accumulation, model__init="zero-head")
    assert run.metrics()[0]["loss"] == pytest.approx(LN_256, abs=1e-6)


def test_the_logged_loss_is_the_sum_over_the_count_of_all_microbatches(tmp_path):
    """After some updates tokens cost unlike amounts; each sample's own sum comes from a run on it alone."""
    texts = ["ab", "abcdefgh" * 5]
    settings = dict(model__init="normal", optimizer__kind="sgd", optimizer__learning_rate="1e-30")
    alone = [trained(tmp_path / f"run{i}", write_rows(tmp_path / f"{i}.jsonl", [{"text": text}]), **settings)
             for i, text in enumerate(texts)]
    both = write_rows(tmp_path / "both.jsonl", [{"text": text} for text in texts])
    run = trained(tmp_path / "both", both, accumulation=2, **settings)
    line = run.metrics()[0]
    sums = [single.metrics()[0]["loss_sum"] for single in alone]
    counts = [single.metrics()[0]["supervised_tokens"] for single in alone]
    assert counts == [2, 40]
    assert line["loss"] == pytest.approx(sum(sums) / sum(counts), rel=1e-6)
    mean_of_means = sum(s / n for s, n in zip(sums, counts)) / 2
    assert line["loss"] != pytest.approx(mean_of_means, rel=1e-5)
