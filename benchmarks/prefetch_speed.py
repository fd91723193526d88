"""What it gains to build the next window while this one computes (data.prefetch), on data in memory and on a cold disk.

    .venv/bin/python benchmarks/prefetch_speed.py [--bin build/release/bin] [--rounds 7] [--megabytes 200] [--json FILE]

The balanced lesson; text whose file was just read; text whose file's pages the system has dropped (posix_fadvise), so that
every sample comes from the disk. In each round, in turn, a training with data.prefetch 0 and one with 1; of each, the median
and the least of its updates. Figures: medians over the rounds, with least and largest, of milliseconds an update. Both must
end with the same parameters.
"""

import argparse
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

from data_speed import ROOT, write_file

WARM_UP = 5  # updates that are left out: the first ones get their memory
LESSON = ["plan.updates=60", "plan.stop_at=0", "plan.balance=lpt"]
TEXT = ["plan.epochs=0", "plan.updates=60", "plan.stop_at=0"]


def drop_pages(path):
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def updates(arguments, folder, config, settings, processes, prefetch):
    command = [arguments.bin / "samegrad", "train", "--quiet", "--config", ROOT / "configs" / config, "--run", folder,
               "--nproc", processes]
    command += [word for setting in [*settings, f"data.prefetch={prefetch}"] for word in ("--set", setting)]
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
    lines = [json.loads(line) for line in (folder / "outputs/metrics.jsonl").open()]
    times = [1e3 * line["seconds"] for line in lines if line["update"] > WARM_UP]
    digest = hashlib.sha256((folder / "outputs/final-continuous.safetensors").read_bytes()).hexdigest()
    return {"median": statistics.median(times), "least": min(times)}, digest


def compare(arguments, folder, config, settings, processes, cold=None):
    rounds = []
    digests = set()
    updates(arguments, folder, config, settings, processes, 0)  # prepares
    for number in range(arguments.rounds):
        found = {}
        for prefetch in ((0, 1), (1, 0))[number % 2]:
            if cold:
                drop_pages(cold)
            found[prefetch], digest = updates(arguments, folder, config, settings, processes, prefetch)
            digests.add(digest)
        rounds.append(found)
    assert len(digests) == 1, "a window built ahead changed bits"
    result = {}
    for prefetch in (0, 1):
        for kind in ("median", "least"):
            values = [found[prefetch][kind] for found in rounds]
            result[f"{kind}_{prefetch}"] = [statistics.median(values), min(values), max(values)]
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory(prefix="samegrad-prefetch-", dir=ROOT / "build") as place:
        data = pathlib.Path(place) / "text.jsonl"
        write_file(data, "long", arguments.megabytes)
        text = [*TEXT, f"data.train={data}"]
        for processes in (1, 2):
            for name, config, settings, cold in [("lesson", "minimum.yaml", LESSON, None), ("text, warm", "text.yaml", text, None),
                                                 ("text, cold", "text.yaml", text, data)]:
                folder = pathlib.Path(place) / f"{name}-{processes}"
                found = compare(arguments, folder, config, settings, processes, cold)
                results[f"{name}, {processes}"] = found
                print(f"{name}, {processes} processes: " + "; ".join(
                    f"{key.replace('_', ' of updates, prefetch ')} {middle:.2f} ms ({least:.2f} to {most:.2f})"
                    for key, (middle, least, most) in found.items()), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
