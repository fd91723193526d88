"""A small text run in a folder of its own, and what it left."""

import json
import os
import pathlib
import re
import subprocess

SAMEGRAD = pathlib.Path(os.environ["SAMEGRAD_BIN"]) / "samegrad"
CONFIG = pathlib.Path(os.environ["SAMEGRAD_SOURCE"]) / "configs/text.yaml"
LN_256 = 5.545177444479562
# The cases say which sample is in which microbatch, so samples stay where they were drawn for.
SMALL = {"plan.balance": "none", "model.width": 32, "model.layers": 1, "model.heads": 2, "model.feed_forward": 64,
         "model.positions": 128, "schedule.kind": "constant", "schedule.warmup_updates": 0}


def load_tensors(path):
    from safetensors.torch import load_file  # 2 s: only where it is needed
    return load_file(path)


class Run:
    def __init__(self, folder, done):
        self.folder, self.exit_code, self.output, self.errors = folder, done.returncode, done.stdout, done.stderr

    def metrics(self):
        return [json.loads(line) for line in (self.folder / "outputs/metrics.jsonl").open()]

    def chain(self):
        """update -> its hash chain."""
        return {line["update"]: line["hash_chain"] for line in self.metrics()}

    def windows(self):
        """update -> the atoms of its window in their order, whichever rank had them; needs --trace-ids."""
        found = {}
        for update, atoms in re.findall(r"^update (\d+) rank \d+: (.*)$", self.output, re.MULTILINE):
            found.setdefault(int(update), []).extend(json.loads(atoms))
        return found

    def gradient(self, update):
        return load_tensors(self.folder / f"dump/gradients-{update:04d}.safetensors")

    def checkpoints(self):
        return sorted(path.name for path in self.folder.glob("artifacts/checkpoints/*"))

    def final(self):
        return load_tensors(next(self.folder.glob("outputs/final-*.safetensors")))

    def final_bytes(self, kind):
        """The same tensors have the same bytes."""
        return (self.folder / f"outputs/final-{kind}.safetensors").read_bytes()


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def train(folder, data, *, ranks=1, virtual_ranks=1, accumulation=1, batch=1, words=(), dump=True, **settings):
    """`settings` are config keys with __ for the dot. Returns the run, whatever its exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    keys = {**SMALL, "plan.virtual_ranks": virtual_ranks, "plan.accumulation": accumulation,
            "plan.batch_size_per_rank": batch, "plan.epochs": 1, "data.train": data,
            **{key.replace("__", "."): value for key, value in settings.items()}}
    arguments = [SAMEGRAD, "train", "--config", CONFIG, "--nproc", ranks, "--trace-ids",
                 *(["--dump-gradients", "dump"] if dump else []), *words]
    for key, value in keys.items():
        arguments += ["--set", f"{key}={value}"]
    done = subprocess.run([str(word) for word in arguments], cwd=folder, capture_output=True, text=True, timeout=120)
    return Run(folder, done)


def trained(*arguments, **options):
    run = train(*arguments, **options)
    assert run.exit_code == 0, run.errors
    return run


def assert_equal(ours, theirs, ratio=1.0):
    """The lesson's tolerance on every component."""
    assert set(ours) == set(theirs)
    for name, reference in theirs.items():
        reference = reference * ratio
        assert ((ours[name] - reference).abs() <= 1e-6 + 1e-4 * reference.abs()).all(), name


def assert_identical(ours, theirs):
    assert set(ours) == set(theirs)
    assert all((ours[name] == theirs[name]).all() for name in theirs)
