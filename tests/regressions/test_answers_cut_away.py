"""huggingface/trl#6668, NVIDIA-NeMo/Speech#8025: a long prompt fills the context, the answer is cut away, weights turn NaN."""

from text_run import train, trained, write_rows


def row(answer_starts_at):
    return {"prompt": "p" * answer_starts_at, "answer": "eleven byte"}  # 12 tokens with the end token


def test_what_survives_the_cut_is_counted_and_reported_by_line(tmp_path):
    data = write_rows(tmp_path / "data.jsonl", [row(63), row(75)])
    run = trained(tmp_path / "run", data, virtual_ranks=2, model__positions=64, words=["--dry-run"])
    assert "line 1: 1 of 12 supervised tokens survive max-len 64" in run.output
    assert "line 2: 0 of 12 supervised tokens survive max-len 64" in run.output
    run = trained(tmp_path / "run", data, virtual_ranks=2, model__positions=64)
    assert "line 2: 0 of 12 supervised tokens survive max-len 64" in run.errors, "train itself says so too"
    (line,) = run.metrics()
    assert line["supervised_tokens"] == 1
    assert 0 < line["loss"] < 20 and line["stepped"]
    assert all(values.isfinite().all() for values in run.final().values())


def test_a_file_whose_every_answer_is_cut_away_is_refused_before_training(tmp_path):
    data = write_rows(tmp_path / "data.jsonl", [row(75)])
    run = train(tmp_path / "run", data, ranks=2, virtual_ranks=2, model__positions=64)
    assert run.exit_code == 2
    assert "0 supervised tokens" in run.errors and "data.jsonl" in run.errors
    assert run.checkpoints() == []


def test_a_loss_that_is_not_finite_is_shown_and_never_saved(tmp_path):
    data = write_rows(tmp_path / "data.jsonl", [{"text": "abcdef"}] * 8)
    run = train(tmp_path / "run", data, ranks=2, virtual_ranks=2, optimizer__kind="sgd",
                optimizer__learning_rate="1e30", optimizer__max_grad_norm="0", plan__epochs=4, checkpoint__every=1)
    assert run.exit_code == 1, run.errors
    assert "not finite" in run.errors
    for path in run.folder.glob("artifacts/checkpoints/*/model.safetensors"):
        from safetensors.torch import load_file

        assert all(values.isfinite().all() for values in load_file(path).values()), path
