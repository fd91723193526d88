"""pytorch/torchtitan#4167, keras-hub#2958: validation loss and perplexity changed with the batch size and ranks."""

import math

import pytest
from text_run import trained, write_rows


def test_validation_is_the_same_for_every_batch_size_and_number_of_processes(tmp_path):
    data = write_rows(tmp_path / "data.jsonl", [{"text": "abcdefgh"}] * 4)
    validation = write_rows(tmp_path / "v.jsonl", [{"text": "x"}, {"text": "y" * 9}, {"text": "abcdefgh" * 3}])
    shown = {}
    for batch in (1, 2, 8):
        for ranks in (1, 2):
            run = trained(tmp_path / f"{batch}-{ranks}", data, ranks=ranks, virtual_ranks=2,
                          data__validation=validation, evaluation__batch_size=batch)
            shown[batch, ranks] = run.metrics()[-1]["validation"]
    reference = shown[1, 1]
    assert reference["supervised_tokens"] == 1 + 9 + 24
    for (batch, ranks), values in shown.items():
        assert values["supervised_tokens"] == reference["supervised_tokens"] and values["samples"] == 3
        assert values["loss"] == pytest.approx(reference["loss"], rel=1e-6)
        assert values["loss_sum"] == shown[batch, 1]["loss_sum"], "identical for any number of processes"
        assert values["loss"] == pytest.approx(values["loss_sum"] / values["supervised_tokens"], rel=1e-12)
        assert values["perplexity"] == pytest.approx(math.exp(values["loss"]), rel=1e-12)


def test_validation_without_supervised_tokens_is_refused_in_words(tmp_path):
    from text_run import train

    data = write_rows(tmp_path / "data.jsonl", [{"text": "abcdefgh"}] * 4)
    validation = write_rows(tmp_path / "v.jsonl", [{"prompt": "x", "answer": ""}])
    run = train(tmp_path / "run", data, virtual_ranks=2, data__validation=validation)
    assert run.exit_code == 2
    assert "v.jsonl" in run.errors and "0 supervised tokens" in run.errors
