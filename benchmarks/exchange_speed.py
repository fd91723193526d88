"""The exchange of gradients over shared memory beside Gloo's and Open MPI's all-reduce, and beside a copy.

    .venv/bin/python benchmarks/exchange_speed.py [--bin build/dev/bin] [--ranks 2,3,4] [--rounds 7] [--json FILE]

benchmarks/exchange_speed.cpp runs all sides in the same processes, in turns, on buffers that are rewritten before each
exchange, and compares the sums first. A side's time is the slowest rank's, a round's figure the mean of its batch.
Ratios are medians over rounds of the ratio in one round, with the least and the largest. Open MPI takes part where the
programs were built with it (Debian: openmpi-bin, libopenmpi-dev); --sides chooses.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]


def has_open_mpi(program):
    """Whether mpirun is there, and the program was built with its library."""
    linked = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    return shutil.which("mpirun") is not None and "libmpi" in linked


def measured(arguments, ranks, folder):
    path = folder / f"{ranks}.json"
    command = [arguments.bin / "exchange_speed", ranks, arguments.rounds, arguments.largest_bytes, arguments.sides, path]
    subprocess.run([str(word) for word in command], check=True, stdout=sys.stderr)
    return json.loads(path.read_text())


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def figures(size):
    """-> of one size: seconds by side, and how many times longer each takes than shm."""
    seconds = size["seconds"]
    return {
        "bytes": size["bytes"],
        "rounds": len(seconds["shm"]),
        "seconds": {side: spread(values) for side, values in seconds.items()},
        "times_shm": {
            side: spread([theirs / ours for theirs, ours in zip(values, seconds["shm"])])
            for side, values in seconds.items()
            if side != "shm"
        },
    }


def show(ranks, sizes):
    others = list(sizes[0]["times_shm"])
    print(f"| {ranks} processes: bytes | shm, us | " + " | ".join(others) + " |")
    print("|---|---|" + "---|" * len(others))
    for size in sizes:
        own = size["seconds"]["shm"]
        row = [f"{size['bytes']:,}", f"{1e6 * own['median']:.1f} ({1e6 * own['min']:.1f} to {1e6 * own['max']:.1f})"]
        for side in others:
            times = size["times_shm"][side]
            row.append(f"{times['median']:.2f} x ({times['min']:.2f} to {times['max']:.2f})")
        print("| " + " | ".join(row) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/dev/bin", help="folder of the programs")
    parser.add_argument("--ranks", default="2", help="numbers of processes, with commas")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--largest-bytes", type=int, default=1 << 28)
    parser.add_argument("--sides", help="of shm (always), shm-messages, gloo, openmpi, copy; default: all that are there")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures here too")
    arguments = parser.parse_args()
    mpi = ",openmpi" if has_open_mpi(arguments.bin / "exchange_speed") else ""
    arguments.sides = arguments.sides or f"shm,shm-messages,gloo{mpi},copy"
    result = {}
    with tempfile.TemporaryDirectory() as folder:
        for ranks in arguments.ranks.split(","):
            result[ranks] = [figures(size) for size in measured(arguments, ranks, pathlib.Path(folder))["sizes"]]
            show(ranks, result[ranks])
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
