"""What DistributedDataParallel costs in a training step: beside a loop without it in one process, and with two processes
beside PyTorch's own reducer.

    .venv/bin/python benchmarks/ddp_overhead.py [--bin build/dev/bin] [--rounds 5] [--json FILE]

benchmarks/ddp_overhead.cpp makes the steps: an encoder of 0.28, 3.2 or 25.3 million parameters, forward, backward and
plain SGD, one thread a process; each side with a model of its own, the sides in turn step by step. It shows first that
all sides have the mean gradient of the ranks. A side's time is the slowest rank's; a round's figure is the median of its
steps. Ratios are made within a round; shown are the median over rounds, least and largest. With two processes the limit
is `bare`: the same steps without any exchange. Processor time is that of all ranks and threads: it says what a step costs
where something else runs beside it.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
ONE = ["bare", "ddp", "window"]
TWO = ["bare", "ddp", "window", "c10d", "c10d_views"]
LARGEST_DIFFERENCE = 1e-6
SETTINGS = [(1, "lesson", ONE, 20), (1, "25m", ONE, 3), (2, "lesson", TWO, 10), (2, "3m", TWO, 5), (2, "25m", TWO, 2)]


def measured(arguments, ranks, model, sides, iterations):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "figures.json")
        command = [arguments.bin / "ddp_overhead", ranks, model, ",".join(sides), arguments.rounds, iterations, path]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        subprocess.run([str(word) for word in command], check=True, env=environment, stderr=subprocess.DEVNULL)
        figures = json.loads(path.read_text())
    if figures["ranks"] != ranks or figures["difference"] > LARGEST_DIFFERENCE:
        sys.exit(f"[benchmark] {ranks} ranks, {model}: got {figures}; nothing is shown")
    return figures


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def ratios(by_side, side, of):
    """side / of, by round."""
    return spread([mine / theirs for mine, theirs in zip(by_side[side], by_side[of])])


def summary(by_side):
    result = {"seconds": {side: spread(values) for side, values in by_side.items()}}
    result["of_bare"] = {side: ratios(by_side, side, "bare") for side in by_side if side != "bare"}
    for peer in [side for side in by_side if side.startswith("c10d")]:
        result[f"of_{peer}"] = {side: ratios(by_side, side, peer) for side in ("ddp", "window")}
    return result


def show(name, compared):
    for side, one in compared["seconds"].items():
        print(f"  {name}, {side:12} {shown(one, 1000, 1)} ms")
    for of in [key for key in compared if key != "seconds"]:
        for side, one in compared[of].items():
            print(f"  {name}, {side} {of}: {shown(one, 1, 3)}")


def shown(one, scale, digits):
    median, least, largest = (f"{scale * one[name]:.{digits}f}" for name in ("median", "min", "max"))
    return f"{median} ({least} to {largest})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/dev/bin", help="folder of the programs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--fewer", type=int, default=1, help="divide the steps of a round by this")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures here too")
    arguments = parser.parse_args()
    results = []
    for ranks, model, sides, iterations in SETTINGS:
        figures = measured(arguments, ranks, model, sides, max(1, iterations // arguments.fewer))
        compared = {name: summary(figures[name]) for name in ("seconds", "cpu_seconds")}
        results.append({"model": model, **figures, "summary": compared})
        print(f"{ranks} processes, {figures['parameters']:,} parameters, {figures['tokens']} tokens a process, largest "
              f"difference {figures['difference']:.1e}")
        show("time", compared["seconds"])
        show("processor time", compared["cpu_seconds"])
        sys.stdout.flush()
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
