"""NVIDIA-NeMo/Megatron-Bridge#5637, verl-project/verl#2265, TensorAuto/OpenTau#180: a checkpoint of two ranks was resumed by
one, half of the data position dropped; with more ranks, random states were invented. Here every number is right, and
what is refused is another plan."""

import pytest
from text_run import train, trained, write_rows

OPTIONS = dict(dump=False, virtual_ranks=2, accumulation=2, batch=1, plan__epochs=2, model__dropout=0.1)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rows = [{"text": letter * (5 + i)} for i, letter in enumerate("abcdefghij")]
    return write_rows(tmp_path_factory.mktemp("data") / "data.jsonl", rows)


@pytest.fixture(scope="module")
def continuous(data, tmp_path_factory):
    return trained(tmp_path_factory.mktemp("continuous"), data, ranks=2, **OPTIONS)


@pytest.fixture(scope="module")
def folder(data, tmp_path_factory):
    return trained(tmp_path_factory.mktemp("run"), data, ranks=2, words=["--stop-at", 2], **OPTIONS).folder


def resumed(folder, data, ranks, **options):
    return train(folder, data, ranks=ranks, words=["--resume", "artifacts/checkpoints/step-0002"],
                 **{**OPTIONS, **options})


@pytest.mark.parametrize("ranks", [1, 4])
def test_any_number_goes_on_with_the_same_bits_and_skips_or_repeats_nothing(continuous, folder, data, ranks):
    run = resumed(folder, data, ranks)
    assert run.exit_code == 0, run.errors
    assert len(run.metrics()[-1]["ranks"]) == ranks
    assert run.windows() == {update: continuous.windows()[update] for update in (3, 4, 5, 6)}
    assert run.chain() == continuous.chain()
    assert run.final_bytes("resumed") == continuous.final_bytes("continuous")


# Every key of the config: tests/unit/checkpoint/resume_rules_test.cpp.
def test_another_plan_is_refused_with_both_values(folder, data):
    run = resumed(folder, data, 1, accumulation=4)
    assert run.exit_code == 2
    line = run.errors.strip().splitlines()[-1]
    assert line.startswith("[resume] plan.accumulation: "), run.errors
    assert "was trained with 2, this run has 4" in line, run.errors


def test_the_same_window_as_one_rank_of_four_microbatches_is_another_plan_too(folder, data):
    run = resumed(folder, data, 1, virtual_ranks=1, accumulation=4)
    assert run.exit_code == 2 and "was trained with 2, this run has 1" in run.errors, run.errors


def test_other_data_is_refused_by_its_count(tmp_path, folder, data):
    less = write_rows(tmp_path / "less.jsonl", [{"text": "abc"}] * 9)
    run = resumed(folder, less, 2)
    assert run.exit_code == 2 and "train samples was 10, is 9" in run.errors, run.errors
