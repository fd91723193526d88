"""How an update's time and a process's memory grow: with tokens, sequence length, the
model's width, processes and atoms.

    .venv/bin/python benchmarks/growth.py [--bin build/dev/bin] [--rounds 3] [--updates 8] [--out FOLDER] [--json FILE]

Everything but one quantity stays; each point is the median over rounds of a round's median update (the slower rank's), and
the largest process's peak memory. The slope is that of a least-squares line through the logarithms: 1 is proportional, 0 is
no growth. --out writes a figure for each quantity.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from figure import line_chart

ROOT = pathlib.Path(__file__).resolve().parents[1]
WARM_UP = 2
BASE = {"data.train_sequences": 512, "data.validation_sequences": 16, "data.test_sequences": 16, "plan.stop_at": 0,
        "checkpoint.every": 0}
# name: (what is on the axis, [(its value, settings, processes)])
QUANTITIES = {
    "tokens": ("samples of an atom", [(n, {"plan.batch_size_per_rank": n}, 1) for n in (2, 4, 8, 16, 32)]),
    "length": ("longest sequence", [
        (n, {"model.positions": n, "data.shortest": n // 2 - 1, "data.split": n - n // 4, "data.longest": n,
             "plan.batch_size_per_rank": 2048 // n}, 1) for n in (64, 128, 256, 512, 1024)]),
    "width": ("width of the model", [
        (n, {"model.width": n, "model.feed_forward": 2 * n}, 1) for n in (64, 128, 256, 512)]),
    "processes": ("processes", [(n, {"plan.accumulation": 4}, n) for n in (1, 2, 4, 8)]),
    "atoms": ("atoms of a window, of 16 samples in all", [
        (2 * n, {"plan.accumulation": n, "plan.batch_size_per_rank": 8 // n}, 1) for n in (1, 2, 4, 8)]),
}


def run(program, settings, processes, updates):
    """-> (median seconds of an update, peak bytes of the largest process, supervised tokens of an update)"""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "train", "--config", ROOT / "configs/minimum.yaml", "--run", folder, "--nproc", processes, "--quiet"]
        for key, value in {**BASE, "plan.updates": updates, **settings}.items():
            command += ["--set", f"{key}={value}"]
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f"[benchmark] failed: {' '.join(map(str, command))}")
        lines = [json.loads(line) for line in pathlib.Path(folder, "outputs/metrics.jsonl").read_text().splitlines()]
    seconds = statistics.median(line["seconds"] for line in lines[WARM_UP:])
    return seconds, 1024 * usage.ru_maxrss, statistics.median(line["supervised_tokens"] for line in lines)


def slope(points):
    logs = [(math.log(x), math.log(y)) for x, y in points]
    x_mean, y_mean = (statistics.mean(values) for values in zip(*logs))
    return sum((x - x_mean) * (y - y_mean) for x, y in logs) / sum((x - x_mean) ** 2 for x, _ in logs)


def measure(name, arguments):
    axis, settings = QUANTITIES[name]
    points = []
    for value, options, processes in settings:
        runs = [run(arguments.bin / "samegrad", options, processes, arguments.updates) for _ in range(arguments.rounds)]
        points.append({"value": value, "seconds": statistics.median(r[0] for r in runs),
                       "peak_bytes": statistics.median(r[1] for r in runs), "tokens": runs[0][2]})
        print(f"{name} {value}: {1000 * points[-1]['seconds']:.1f} ms, {points[-1]['peak_bytes'] / 2**20:.0f} MiB", file=sys.stderr)
    return {"quantity": name, "axis": axis, "points": points,
            "time_slope": slope([(p["value"], p["seconds"]) for p in points]),
            "time_per_token_slope": slope([(p["value"], p["seconds"] / p["tokens"]) for p in points]),
            "memory_slope": slope([(p["value"], p["peak_bytes"]) for p in points])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/dev/bin", help="the folder of the programs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=8, help=f"of one run; the first {WARM_UP} are warm-up")
    parser.add_argument("--out", type=pathlib.Path, help="folder for the figures")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures here too")
    arguments = parser.parse_args()
    results = [measure(name, arguments) for name in QUANTITIES]
    print(f"{'with':12} {'time':>6} {'time a token':>13} {'memory':>7}   (slopes of logarithms)")
    for result in results:
        print(f"{result['quantity']:12} {result['time_slope']:6.2f} {result['time_per_token_slope']:13.2f} {result['memory_slope']:7.2f}")
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        for result in results:
            series = {"ms an update": [(p["value"], 1000 * p["seconds"]) for p in result["points"]],
                      "MiB at most": [(p["value"], p["peak_bytes"] / 2**20) for p in result["points"]]}
            chart = line_chart("An update's time and a process's memory", result["axis"], "milliseconds, MiB", series)
            (arguments.out / f"growth-{result['quantity']}.svg").write_text(chart)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
