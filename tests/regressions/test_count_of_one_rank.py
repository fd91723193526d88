"""huggingface/transformers#34242: the count covered one rank's window only, so two processes did not equal one."""

import json
import subprocess

import pytest
from text_run import SAMEGRAD, assert_equal, assert_identical, trained, write_rows


def rows(first, second):
    """Two samples with that many supervised tokens."""
    return [{"input_ids": [7 + i] * 40, "labels": [-100] * (40 - count) + [7 + i] * count}
            for i, count in enumerate((first, second))]


@pytest.mark.parametrize("counts", [(12, 36), (36, 12)], ids=["12-36", "36-12"])
@pytest.mark.parametrize("accumulation", [1, 2])
def test_two_ranks_equal_one_for_12_and_36_tokens(tmp_path, counts, accumulation):
    data = write_rows(tmp_path / "data.jsonl", rows(*counts) * accumulation)
    plan = dict(virtual_ranks=2, accumulation=accumulation)
    one = trained(tmp_path / "one", data, ranks=1, **plan)
    two = trained(tmp_path / "two", data, ranks=2, **plan)
    assert len(two.metrics()[0]["ranks"]) == 2
    assert two.metrics()[0]["supervised_tokens"] == 48 * accumulation
    assert_identical(two.gradient(1), one.gradient(1))
    assert_identical(two.final(), one.final())
    batch = trained(tmp_path / "batch", data, batch=2 * accumulation)
    assert_equal(two.gradient(1), batch.gradient(1))


def test_the_counter_example_is_2_against_2_5():
    done = subprocess.run([SAMEGRAD, "check-loss", "--json"], capture_output=True, text=True, check=True)
    shown = json.loads(done.stdout)
    assert shown["local_tokens"] == [12, 36] and shown["local_loss_sums"] == [12, 108]
    assert shown["mean_of_means"] == 2.0 and shown["global_mean"] == 2.5
    assert shown["toy_gradient"] == {"mean_of_means": 0.0, "global_mean": 1.0}
