"""What `samegrad simulate` predicts beside what a run takes here, for one process up to one a core.

    .venv/bin/python benchmarks/simulated_time.py [--bin build/dev/bin] [--rounds 7] [--json FILE]

Each round trains the lesson by 1, 2, ... processes, in turn. The speed of a rank is the one of the same round's run of one
process: the operations of its windows over its compute time, so the first row shows only what the model leaves out of
an update; the memory's speed is that of a copy here. Links are simulate's defaults. Figures are medians over rounds, with the
least and the largest. Bytes and gradient buffers must be equal, or nothing is shown.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
WARM_UP = 3


def samegrad(arguments, *words):
    command = [arguments.bin / "samegrad", *words, "--config", ROOT / "configs/minimum.yaml", "--set", "plan.stop_at=0", "--set",
               f"plan.updates={arguments.updates}"]
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE).stdout


def simulated(arguments, folder, world_sizes, flops, memory_bandwidth):
    words = ["--run", folder, "--json", "--world-sizes", ",".join(map(str, world_sizes))]
    words += ["--flops", flops, "--memory-bandwidth", memory_bandwidth]
    return json.loads(samegrad(arguments, "simulate", *words))["rows"]


def trained(arguments, folder, processes):
    """-> the metrics of a run, without the first updates"""
    (folder / "outputs/metrics.jsonl").unlink(missing_ok=True)
    samegrad(arguments, "train", "--run", folder, "--quiet", "--nproc", processes)
    return [json.loads(line) for line in (folder / "outputs/metrics.jsonl").read_text().splitlines()][WARM_UP:]


def copy_bandwidth():
    """Bytes read and written a second, at the best of several copies of 64 MiB."""
    source, target = bytearray(1 << 26), bytearray(1 << 26)
    best = 1e9
    for _ in range(5):
        start = time.perf_counter()
        target[:] = source
        best = min(best, time.perf_counter() - start)
    return 2 * len(source) / best


def measured_round(arguments, folder, world_sizes):
    """-> [(measured seconds of an update, predicted ones)] by number of processes"""
    lines = {processes: trained(arguments, folder, processes) for processes in world_sizes}
    operations = simulated(arguments, folder, [1], 1, 1e30)[0]["canonical"]["seconds"]["compute"]
    compute = statistics.fmean(line["ranks"][0]["compute_seconds"] for line in lines[1])
    rows = simulated(arguments, folder, world_sizes, operations / compute, copy_bandwidth())
    pairs = []
    for processes, row in zip(world_sizes, rows):
        shares = [share for line in lines[processes] for share in line["ranks"]]
        real = ({share["bytes_sent"] for share in shares}, max(share["gradient_buffers"] for share in shares))
        if real != ({row["canonical"]["bytes_sent"]}, row["gradient_buffers"]):
            sys.exit(f"[benchmark] {processes} processes: bytes and buffers are {real}, simulate says {row}; nothing is shown")
        pairs.append((statistics.fmean(line["seconds"] for line in lines[processes]), row["canonical"]["seconds"]["update"]))
    return pairs


def spread(values, form):
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/dev/bin")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--updates", type=int, default=30)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    world_sizes = list(range(1, min(8, len(os.sched_getaffinity(0))) + 1))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        samegrad(arguments, "prepare", "--run", folder)
        rounds = [measured_round(arguments, folder, world_sizes) for _ in range(arguments.rounds)]
    figures = []
    for index, processes in enumerate(world_sizes):
        measured, predicted = ([pairs[index][side] for pairs in rounds] for side in (0, 1))
        ratios = [said / real for real, said in zip(measured, predicted)]
        figures.append({"processes": processes, "measured": measured, "predicted": predicted, "ratio": ratios})
        print(f"{processes} processes: measured {spread([1e3 * value for value in measured], '.1f')} ms, predicted "
              f"{spread([1e3 * value for value in predicted], '.1f')} ms, predicted / measured {spread(ratios, '.2f')}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"updates": arguments.updates, "world_sizes": figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
