"""What an optimizer step costs, beside PyTorch's and beside its limit, on one thread.

    .venv/bin/python benchmarks/optimizer_speed.py [--bin build/dev/bin] [--rounds 7] [--json FILE]

Parameters of 0.28, 3.2 and 25.3 million elements as one flat tensor, which is PyTorch's best case too. Both sides start
from the same numbers; after three AdamW steps the parameters are compared before anything is timed. The sides take turns;
a round's figure is the least of its repetitions. `whole` is all that a training does with a gradient: norm, non-finite
test, clipping, step, hash of gradient and parameters; its peer is clip_grad_norm_ and the fused step, without hashes.
`streams` is the limit: the four arrays of an AdamW step read, three of them written, with one addition each. Bandwidths
count 28 bytes an element of a step, and 8 of a copy.
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

os.environ.update({"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})
import numpy  # noqa: E402
import torch  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
SIZES = {282_628: 50, 3_194_372: 10, 25_289_732: 3}  # elements: repetitions a round
STEP_BYTES = 28
COPY_BYTES = 8
# As tests/oracle has for parameters after AdamW steps, whose size the rate bounds.
LARGEST_DIFFERENCE = 1e-6


class Ours:
    def __init__(self, program, elements):
        self.process = subprocess.Popen([program, str(elements)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def least_seconds(self, command, argument):
        self.process.stdin.write(f"{command} {argument}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def values(self, elements):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "values")
            self.least_seconds("values", path)
            return numpy.fromfile(path, dtype=numpy.float32, count=elements)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def scattered(elements, factor, scale):
    numbers = numpy.arange(1, elements + 1, dtype=numpy.uint64) * numpy.uint64(factor) % numpy.uint64(2**32)
    return torch.from_numpy(((numbers / 4294967296.0 - 0.5) * scale).astype(numpy.float32))


class Torch:
    """One parameter; `clips`: with clip_grad_norm_, to half the norm that the gradient has."""

    def __init__(self, elements, optimizer, clips=False):
        self.parameter = scattered(elements, 2654435761, 1.0).requires_grad_()
        self.gradient = scattered(elements, 2246822519, 1e-2)
        self.parameter.grad = self.gradient.clone()
        self.optimizer = optimizer([self.parameter])
        self.limit = 0.5 * float(self.gradient.norm()) if clips else None

    def step(self):
        if self.limit is not None:
            torch.nn.utils.clip_grad_norm_([self.parameter], self.limit)
        self.optimizer.step()

    def least_seconds(self, repetitions):
        least = float("inf")
        for _ in range(repetitions):
            if self.limit is not None:
                self.parameter.grad.copy_(self.gradient)
            start = time.perf_counter()
            self.step()
            least = min(least, time.perf_counter() - start)
        return least


def adamw(**options):
    return lambda parameters: torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.01, **options)


def sgd(momentum):
    return lambda parameters: torch.optim.SGD(parameters, lr=1e-3, weight_decay=0.01, momentum=momentum, fused=True)


PEERS = {
    "adamw": {"fused": (adamw(fused=True), False), "default": (adamw(), False)},
    "whole": {"clip and fused": (adamw(fused=True), True)},
    "sgd": {"fused": (sgd(0.0), False)},
    "momentum": {"fused": (sgd(0.9), False)},
}


def compare(ours, elements):
    theirs = Torch(elements, adamw(fused=True))
    ours.least_seconds("adamw", 3)
    for _ in range(3):
        theirs.step()
    difference = numpy.abs(ours.values(elements) - theirs.parameter.detach().numpy()).max()
    moved = numpy.abs(ours.values(elements) - scattered(elements, 2654435761, 1.0).numpy()).max()
    if difference > LARGEST_DIFFERENCE or moved < 1e-3:
        sys.exit(f"[benchmark] {elements} parameters differ by {difference} after steps of {moved}; nothing is shown")
    return float(difference)


def measured(program, elements, repetitions, rounds):
    ours = Ours(program, elements)
    difference = compare(ours, elements)
    seconds = {}
    for kind, peers in PEERS.items():
        sides = {name: Torch(elements, optimizer, clips) for name, (optimizer, clips) in peers.items()}
        for _ in range(rounds):
            seconds.setdefault(kind, []).append(ours.least_seconds(kind, repetitions))
            for name, side in sides.items():
                seconds.setdefault(f"torch, {name} {kind}", []).append(side.least_seconds(repetitions))
            for limit in ("streams", "copy") if kind == "adamw" else ():
                seconds.setdefault(limit, []).append(ours.least_seconds(limit, repetitions))
    ours.end()
    return {"elements": elements, "largest_difference": difference, "seconds": seconds, **summary(seconds, elements)}


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def summary(seconds, elements):
    def ratio(of, to):
        return spread([theirs / mine for theirs, mine in zip(seconds[of], seconds[to])])

    faster = {f"{name} / {kind}": ratio(name, kind) for kind in PEERS for name in seconds if name.endswith(f" {kind}")}
    rates = {"adamw": STEP_BYTES, "streams": STEP_BYTES, "copy": COPY_BYTES}
    return {
        "times_as_fast": faster,
        "share_of_limit": ratio("streams", "adamw"),
        "gigabytes_a_second": {side: spread([size * elements / one / 1e9 for one in seconds[side]]) for side, size in rates.items()},
    }


def shown(one, digits):
    return f"{one['median']:.{digits}f} ({one['min']:.{digits}f} to {one['max']:.{digits}f})"


def show(result):
    print(f"{result['elements']:,} parameters; largest difference {result['largest_difference']:.1e}")
    for side, values in result["seconds"].items():
        print(f"  {side:32} {shown(spread([1000 * one for one in values]), 3)} ms")
    for pair, one in result["times_as_fast"].items():
        print(f"  {pair:40} {shown(one, 2)} x")
    print(f"  share of the limit (streams / adamw)     {shown(result['share_of_limit'], 2)}")
    for side, one in result["gigabytes_a_second"].items():
        print(f"  {side:32} {shown(one, 1)} GB/s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/dev/bin", help="folder of the programs")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sizes", type=int, nargs="+", choices=SIZES, default=list(SIZES), help="numbers of parameters")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures here too")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    results = []
    for elements in arguments.sizes:
        results.append(measured(arguments.bin / "optimizer_speed", elements, SIZES[elements], arguments.rounds))
        show(results[-1])
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
