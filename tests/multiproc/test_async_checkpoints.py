"""checkpoint.async with real processes: the same bytes as checkpoints that were waited for, and all of them at the end."""

import pytest

from launched_run import CONTINUOUS, SAMEGRAD, SMALL, done, hashes, settings

EVERY = settings(*SMALL, "checkpoint.every=1", "optimizer.kind=adamw", "optimizer.learning_rate=1e-3")
ASYNC = settings("checkpoint.async=true")
FILES = ["model.safetensors", "optimizer.safetensors", "rank-0.json", "rank-1.json"]


def checkpoints(folder):
    """By name; asserts that nothing else is there."""
    found = {path.name: {name: (path / name).read_bytes() for name in FILES}
             for path in (folder / "artifacts/checkpoints").iterdir()}
    assert sorted(found) == [f"step-{update:04d}" for update in (1, 2, 3, 4)]
    return found


@pytest.fixture(scope="module")
def waited_for(tmp_path_factory):
    folder = tmp_path_factory.mktemp("waited")
    done(folder, SAMEGRAD, *CONTINUOUS, *EVERY, "--nproc", 1)
    return folder


def test_they_have_the_bytes_of_those_that_are_waited_for(tmp_path, waited_for):
    ended = done(tmp_path, SAMEGRAD, *CONTINUOUS, *EVERY, *ASYNC, "--nproc", 2)
    assert hashes(tmp_path, ranks=2) == hashes(waited_for, ranks=1)
    assert checkpoints(tmp_path) == checkpoints(waited_for)
    assert [f"step-{update:04d}" in ended.stderr for update in (1, 2, 3, 4)] == [True] * 4
    assert done(tmp_path, SAMEGRAD, "checkpoints", "artifacts/checkpoints").stdout.count("complete") >= 4


def test_a_resume_from_one_is_the_continuous_run(tmp_path, waited_for):
    stop_at_2 = settings("plan.stop_at=2")
    done(tmp_path, SAMEGRAD, "train", *EVERY, *stop_at_2, *ASYNC, "--nproc", 2)
    done(tmp_path, SAMEGRAD, "train", *EVERY, *settings("plan.stop_at=0"), *ASYNC, "--nproc", 3, "--resume", "latest")
    expected = hashes(waited_for)
    assert hashes(tmp_path, "resumed", ranks=3) == {update: expected[update] for update in (3, 4)}
    assert checkpoints(tmp_path) == checkpoints(waited_for)
