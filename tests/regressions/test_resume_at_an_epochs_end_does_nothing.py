"""verl-project/verl#7401 and #5725, meta-pytorch/data#1437: a resume from exactly an epoch's end did nothing and exited 0:
the saved position said "exhausted"."""

import pytest
from text_run import train, trained, write_rows

OPTIONS = dict(dump=False, virtual_ranks=2, batch=1, plan__epochs=2)


@pytest.fixture
def data(tmp_path):
    return write_rows(tmp_path / "data.jsonl", [{"text": letter * (5 + i)} for i, letter in enumerate("abcdefghij")])


def test_the_next_epoch_is_trained(tmp_path, data):
    continuous = trained(tmp_path / "continuous", data, ranks=2, **OPTIONS)
    trained(tmp_path / "run", data, ranks=2, words=["--stop-at", 5], **OPTIONS)
    resumed = trained(tmp_path / "run", data, ranks=2, words=["--resume", "latest"], **OPTIONS)
    assert list(resumed.windows()) == [6, 7, 8, 9, 10]
    assert resumed.chain() == continuous.chain() and len(resumed.chain()) == 10
    assert resumed.final_bytes("resumed") == continuous.final_bytes("continuous")


def test_nothing_left_is_said_and_nothing_is_written(tmp_path, data):
    run = trained(tmp_path / "run", data, **OPTIONS)
    before = {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()}
    again = trained(tmp_path / "run", data, ranks=1, words=["--resume", "latest"], **OPTIONS)
    assert "already at update 10 of 10: nothing is left to train" in again.output
    assert {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()} == before


def test_an_epoch_more_is_trained_from_the_very_end(tmp_path, data):
    longer = trained(tmp_path / "longer", data, ranks=1, **{**OPTIONS, "plan__epochs": 3})
    trained(tmp_path / "run", data, ranks=1, **OPTIONS)
    resumed = trained(tmp_path / "run", data, ranks=2, words=["--resume", "latest"], **{**OPTIONS, "plan__epochs": 3})
    assert list(resumed.windows()) == [11, 12, 13, 14, 15]
    assert resumed.chain() == longer.chain()


def test_a_stop_that_is_already_passed_is_no_success(tmp_path, data):
    trained(tmp_path / "run", data, words=["--stop-at", 7], **OPTIONS)
    passed = train(tmp_path / "run", data, words=["--stop-at", 5, "--resume", "latest"], **OPTIONS)
    assert passed.exit_code == 2
    assert "--stop-at: 5; " in passed.errors and "at update 7 of 10" in passed.errors, passed.errors
    there = trained(tmp_path / "run", data, words=["--stop-at", 7, "--resume", "latest"], **OPTIONS)
    assert "already at update 7 of 10: nothing is left to train up to --stop-at 7" in there.output


def test_final_parameters_that_a_crash_has_left_out_are_written_by_the_resume_that_has_nothing_else_to_do(tmp_path, data):
    run = trained(tmp_path / "run", data, **OPTIONS)
    final = run.final_bytes("continuous")
    (run.folder / "outputs/final-continuous.safetensors").unlink()
    again = trained(tmp_path / "run", data, words=["--resume", "latest"], **OPTIONS)
    assert again.final_bytes("resumed") == final
