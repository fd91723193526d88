"""How an update's time and a process's memory grow: with tokens, sequence length, parameters, processes and atoms.

    .venv/bin/python benchmarks/growth.py [--bin build/dev/bin] [--rounds 3] [--updates 8] [--json FILE]

Everything but one quantity stays; the points of a quantity take turns in every round. Each is the median over rounds of a
round's median update (the slower rank's), and the largest process's peak memory. The slope is that of a least-squares line
through the logarithms: 1 is proportional, 0 is no growth.
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

ROOT = pathlib.Path(__file__).resolve().parents[1]
WARM_UP = 2
BASE = {"data.train_sequences": 512, "data.validation_sequences": 16, "data.test_sequences": 16, "plan.stop_at": 0,
        "checkpoint.every": 0}
# name: (what is on the axis, [(its value, settings, processes)]); of tokens and parameters the value is what a run has.
QUANTITIES = {
    "tokens": ("supervised tokens of an update", [(n, {"plan.batch_size_per_rank": n}, 1) for n in (2, 4, 8, 16, 32)]),
    "length": ("longest sequence", [
        (n, {"model.positions": n, "data.shortest": n // 2 - 1, "data.split": n - n // 4, "data.longest": n,
             "plan.batch_size_per_rank": 2048 // n}, 1) for n in (64, 128, 256, 512, 1024)]),
    "parameters": ("parameters", [
        (n, {"model.width": n, "model.feed_forward": 2 * n}, 1) for n in (64, 128, 256, 512)]),
    "processes": ("processes", [(n, {"plan.accumulation": 4}, n) for n in (1, 2, 4, 8)]),
    "atoms": ("atoms of a window, of 16 samples in all", [
        (2 * n, {"plan.accumulation": n, "plan.batch_size_per_rank": 8 // n}, 1) for n in (1, 2, 4, 8)]),
}


def run(program, settings, processes, updates):
    """-> of an update the median seconds and supervised tokens; peak bytes of the largest process; parameters"""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "train", "--config", ROOT / "configs/minimum.yaml", "--run", folder, "--nproc", processes, "--quiet"]
        for key, value in {**BASE, "plan.updates": updates, **settings}.items():
            command += ["--set", f"{key}={value}"]
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f"[benchmark] failed: {' '.join(map(str, command))}")
        lines = [json.loads(line) for line in pathlib.Path(folder, "outputs/metrics.jsonl").read_text().splitlines()]
        with open(f"{folder}/outputs/init.safetensors", "rb") as file:
            tensors = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return {"seconds": statistics.median(line["seconds"] for line in lines[WARM_UP:]), "peak_bytes": 1024 * usage.ru_maxrss,
            "tokens": statistics.median(line["supervised_tokens"] for line in lines),
            "parameters": sum(math.prod(one["shape"]) for name, one in tensors.items() if name != "__metadata__")}


def slope(points):
    logs = [(math.log(x), math.log(y)) for x, y in points]
    x_mean, y_mean = (statistics.mean(values) for values in zip(*logs))
    return sum((x - x_mean) * (y - y_mean) for x, y in logs) / sum((x - x_mean) ** 2 for x, _ in logs)


def measure(name, arguments):
    axis, settings = QUANTITIES[name]
    rounds = [[run(arguments.bin / "samegrad", options, processes, arguments.updates) for _, options, processes in settings]
              for _ in range(arguments.rounds)]
    points = []
    for (value, _, _), runs in zip(settings, zip(*rounds)):
        point = {key: statistics.median(one[key] for one in runs) for key in runs[0]}
        points.append({"value": point.get(name, value), **point})
        print(f"{name} {value}: {1000 * point['seconds']:.1f} ms, {point['peak_bytes'] / 2**20:.0f} MiB", file=sys.stderr)
    return {"quantity": name, "axis": axis, "rounds": arguments.rounds, "points": points,
            "time_slope": slope([(p["value"], p["seconds"]) for p in points]),
            "time_per_token_slope": slope([(p["value"], p["seconds"] / p["tokens"]) for p in points]),
            "memory_slope": slope([(p["value"], p["peak_bytes"]) for p in points])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/dev/bin", help="the folder of the programs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=8, help=f"of one run; the first {WARM_UP} are warm-up")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures here too")
    arguments = parser.parse_args()
    results = [measure(name, arguments) for name in QUANTITIES]
    print(f"{'with':12} {'time':>6} {'time a token':>13} {'memory':>7}   (slopes of logarithms)")
    for result in results:
        print(f"{result['quantity']:12} {result['time_slope']:6.2f} {result['time_per_token_slope']:13.2f} {result['memory_slope']:7.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
