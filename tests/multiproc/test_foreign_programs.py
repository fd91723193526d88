"""`samegrad launch` with programs written for PyTorch, and torchrun with samegrad's: each reads what the other writes."""

import re
import sys

from launched_run import CONTINUOUS, FAULTY, SAMEGRAD, SMALL, run, settings, torchrun

LOOPBACK = {"GLOO_SOCKET_IFNAME": "lo"}
# The gradient of sum(w x) over 8 samples of value rank + 1, averaged over two ranks: 8 (1 + 2) / 2.
DDP = """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
model = DistributedDataParallel(torch.nn.Linear(3, 1, bias=False))
model(torch.full((8, 3), rank + 1.0)).sum().backward()
print(rank, world, model.module.weight.grad.tolist(), os.environ["TORCHELASTIC_RESTART_COUNT"])
dist.barrier()
dist.destroy_process_group()
assert rank != 1 or "fail" not in os.environ or os.environ["TORCHELASTIC_RESTART_COUNT"] != "0", "asked for"
"""
RECORDED = """
import os
from torch.distributed.elastic.multiprocessing.errors import record

@record
def main():
    if os.environ["RANK"] == "1":
        raise ValueError("boom")
    import time
    time.sleep(1000)

main()
"""


def launch(folder, program, *options, **variables):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "program.py").write_text(program)
    return run(folder, SAMEGRAD, "launch", "--nproc", 2, *options, "--", sys.executable, "program.py", **LOOPBACK, **variables)


def test_a_python_ddp_program_finds_its_ranks_and_meets_again_after_a_restart(tmp_path):
    result = launch(tmp_path, DDP, "--max-restarts", 1, fail="once")
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.splitlines()) == [
        f"[rank {rank}] {rank} 2 [[12.0, 12.0, 12.0]] {attempt}" for rank in range(2) for attempt in range(2)]
    assert re.search(r"failed first: its own lines are above, the last one: .*AssertionError: asked for", result.stderr)
    assert "[launch] starting again (restart 1 of 1)" in result.stderr


def test_the_exception_that_a_python_program_records_is_in_the_report(tmp_path):
    result = launch(tmp_path, RECORDED)
    assert result.returncode == 1
    assert ", exit code 1) failed first: ValueError: boom" in result.stderr, result.stderr


def test_torchruns_own_report_shows_the_line_of_the_rank_that_failed(tmp_path):
    result = run(tmp_path, *torchrun(2), FAULTY, *CONTINUOUS, *settings(*SMALL), fault="rank=1,step=2,kind=throw")
    assert result.returncode == 1
    report = result.stderr[result.stderr.index("ChildFailedError"):]
    root_cause = report[report.index("Root Cause"):]
    assert "rank      : 1 (local_rank: 1)" in root_cause, report
    assert "[fault] asked for by SAMEGRAD_FAULT: rank 1, update 2, backward" in root_cause, report


def test_the_store_is_started_for_those_who_ask_and_only_then(tmp_path):
    """Its keeper is a child of the process whose children are the workers."""
    script = ('ask() { for p in $(cat /proc/$PPID/task/$PPID/children); do tr "\\0" " " < /proc/$p/cmdline; echo; done '
              '| grep -c -e [-]-host-store; }; ask; test -z "$1" || { : < /dev/tcp/$MASTER_ADDR/$MASTER_PORT; '
              'until test "$(ask)" = 1; do sleep 0.02; done; ask; }')
    for word, said in (("", ["0"]), ("connect", ["0", "1"])):
        result = run(tmp_path, SAMEGRAD, "launch", "--nproc", 1, "--no-prefix", "--", "bash", "-c", script, "bash", word)
        assert result.stdout.split() == said, result.stderr
