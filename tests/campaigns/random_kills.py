"""SIGKILL at random times for rank 0, another rank, the launcher or all processes of a training, again and again, also while
it resumes; each time it goes on by the same command, `--resume auto`, with another number of processes.

    .venv/bin/python tests/campaigns/random_kills.py [--bin build/dev/bin] [--seed 1] [--budget KILLS] [--json FILE]

A life is one training from its start to its end, through all of its kills. It must end with the hash chain and the bytes of
the run that nobody stopped (no divergence), and after each kill a checkpoint that was told as saved, or a newer one, must be
there and whole (none lost). The broken variants forget at each resume what must be put back; a life of each must show it.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SETTINGS = ["model.layers=1", "model.width=16", "model.heads=2", "model.feed_forward=16", "model.dropout=0.1",
            "optimizer.kind=adamw", "optimizer.learning_rate=1e-3", "plan.updates=40", "plan.stop_at=0",
            "plan.batch_size_per_rank=1", "data.train_sequences=32", "data.validation_sequences=2",
            "checkpoint.every=1", "checkpoint.keep=3"]
TARGETS = ["rank 0", "another rank", "launcher", "all"]
BROKEN_RESUMES = ["randomness-restarted", "data-order-restarted", "optimizer-state-not-restored"]
SAVED = re.compile(r"saved \S+/step-(\d+)")


def environment_of(process):
    return dict(word.split(b"=", 1) for word in (process / "environ").read_bytes().split(b"\0") if b"=" in word)


def processes_of(folder):
    """(pid, rank or None) of every process whose command names the folder."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            if str(folder).encode() in (process / "cmdline").read_bytes().split(b"\0"):
                found.append((int(process.name), environment_of(process).get(b"RANK")))
        except OSError:
            continue
    return found


class Campaign:
    def __init__(self, arguments, scratch):
        self.arguments = arguments
        self.scratch = scratch
        self.random = random.Random(arguments.seed)
        self.counts = collections.Counter()
        self.failures = []
        began = time.monotonic()
        done = self.start(scratch / "reference", 1, [])
        if done.wait(timeout=120) != 0:
            sys.exit(f"a run without a kill failed: {self.said(scratch / 'reference')}")
        self.seconds = time.monotonic() - began
        self.final = self.end_of(scratch / "reference")

    def start(self, folder, ranks, words, program="samegrad", **variables):
        folder.mkdir(exist_ok=True)
        sets = [word for setting in SETTINGS for word in ("--set", setting)]
        command = [self.arguments.bin / program, "train", "--resume", "auto", "--nproc", str(ranks), "--run", folder, *sets,
                   *words]
        with (folder / "said").open("wb") as said:
            return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said, env={**os.environ, **variables})

    @staticmethod
    def said(folder):
        return (folder / "said").read_text(errors="replace")

    @staticmethod
    def end_of(folder):
        last = json.loads((folder / "outputs/metrics.jsonl").read_text().splitlines()[-1])
        step = folder / f"artifacts/checkpoints/step-{last['update']:04d}"
        return last["hash_chain"], [(step / name).read_bytes() for name in ("model.safetensors", "optimizer.safetensors")]

    def victims(self, folder, launcher, target):
        found = processes_of(folder)
        ranks = [pid for pid, rank in found if rank is not None and (rank == b"0") == (target == "rank 0")]
        if target == "launcher":
            return [launcher]
        return [pid for pid, _ in found] if target == "all" else ranks[:1]

    def kill(self, folder, started, target):
        """Whether a process was there to be killed."""
        victims = self.victims(folder, started.pid, target)
        for pid in victims:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return bool(victims)

    def wait_for_the_end(self, folder, started, what):
        try:
            started.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.failures.append(f"{what}: it did not end")
            started.kill()
        deadline = time.monotonic() + 5
        while processes_of(folder):
            if time.monotonic() > deadline:
                self.failures.append(f"{what}: processes are left: {processes_of(folder)}")
                return
            time.sleep(0.005)

    def check_checkpoints(self, folder, acknowledged, what):
        listed = subprocess.run([self.arguments.bin / "samegrad", "checkpoints", "--json", "--run", folder],
                                capture_output=True, text=True)
        if listed.returncode == 2 and acknowledged == 0:
            return  # nothing to list yet
        complete = [one["update"] for one in json.loads(listed.stdout)["checkpoints"] if one["complete"]]
        if listed.returncode != 0 or max(complete, default=0) < acknowledged:
            self.failures.append(f"{what}: told as saved: {acknowledged}, whole: {complete}; {listed.stderr}")

    def life(self, words, program="samegrad", most_kills=1_000_000, **variables):
        """Trains to the end through kills; returns that end, nothing where something failed."""
        folder = self.scratch / "run"
        shutil.rmtree(folder, ignore_errors=True)
        acknowledged = kills = attempt = 0
        while True:
            attempt += 1
            ranks = self.random.choice([1, 2, 2, 3])
            target = self.random.choice(TARGETS)
            what = f"life {self.counts['lives']}, attempt {attempt}, {ranks} ranks, {target}"
            spared = kills >= most_kills or self.counts["kills"] >= self.arguments.budget
            delay = self.random.uniform(0, self.seconds)
            started = self.start(folder, ranks, words, program, **variables)
            try:
                code = started.wait(timeout=120 if spared else delay)
            except subprocess.TimeoutExpired:
                code = None
                if self.kill(folder, started, target):
                    kills += 1
                    self.counts["kills"] += 1
                    self.counts[f"kills: {target}"] += 1
            self.wait_for_the_end(folder, started, what)
            acknowledged = max([acknowledged, *map(int, SAVED.findall(self.said(folder)))])
            self.check_checkpoints(folder, acknowledged, what)
            if code == 0 or (started.returncode == 0 and code is None):
                return self.end_of(folder)
            if spared or code is not None:
                self.failures.append(f"{what}: ended with {started.returncode}: {self.said(folder)[-500:]}")
                return None

    def run(self):
        while self.counts["kills"] < self.arguments.budget and len(self.failures) < 10:
            self.counts["lives"] += 1
            words = ["--set", "checkpoint.async=true"] if self.random.random() < 0.3 else []
            words += ["--backend", "gloo"] if self.random.random() < 0.2 else []
            end = self.life(words)
            if end is not None and end != self.final:
                self.failures.append(f"life {self.counts['lives']}: another end than without kills")
            print(f"\r{self.counts['kills']} kills, {self.counts['lives']} lives, {len(self.failures)} failures", end="",
                  file=sys.stderr)
        print(file=sys.stderr)
        numbers, failures = dict(self.counts), list(self.failures)
        variants = {}
        self.arguments.budget += 1_000
        for mistake in BROKEN_RESUMES:
            for _ in range(10):
                end = self.life([], "broken/samegrad", most_kills=3, SAMEGRAD_BROKEN=mistake)
                variants[mistake] = end is not None and end != self.final
                if variants[mistake]:
                    break
        failures += [f"the broken variant '{name}' was not caught" for name, caught in variants.items() if not caught]
        return {"campaign": "random_kills", "seed": self.arguments.seed, "numbers": numbers, "broken_variants": variants,
                "failures": len(failures), "first_failures": failures[:10]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/dev/bin")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=int, default=1000, help="kills")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        result = Campaign(arguments, pathlib.Path(scratch)).run()
    text = json.dumps(result, indent=2)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + "\n")
    return 1 if result["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
