"""How fast a user's .jsonl file is read: indexed at the first start, and found untouched at the second.

    .venv/bin/python benchmarks/data_speed.py [--bin build/dev/bin] [--megabytes 500] [--rounds 5] [--json FILE]

Files of four kinds of lines are written first: long texts, short texts, chats and lists of ids. Per round and file, in turn:
`samegrad prepare` in an empty folder (the file is read, parsed, counted, hashed and indexed), with all cores that this process
may use and with one of them; `prepare` again (read and hashed); a whole `train` of one update of a tiny model (the file is known
and not read again). Peers, single-threaded: Python's json.loads of every line, and what any reader that keeps a digest must do, a
plain sequential read with SHA-256 (OpenSSL).
Every figure is megabytes (10^6 bytes) of the file a second, median over rounds with least and largest, then by processor
time, which says what a quiet machine would show. At the end, on the file of long texts: what a window's samples cost the thread
that trains, read by itself and by a thread ahead of it (window_ahead_speed,
with one core).
"""

import argparse
import hashlib
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
TARGET = 150.0
TINY = ["plan.epochs=0", "plan.updates=1", "model.layers=1", "model.width=16", "model.heads=2", "model.feed_forward=16"]


def line_of(kind, words, rng):
    text = " ".join(rng.choice(words) for _ in range(rng.randint(60, 200) if kind == "long" else rng.randint(2, 8)))
    if kind in ("long", "short"):
        return {"text": text + ' "é"\n'}
    if kind == "chat":
        return {"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": text * 3}]}
    return {"input_ids": [rng.randrange(256) for _ in range(400)]}


def write_file(path, kind, megabytes):
    rng = random.Random(1)
    words = ["".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(2, 9))) for _ in range(2000)]
    lines = [json.dumps(line_of(kind, words, rng), ensure_ascii=index % 2 == 0) for index in range(4000)]
    block = ("\n".join(lines) + "\n").encode()
    with path.open("wb") as file:
        while file.tell() < megabytes * 1e6:
            file.write(block)
    return path.stat().st_size


def samegrad(arguments, name, data, run, cores=None):
    command = [arguments.bin / "samegrad", name, "--quiet", "--config", ROOT / "configs/text.yaml", "--run", run]
    command += [word for setting in [*TINY, f"data.train={data}"] for word in ("--set", setting)]
    subprocess.run([str(word) for word in command], check=True, stderr=subprocess.DEVNULL,
                   preexec_fn=cores and (lambda: os.sched_setaffinity(0, cores)))


def python_json(data):
    with data.open(encoding="utf-8") as lines:
        for line in lines:
            json.loads(line)


def plain_hash(data):
    digest = hashlib.sha256()
    with data.open("rb", buffering=0) as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)


def seconds(action):
    """-> (elapsed, of the processor)"""
    start, times = time.perf_counter(), os.times()
    action()
    used = [after - before for after, before in zip(os.times()[:4], times[:4])]
    return time.perf_counter() - start, sum(used)


def measured(arguments, data, size, folder):
    """-> {side: [(MB/s, MB/s of processor time) of each round]}"""
    time.sleep(2.5)  # a younger file would not be known at the next start
    rates, one = {}, {max(os.sched_getaffinity(0))}
    for number in range(arguments.rounds):
        run, run_of_one = folder / f"run-{number}", folder / f"run-{number}-one"
        sides = {"first start": lambda: samegrad(arguments, "prepare", data, run),
                 "first, one core": lambda: samegrad(arguments, "prepare", data, run_of_one, one),
                 "digest checked": lambda: samegrad(arguments, "prepare", data, run),
                 "known, train": lambda: samegrad(arguments, "train", data, run),
                 "json.loads": lambda: python_json(data), "read + SHA-256": lambda: plain_hash(data)}
        for side, action in sides.items():
            if side != "json.loads" or number == 0:  # slow, and steady
                rates.setdefault(side, []).append([size / 1e6 / max(1e-3, value) for value in seconds(action)])
    return rates


def window_ahead(arguments, data, folder):
    """-> {"warm" | "cold": {"itself_ms" | "ahead_ms": {"least", "median"}}}"""
    figures = folder / "window_ahead.json"
    command = [arguments.bin / "window_ahead_speed", data, folder / "run-0/outputs/data/index-train.bin", figures]
    subprocess.run([str(word) for word in command], check=True,
                   preexec_fn=lambda: os.sched_setaffinity(0, {max(os.sched_getaffinity(0))}))
    return json.loads(figures.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/dev/bin")
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kinds", default="long,short,chat,ids")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    figures, ahead = {}, None
    for kind in arguments.kinds.split(","):
        with tempfile.TemporaryDirectory() as name:
            data = pathlib.Path(name, "data.jsonl")
            size = write_file(data, kind, arguments.megabytes)
            figures[kind] = measured(arguments, data, size, pathlib.Path(name))
            if kind == "long":
                ahead = window_ahead(arguments, data, pathlib.Path(name))
        for side, rates in figures[kind].items():
            elapsed, processor = zip(*rates)
            print(f"{kind:6} {side:16} {statistics.median(elapsed):6.0f} MB/s ({min(elapsed):.0f} to {max(elapsed):.0f}), of "
                  f"processor time {statistics.median(processor):.0f}", flush=True)
    slow = [kind for kind, sides in figures.items() if statistics.median(pair[0] for pair in sides["first start"]) < TARGET]
    print(f"below {TARGET:.0f} MB/s at the first start: {', '.join(slow) or 'none'}")
    if arguments.json:
        result = {"megabytes": arguments.megabytes, "rates": figures, "window_ahead": ahead}
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
