"""What exactness costs in an update of the lesson: the fixed order of additions against a native all-reduce, and the
hashes of parameters, gradient and plan; and the small collective calls and the line of metrics.

    .venv/bin/python benchmarks/exactness_cost.py [--bin build/dev/bin] [--rounds 4] [--json FILE]

Each round runs, for 2 and for 4 processes over shared memory and over Gloo: updates of `samegrad train`, then
benchmarks/exactness_cost.cpp on a gradient of the same size; over Gloo also PyTorch's own all-reduce of it. The program
alternates the sides too, rewrites every buffer before each iteration, and shows that both orders give the same gradient
within rounding. Native is PyTorch's all-reduce over Gloo, and the same transport without the tree over shared memory,
which has no all-reduce. A side's time is the slowest rank's. Figures are medians over rounds of a round's median, as
percentages of that round's update, with the least and the largest. The limit of an exchange is its bytes at the
bandwidth of a copy that all ranks make at once.
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SETTINGS = [(backend, processes) for backend in ("shm", "gloo") for processes in (2, 4)]
ATOMS = 4  # of the lesson's window
WARM_UP = 3


def update_seconds(arguments, backend, processes, folder):
    command = [arguments.bin / "samegrad", "train", "--config", ROOT / "configs/minimum.yaml", "--run", folder, "--quiet"]
    command += ["--nproc", processes, "--backend", backend, "--set", "plan.stop_at=0", "--set", f"plan.updates={arguments.updates}"]
    subprocess.run([str(word) for word in command], check=True, stdout=sys.stderr)
    lines = [json.loads(line) for line in (folder / "outputs/metrics.jsonl").read_text().splitlines()]
    lines = [line for line in lines if line["run_id"] == lines[-1]["run_id"]]
    return statistics.median(line["seconds"] for line in lines[WARM_UP:])


def own_costs(arguments, backend, processes, folder):
    """-> the program's figures, each side's seconds as their median."""
    path = folder / "costs.json"
    command = [arguments.bin / "exactness_cost", backend, processes, ATOMS, arguments.iterations, path, folder / "outputs/metrics.jsonl"]
    subprocess.run([str(word) for word in command], check=True)
    costs = json.loads(path.read_text())
    if (costs["backend"], costs["ranks"]) != (backend, processes) or costs["difference"] > 1e-6:
        sys.exit(f"[benchmark] {backend}, {processes} processes: got {costs}; nothing is shown")
    return {**costs, "seconds": {side: statistics.median(values) for side, values in costs["seconds"].items()}}


def gloo_rank(rank, processes, elements, iterations, folder):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    store = dist.FileStore(f"{folder}/store", processes)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=processes)
    seconds = []
    for iteration in range(WARM_UP + iterations):
        gradient = torch.full((elements,), float(rank + iteration))
        dist.barrier()
        begin = time.perf_counter()
        dist.all_reduce(gradient)
        mine = torch.tensor([time.perf_counter() - begin], dtype=torch.float64)
        dist.all_reduce(mine, op=dist.ReduceOp.MAX)
        seconds.append(float(mine))
    if rank == 0:
        pathlib.Path(folder, "gloo.json").write_text(json.dumps(seconds[WARM_UP:]))
    dist.barrier()
    os._exit(0)  # all is measured; the interpreter's teardown of Gloo's threads aborts now and then


def gloo_seconds(arguments, processes, elements):
    with tempfile.TemporaryDirectory() as folder:
        context = multiprocessing.get_context("spawn")
        ranks = [
            context.Process(target=gloo_rank, args=(rank, processes, elements, arguments.iterations, folder))
            for rank in range(processes)
        ]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join()
        return statistics.median(json.loads(pathlib.Path(folder, "gloo.json").read_text()))


def one_round(arguments, backend, processes, folder):
    update = update_seconds(arguments, backend, processes, folder)
    costs = own_costs(arguments, backend, processes, folder)
    seconds = dict(costs["seconds"])
    if backend == "gloo":
        seconds["pytorch_all_reduce"] = gloo_seconds(arguments, processes, costs["gradient_bytes"] // 4)
    copied = 2 * costs["canonical_bytes_sent"]  # every byte is written by its sender and read by its receiver
    seconds["exchange_limit"] = seconds["copy"] * copied / costs["gradient_bytes"]
    seconds["hash_limit"] = 2 * seconds["copy"]  # two gradients' bytes
    percent = {side: 100 * value / update for side, value in seconds.items()}
    percent["canonical_minus_native"] = percent["canonical"] - percent.get("pytorch_all_reduce", percent["native"])
    percent["hashes_agreements_metrics"] = sum(percent[side] for side in ("hashes", "agreements", "metrics"))
    return {"update": update, "seconds": seconds, "percent": percent}


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def compare(arguments, folder):
    rounds = {setting: [] for setting in SETTINGS}
    for number in range(arguments.rounds):
        for backend, processes in SETTINGS:
            figures = one_round(arguments, backend, processes, folder)
            rounds[backend, processes].append(figures)
            shown = ", ".join(f"{side} {value:.2f} %" for side, value in figures["percent"].items())
            print(f"round {number + 1}, {backend}, {processes} processes: update {1000 * figures['update']:.1f} ms; "
                  f"{shown}", file=sys.stderr)
    return {
        f"{backend}, {processes} processes": {
            "rounds": figures,
            "update_seconds": spread([one["update"] for one in figures]),
            "percent_of_an_update": {
                side: spread([one["percent"][side] for one in figures]) for side in figures[0]["percent"]
            },
        }
        for (backend, processes), figures in rounds.items()
    }


def show(result):
    for setting, figures in result.items():
        update = figures["update_seconds"]
        print(f"{setting}: an update {1000 * update['median']:.1f} ms "
              f"({1000 * update['min']:.1f} to {1000 * update['max']:.1f}); of it")
        for side, percent in figures["percent_of_an_update"].items():
            print(f"  {side:24} {percent['median']:6.2f} %  ({percent['min']:.2f} to {percent['max']:.2f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/dev/bin", help="folder of the programs")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--updates", type=int, default=12, help=f"of one round; the first {WARM_UP} are warm-up")
    parser.add_argument("--iterations", type=int, default=20, help="of each side in one round")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures here too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = compare(arguments, pathlib.Path(folder))
    show(result)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
