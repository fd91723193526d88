"""Vision-CAIR/MiniGPT-4#237, pytorch/pytorch#20728: the launcher showed a stack of its own and no word of the worker that had
failed, or returned 0 although one had."""

import json
import os
import re
import socket
import sys

import pytest

sys.path.insert(0, os.path.join(os.environ["SAMEGRAD_SOURCE"], "tests/multiproc"))
from launched_run import FAULTY, SAMEGRAD, SMALL, SOURCE, run, settings  # noqa: E402

TRAIN = ["train", "--nproc", "3", "--quiet", "--failure-json", "failure.json", *settings(*SMALL[:4])]


def ended(folder, *words, fault=None):
    """Exit code, lines and failure.json of a training in which something fails."""
    result = run(folder, FAULTY if fault else SAMEGRAD, *TRAIN, *words, fault=fault)
    # On a busy machine the culprit is named once before the others have ended.
    lines = [line for line in result.stderr.splitlines() if not line.endswith("(other ranks have not ended yet)")]
    failure = json.loads((folder / "failure.json").read_text())
    assert result.returncode == failure["exit_code"] != 0
    return result.returncode, lines, failure


def test_a_broken_line_that_all_ranks_meet_is_one_line_with_file_and_number(tmp_path):
    rows = [json.dumps({"text": "abcdef"})] * 6 + ['{"text": "abc', json.dumps({"text": "abcdef"})]
    (tmp_path / "train.jsonl").write_text("\n".join(rows) + "\n")
    code, lines, _ = ended(tmp_path, "--config", SOURCE / "configs/text.yaml", *settings("data.train=train.jsonl"))
    assert code == 2 and len(lines) == 1 and "train.jsonl:7: " in lines[0], lines


def last_place(rank):
    return re.compile(rf"\[launch\] rank {rank} was last seen on {re.escape(socket.gethostname())} in update 2, phase ")


@pytest.mark.parametrize("rank", [0, 1])
def test_an_exception_on_one_rank_is_shown_with_that_rank_and_its_place(tmp_path, rank):
    code, lines, failure = ended(tmp_path, fault=f"rank={rank},step=2,kind=throw")
    said = f"[fault] asked for by SAMEGRAD_FAULT: rank {rank}, update 2, backward"
    others = ", ".join(str(other) for other in range(3) if other != rank)
    assert code == 1 and said in lines[0], lines
    assert re.fullmatch(rf"\[launch\] rank {rank} \(pid \d+, exit code 1\) failed first; in consequence ranks {others}: the "
                        "same line", lines[1]), lines
    assert last_place(rank).match(lines[2]) and len(lines) == 3, lines
    culprit = failure["culprit"]
    assert (culprit["rank"], culprit["host"], culprit["exit_code"]) == (rank, socket.gethostname(), 1)
    assert said in culprit["message"] and culprit["place"]["update"] == 2


@pytest.mark.parametrize("kind, code, how", [
    ("signal:6", 134, "signal 6 SIGABRT) failed first: Aborted"),
    ("kill9", 137, "signal 9 SIGKILL) failed first: killed from outside; the system does that when memory runs out"),
    ("exit:5", 5, "exit code 5) failed first: "),
    ("exit:0", 1, "exit code 0) ended before the others were done, and was waited for until rank "),
])
def test_a_death_is_named_with_its_way_place_and_consequences(tmp_path, kind, code, how):
    found, lines, failure = ended(tmp_path, fault=f"rank=1,step=2,kind={kind}")
    assert found == code
    assert re.match(r"\[launch\] rank 1 \(pid \d+, ", lines[0]) and how in lines[0], lines
    assert lines[1].startswith("[launch] in consequence rank"), lines
    assert last_place(1).match(lines[-1]), lines
    assert failure["culprit"]["rank"] == 1 and len(failure["consequences"]) == 2
