"""Processes of a training are killed at every system call of its saves; whatever they leave, `--resume auto` ends with the bytes of the
run that nobody stopped, and nothing hidden stays in the run's folder.

    .venv/bin/python tests/campaigns/kill_at_syscalls.py [--bin build/dev/bin] [--seed 1] [--budget N] [--form NAME] [--json FILE]

strace kills the process of rank 0 as it enters the call: the calls before it took place, this one did not. A run without a kill
is recorded first; its calls on files below artifacts/, and on hidden ones below outputs/, are the places, and the one call after
the last. strace counts calls of each thread: with two processes, or another thread that saves, it cannot tell most of the calls of
a save from others, and the process ends itself at the fault points between them (samegrad/base/fault_point.h); without strace,
always. `--budget` tries so many places in each form, drawn by the seed, and in the run alone always those at which it looks whether
its folders can be written to; 0 tries all. Forms: the run alone, the run over an older one of the same names (exchange of folders),
two processes, and the asynchronous save; and two processes of which the other rank, or the launcher, is killed while rank 0 stands
at such a fault point, and then goes on. The broken variants resume without what must be put back, or leave what the kill has left;
at least one of the same kills must show it.
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

from random_kills import processes_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
CALLS = "openat,write,pwrite64,fsync,rename,renameat2,close,mkdir,unlink,rmdir"
ONLY_OF_RANK_0 = {"fsync", "rename", "renameat2", "unlink", "rmdir"}  # while it trains
SETTINGS = ["model.layers=1", "model.width=16", "model.heads=2", "model.feed_forward=16", "model.dropout=0.1",
            "optimizer.kind=adamw", "optimizer.learning_rate=1e-3", "plan.updates=3", "plan.stop_at=0",
            "plan.batch_size_per_rank=1", "data.train_sequences=32", "data.validation_sequences=2",
            "checkpoint.every=1", "checkpoint.keep=2"]
FORMS = {"alone": [], "over an older run": [], "two processes": ["--nproc", "2"],
         "asynchronous": ["--set", "checkpoint.async=true"],
         "other rank killed": ["--nproc", "2"], "launcher killed": ["--nproc", "2"]}
OTHERS = ("other rank killed", "launcher killed")
FILES = ["model.safetensors", "optimizer.safetensors", "state.json", "rank-0.json", "rank-1.json", "manifest.json"]
PHASES = ["begin", *[f"{what}-{file}" for file in FILES for what in ("making", "writing", "written", "synced")],
          "folder-synced", "placed", "parent-synced"]
FAULT_POINTS = [(f"save:{phase}", step) for step in (1, 2, 3) for phase in PHASES]
BROKEN_RESUMES = ["randomness-restarted", "data-order-restarted", "optimizer-state-not-restored"]
LEFTOVERS_STAY = "leftovers-stay"
PROBE = ".samegrad-probe"
CALL = re.compile(r"^(\d+) +(\w+)\((.*)$")
SAVED = re.compile(r"saved (\S+/step-(\d+))")


def samegrad(program, folder, *words, traced=(), **variables):
    sets = [word for setting in SETTINGS for word in ("--set", setting)]
    environment = {**os.environ, **variables}
    return subprocess.run([*traced, program, *words, "--run", folder, *sets], env=environment, capture_output=True,
                          text=True, timeout=120)


def ptrace_works():
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], capture_output=True).returncode == 0


def places(log):
    """(name, n): the n-th call of that name in a thread, for the calls on what lies below artifacts/, or is hidden below outputs/;
    and those of them that leave something of the look whether a folder can be written to."""
    counted = collections.Counter()
    found, of_probe = [], []
    for line in log.read_text().splitlines():
        call = CALL.match(line)
        if call is None:
            continue
        thread, name, rest = call.groups()
        counted[thread, name] += 1
        if "/artifacts" in rest or re.search(r"/outputs/([^\"<>]*/)?\.", rest):
            found.append((name, counted[thread, name]))
            of_probe += [found[-1]] * (PROBE in rest and name in ("rename", "unlink"))
    name, n = found[-1]
    return [*found, (name, n + 1)], of_probe


def hidden(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.name.startswith("."))


def is_stopped(pid):
    try:
        return ") T " in pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def signal_to(pid, number):
    try:
        os.kill(pid, number)
    except (TypeError, ProcessLookupError):  # it was not there, or is no more
        pass


class Campaign:
    def __init__(self, arguments, scratch):
        self.arguments = arguments
        self.scratch = scratch
        self.program = arguments.bin / "samegrad"
        self.traces = ptrace_works()
        self.counts = collections.Counter()
        self.failures = []
        self.variants = {name: 0 for name in [*BROKEN_RESUMES, LEFTOVERS_STAY]}
        self.older = scratch / "older"
        self.check(samegrad(self.program, self.older, "train", "--quiet", "--set", "seed=7"))
        reference = scratch / "reference"
        self.check(samegrad(self.program, reference, "train", "--quiet"))
        self.final = self.end_of(reference)

    @staticmethod
    def check(done):
        if done.returncode != 0:
            sys.exit(f"a run without a kill failed: {done.stderr}")

    @staticmethod
    def run_id(folder):
        run = folder / "outputs/run.json"
        return json.loads(run.read_text())["run_id"] if run.exists() else None

    @staticmethod
    def end_of(folder):
        """The last hash chain, and the bytes of the last checkpoint's model and optimizer."""
        last = json.loads((folder / "outputs/metrics.jsonl").read_text().splitlines()[-1])
        step = folder / f"artifacts/checkpoints/step-{last['update']:04d}"
        return last["hash_chain"], [(step / name).read_bytes() for name in ("model.safetensors", "optimizer.safetensors")]

    def fresh(self, form):
        folder = self.scratch / "run"
        shutil.rmtree(folder, ignore_errors=True)
        if form == "over an older run":
            shutil.copytree(self.older, folder)
        return folder

    def places(self, form):
        if form == "asynchronous" or form in OTHERS or not self.traces:
            return FAULT_POINTS, []
        log = self.scratch / "calls"
        self.check(samegrad(self.program, self.fresh(form), "train", *FORMS[form],
                            traced=["strace", "-f", "-y", "-qq", "-s", "0", "-e", f"trace={CALLS}", "-o", log]))
        every, of_probe = places(log)
        if form != "two processes":
            return every, of_probe if form == "alone" else []
        return [place for place in every if place[0] in ONLY_OF_RANK_0] + FAULT_POINTS, []

    def kill(self, form, name, n):
        """Returns the folder that a kill there leaves, and what was told as saved; none where it was not reached."""
        folder = self.fresh(form)
        if form in OTHERS:
            done = self.kill_another(form, folder, name, n)
        elif name.startswith("save:"):
            done = samegrad(self.arguments.bin / "faults/samegrad", folder, "train", *FORMS[form],
                            SAMEGRAD_FAULT=f"rank=0,step={n},kind=crash-in-save,phase={name}")
        else:
            done = samegrad(self.program, folder, "train", *FORMS[form],
                            traced=["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={name}", "-e",
                                    f"inject={name}:signal=KILL:when={n}"])
        if done.returncode == 0:
            return None
        if done.returncode not in (-signal.SIGKILL, 128 + signal.SIGKILL):
            self.failures.append(f"{form}, {name} {n}: ended with {done.returncode}: {done.stderr}")
        return folder, SAVED.findall(done.stderr)

    def kill_another(self, form, folder, name, n):
        """Stops rank 0 there, kills the other rank or the launcher, and lets rank 0 go on."""
        folder.mkdir()
        sets = [word for setting in SETTINGS for word in ("--set", setting)]
        words = [self.arguments.bin / "faults/samegrad", "train", *FORMS[form], "--run", folder, *sets]
        environment = {**os.environ, "SAMEGRAD_FAULT": f"rank=0,step={n},kind=hang,phase={name}"}
        with subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as started:
            ranks = {}
            while started.poll() is None and not (b"0" in ranks and is_stopped(ranks[b"0"])):
                ranks = {rank: pid for pid, rank in processes_of(folder) if rank is not None}
                time.sleep(0.002)
            for pid, sent in ((started.pid if form == "launcher killed" else ranks.get(b"1"), signal.SIGKILL),
                              (ranks.get(b"0"), signal.SIGCONT)):
                if started.poll() is None or sent == signal.SIGCONT:
                    signal_to(pid, sent)
            said = started.communicate(timeout=60)[1]
        while processes_of(folder):
            time.sleep(0.002)
        return subprocess.CompletedProcess(words, started.returncode, "", said)

    def try_place(self, form, name, n):
        killed = self.kill(form, name, n)
        what = f"{form}, {name} {n}"
        if killed is None:
            self.counts["not reached"] += 1
            return
        folder, told = killed
        self.counts["kills"] += 1
        self.counts[f"kills: {form}"] += 1
        if told:
            path = pathlib.Path(told[-1][0])
            if samegrad(self.program, folder, "checkpoints", path).returncode != 0:
                self.failures.append(f"{what}: {path} was told as saved, and is not whole")
            self.counts["saved ones told and verified"] += 1
        copy = self.scratch / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        # A run that has not begun is no current run: it starts again.
        resume = ["--resume", "auto"] if self.run_id(folder) != self.run_id(self.older) else []
        self.counts["started again"] += not resume
        done = samegrad(self.program, folder, "train", "--quiet", *resume, *FORMS[form])
        if done.returncode != 0:
            self.failures.append(f"{what}: the resume ended with {done.returncode}: {done.stderr}")
        elif self.end_of(folder) != self.final:
            self.failures.append(f"{what}: another end than without the kill")
        else:
            self.counts["same end"] += 1
        if left := hidden(folder):
            self.failures.append(f"{what}: left {left}")
        self.counts["kills that left something hidden"] += bool(hidden(copy))
        # Once a checkpoint is there, a resume that forgets something must end elsewhere.
        if resume and told and len(told) < 3:
            for mistake in BROKEN_RESUMES:
                self.try_broken(copy, mistake, resume, lambda again: self.end_of(again) != self.final)
        if hidden(copy):
            self.try_broken(copy, LEFTOVERS_STAY, resume, hidden)

    def try_broken(self, folder, mistake, resume, shows_it):
        if self.variants[mistake]:
            return
        again = self.scratch / "again"
        shutil.rmtree(again, ignore_errors=True)
        shutil.copytree(folder, again)
        self.check(samegrad(self.arguments.bin / "broken/samegrad", again, "train", "--quiet", *resume, SAMEGRAD_BROKEN=mistake))
        self.variants[mistake] += bool(shows_it(again))

    def run(self):
        for form in self.arguments.form or FORMS:
            every, of_probe = self.places(form)
            self.counts[f"places: {form}"] = len(every)
            budget = self.arguments.budget or len(every)
            chosen = every
            if budget < len(every):
                chosen = [*of_probe, *random.Random(self.arguments.seed).sample(every, budget)]
            self.counts["places at which a folder is tried"] += len(of_probe)
            for name, n in chosen:
                self.try_place(form, name, n)
                print(f"\r{form}: {self.counts['kills']} kills, {len(self.failures)} failures", end="", file=sys.stderr)
        print(file=sys.stderr)
        self.failures += [f"the broken variant '{name}' was not caught" for name, found in self.variants.items()
                          if not found]
        return {"campaign": "kill_at_syscalls", "seed": self.arguments.seed, "budget": self.arguments.budget,
                "by_system_call": self.traces, "numbers": dict(self.counts), "broken_variants": self.variants, "failures": len(self.failures),
                "first_failures": self.failures[:10]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/dev/bin")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=int, default=0)
    parser.add_argument("--form", action="append", choices=FORMS, help="only this one; may be repeated")
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
