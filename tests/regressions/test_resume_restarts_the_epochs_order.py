"""huggingface/accelerate#4071 and #2016, modelscope/ms-swift#10050: a resume in the middle of a later epoch trained on the
first epoch's order: some samples twice, some never."""

import pytest
from text_run import trained, write_rows

SETTINGS = dict(dump=False, batch=1, plan__epochs=2, optimizer__learning_rate="1e-2")


def ten_samples(tmp_path):
    return write_rows(tmp_path / "data.jsonl", [{"text": letter * (5 + i)} for i, letter in enumerate("abcdefghij")])


def ids(windows):
    return [sample for update in sorted(windows) for atom in windows[update] for sample in atom]


def test_the_reported_case(tmp_path):
    data = ten_samples(tmp_path)
    options = dict(ranks=2, virtual_ranks=2, **SETTINGS)
    continuous = trained(tmp_path / "continuous", data, **options)
    trained(tmp_path / "run", data, words=["--stop-at", 7], **options)
    resumed = trained(tmp_path / "run", data, words=["--resume", "latest"], **options)
    assert list(resumed.windows()) == [8, 9, 10]
    assert all(resumed.windows()[update] == continuous.windows()[update] for update in (8, 9, 10))
    assert sorted(ids(continuous.windows())[10:]) == list(range(10))
    assert continuous.windows()[6] != continuous.windows()[1], "the two epochs' orders differ, or nothing is shown"
    assert resumed.final_bytes("resumed") == continuous.final_bytes("continuous")


# A window takes virtual_ranks x accumulation x batch samples of ten, an epoch's last one what is left: a position counted
# in updates, microbatches or samples, within the epoch or the run, is another number each time.
@pytest.mark.parametrize("virtual_ranks, accumulation, batch, updates, worlds", [(2, 2, 1, 6, [3, 1, 1, 2, 1]),
                                                                                (1, 2, 3, 4, [2, 1, 1])])
def test_a_resume_from_any_update_goes_on_with_the_same_samples(tmp_path, virtual_ranks, accumulation, batch, updates,
                                                                worlds):
    data = ten_samples(tmp_path)
    options = {**SETTINGS, "virtual_ranks": virtual_ranks, "accumulation": accumulation, "batch": batch,
               "checkpoint__every": 1}
    continuous = trained(tmp_path / "run", data, **options)
    chain, windows = continuous.chain(), continuous.windows()
    assert len(chain) == updates
    assert sorted(ids(windows)[:10]) == sorted(ids(windows)[10:]) == list(range(10))
    for stop, ranks in zip(range(1, updates), worlds, strict=True):
        resumed = trained(tmp_path / "run", data, ranks=ranks, words=["--resume", f"artifacts/checkpoints/step-{stop:04d}"],
                          **options)
        assert resumed.windows() == {update: windows[update] for update in range(stop + 1, updates + 1)}, stop
        assert resumed.chain() == chain, stop
        assert len(resumed.metrics()[-1]["ranks"]) == ranks


def test_two_resumes_in_one_epoch(tmp_path):
    data = ten_samples(tmp_path)
    options = {**SETTINGS, "virtual_ranks": 2, "plan__epochs": 3}
    continuous = trained(tmp_path / "continuous", data, ranks=1, **options)
    trained(tmp_path / "run", data, ranks=2, words=["--stop-at", 6], **options)
    trained(tmp_path / "run", data, ranks=1, words=["--stop-at", 8, "--resume", "latest"], **options)
    resumed = trained(tmp_path / "run", data, ranks=1, words=["--resume", "latest"], **options)
    assert len(continuous.chain()) == 15 and resumed.chain() == continuous.chain()
