"""Times an update: samegrad beside PyTorch's DistributedDataParallel over Gloo, both with two processes of one thread, on
the same windows of the same data, from the same initial weights.

    .venv/bin/python benchmarks/update_ddp.py [CASE ...] [--bin build/dev/bin] [--rounds 7] [--updates 20] [--json FILE]

CASE: lesson (its own uneven split), lesson-balanced, text-3m, text-25m (update_cases.py); default: all. PyTorch is "usual", as
most write it (padded batches in random order), and at its best: of three forms (peer_models.py) with sorted batches,
gradients as bucket views and a fused optimizer, with and without the allocator jemalloc where that is installed, the
fastest two of a trial take part in all rounds, and the one with the least median is its best. --best names the forms.

First every side computes the gradient of the first window; all must agree (atol 1e-6, rtol 1e-4 of the component, or 1e-6 of
the largest). Then they run in turn. An update's time is the slower rank's, from before the first forward to after the step;
samegrad's includes the making of its batches. Ratios are of medians of one round; the first updates are warm-up. Tokens are
supervised ones. The limit is the floating-point operations of the slower rank at a core's FMA peak of the same run.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from update_cases import CASES, ROOT, flops_of_update, load_plan, load_samples, prepare, spread

PEER = pathlib.Path(__file__).with_name("peer_ddp.py")
WORLD = 2
WARM_UP = 3
CANDIDATES = 2  # forms of PyTorch's best that take part in all rounds: the fastest of one trial of each
JEMALLOC = pathlib.Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")


def run_samegrad(program, run, words, *more):
    """-> seconds and supervised tokens of each update, and the largest process's memory."""
    command = [program, "train", *words, "--run", run, "--nproc", WORLD, "--quiet", *more]
    process = subprocess.Popen([str(word) for word in command], stdout=sys.stderr)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"[benchmark] failed: {' '.join(map(str, command))}")
    lines = [json.loads(line) for line in (run / "outputs/metrics.jsonl").read_text().splitlines()]
    lines = [line for line in lines if line["run_id"] == lines[-1]["run_id"]]
    return {"seconds": [line["seconds"] for line in lines], "tokens": [line["supervised_tokens"] for line in lines],
            "peak_bytes": 1024 * usage.ru_maxrss}


def run_peer(job, folder, allocator=None):
    job = {**job, "store": f"{folder}/store", "result": f"{folder}/result.json", "world": WORLD}
    pathlib.Path(folder, "job.json").write_text(json.dumps(job))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    if allocator:
        environment["LD_PRELOAD"] = str(allocator)
    ranks = [subprocess.Popen([sys.executable, PEER, f"{folder}/job.json", str(rank)], env=environment) for rank in range(WORLD)]
    if any([process.wait() for process in ranks]):
        sys.exit("[benchmark] a DDP process failed")
    pathlib.Path(folder, "store").unlink(missing_ok=True)
    return json.loads(pathlib.Path(folder, "result.json").read_text())


def settled(seconds):
    """The median of an update, without the first ones."""
    return statistics.median(seconds[min(WARM_UP, len(seconds) - 1):])


def time_of_peer(job, allocator):
    with tempfile.TemporaryDirectory() as folder:
        return settled(run_peer(job, folder, allocator)["seconds"])


def peak_of_loading(command):
    """Bytes of a process that loads its libraries and computes nothing. This process must be smaller: the system counts what
    it has for its child too."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return 1024 * os.wait4(process.pid, 0)[2].ru_maxrss


def fma_peak(arguments, folder):
    path = folder / "limits.json"
    subprocess.run([arguments.bin / "machine_limits", "--json", path], check=True, stdout=subprocess.DEVNULL)
    return json.loads(path.read_text())["fma_flops_per_second"]


def require_equal_gradients(ours, theirs, name):
    """-> the largest difference; ends the program where a component is outside the tolerance."""
    from safetensors.numpy import load_file

    ours, theirs = load_file(ours), load_file(theirs)
    if ours.keys() != theirs.keys():
        sys.exit(f"[benchmark] parameters differ: {sorted(ours.keys() ^ theirs.keys())}")
    largest = max(abs(value).max() for value in theirs.values())
    outside = [n for n in ours if (abs(ours[n] - theirs[n]) > 1e-6 * max(1, largest) + 1e-4 * abs(theirs[n])).any()]
    if outside:
        sys.exit(f"[benchmark] {name}: the first gradients differ in {', '.join(outside)}; nothing was timed")
    return max(float(abs(ours[n] - theirs[n]).max()) for n in ours)


def peer_sides(case, run, config, samples, plan, batch_size, chosen):
    """-> {name: (job, allocator)}; of the best forms those in `chosen`, or all."""
    lengths = {i: len(sample[0]) for i, sample in samples.items()}
    sides = {}
    for name, settings in [("usual", case["usual"]), *((side["form"], side) for side in case["best"])]:
        tuned = settings.get("tuned", False)
        optimizer = {**config["optimizer"], "fused": tuned}
        windows = [spread(window, settings["spread"], lengths, batch_size) for window in plan]
        used = {i for window in windows for rank in window for microbatch in rank for i in microbatch}
        job = {"model": config["model"], "form": settings["form"], "weights": f"{run}/outputs/init.safetensors",
               "samples": {i: samples[i] for i in used}, "plan": windows, "optimizer": optimizer,
               "ddp": {"gradient_as_bucket_view": True, "broadcast_buffers": False} if tuned else {}}
        sides[name] = (job, None)
        if tuned and JEMALLOC.exists():
            sides[f"{name}+jemalloc"] = (job, JEMALLOC)
    return {name: side for name, side in sides.items() if not chosen or name in ["usual", *chosen]}


def spread_of(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def measure(name, arguments, run):
    case = CASES[name]
    program = arguments.bin / "samegrad"
    words = prepare(program, case, run, min(arguments.updates, case.get("updates", arguments.updates)))
    shown = subprocess.run([str(w) for w in (program, "config", *words, "--json")], check=True, capture_output=True, text=True)
    config = json.loads(shown.stdout)
    config = config.get("config", config)
    samples = load_samples(run, config["model"]["positions"])
    plan = load_plan(run)
    batch_size = config["plan"]["batch_size_per_rank"]
    sides = peer_sides(case, run, config, samples, plan, batch_size, arguments.best.split(",") if arguments.best else [])
    if len(sides) == 1:
        sys.exit(f"[benchmark] --best {arguments.best}: none of these forms is there; jemalloc needs {JEMALLOC}")

    first = run_samegrad(program, run, words, "--dump-gradients", run / "gradients")
    differences, peaks = {}, {"samegrad": first["peak_bytes"]}
    with tempfile.TemporaryDirectory() as folder:
        for side, (job, allocator) in sides.items():
            one = {**job, "plan": job["plan"][:1], "gradient": f"{folder}/gradient.safetensors"}
            theirs = run_peer(one, folder, allocator)
            differences[side] = require_equal_gradients(run / "gradients/gradients-0001.safetensors", one["gradient"], side)
            peaks[side] = theirs["peak_bytes"]
            if theirs["tokens"][0] != first["tokens"][0]:
                sys.exit(f"[benchmark] {side}: tokens of the first window: {first['tokens'][0]} and {theirs['tokens'][0]}")

    rounds, fma_peaks = [], []
    trial = {}
    if len(sides) > 1 + CANDIDATES:
        trial = {side: time_of_peer(job, allocator) for side, (job, allocator) in sides.items() if side != "usual"}
    for side in sorted(trial, key=trial.get)[CANDIDATES:]:
        del sides[side]
    for number in range(arguments.rounds):
        fma_peaks.append(fma_peak(arguments, run))
        figures = {"samegrad": settled(run_samegrad(program, run, words)["seconds"])}
        for side, (job, allocator) in sides.items():
            figures[side] = time_of_peer(job, allocator)
        rounds.append(figures)
        print(f"{name}, round {number + 1}: " + ", ".join(f"{s} {1000 * t:.1f} ms" for s, t in figures.items()), file=sys.stderr)
    slower = statistics.median(max(flops_of_update(config["model"], window, samples)) for window in plan)
    limits = [slower / peak for peak in fma_peaks]
    best = min((side for side in sides if side != "usual"), key=lambda s: statistics.median(r[s] for r in rounds))
    return {
        "case": name,
        "parameters": sum(value.size for value in _weights(run).values()),
        "tokens_per_update": statistics.mean(first["tokens"]),
        "largest_gradient_difference": differences,
        "peak_bytes": {side: peaks[side] for side in rounds[0]},
        "loading_bytes": arguments.loading_bytes,
        "peer_loading_bytes": arguments.peer_loading_bytes,
        "jemalloc": JEMALLOC.exists(),
        "trial_of_forms": trial,
        "rounds": rounds,
        "seconds": {side: spread_of([r[side] for r in rounds]) for side in rounds[0]},
        "usual_over_samegrad": spread_of([r["usual"] / r["samegrad"] for r in rounds]),
        "best": best,
        "best_over_samegrad": spread_of([r[best] / r["samegrad"] for r in rounds]),
        "fma_flops_per_second": spread_of(fma_peaks),
        "flops_of_slower_rank": slower,
        "share_of_limit": spread_of([limit / r["samegrad"] for limit, r in zip(limits, rounds)]),
    }


def _weights(run):
    from safetensors.numpy import load_file

    return load_file(run / "outputs/init.safetensors")


def show(result):
    print(f"\n{result['case']}: {result['parameters']} parameters, {result['tokens_per_update']:.0f} supervised tokens an update, "
          f"{WORLD} processes; first gradients agree, largest difference {max(result['largest_gradient_difference'].values()):.1e}")
    for side, figures in result["seconds"].items():
        low, high = 1000 * figures["min"], 1000 * figures["max"]
        print(f"  {side:16} {1000 * figures['median']:8.1f} ms an update  ({low:.1f} to {high:.1f}), {result['peak_bytes'][side] / 2**20:.0f} MiB a process")
    for key, text in (("usual_over_samegrad", "against the usual PyTorch"), ("best_over_samegrad", f"against its best ({result['best']})"),
                      ("share_of_limit", "share of the arithmetic limit")):
        figures = result[key]
        print(f"  {text}: {figures['median']:.2f} ({figures['min']:.2f} to {figures['max']:.2f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/dev/bin", help="the folder of the programs")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--updates", type=int, default=20, help=f"of one round; the first {WARM_UP} are warm-up")
    parser.add_argument("--best", help="forms of PyTorch's best, with commas, as packed or packed+jemalloc; default: all")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures here too")
    arguments = parser.parse_args()
    arguments.bin = arguments.bin.resolve()
    unknown = [name for name in arguments.cases if name not in CASES]
    if unknown:
        parser.error(f"unknown case {unknown[0]}; allowed are {', '.join(CASES)}")
    results = []
    arguments.loading_bytes = peak_of_loading([arguments.bin / "samegrad-worker", "version"])
    arguments.peer_loading_bytes = peak_of_loading([sys.executable, "-c", "import torch"])
    for name in arguments.cases or CASES:
        with tempfile.TemporaryDirectory() as folder:
            results.append(measure(name, arguments, pathlib.Path(folder)))
        show(results[-1])
        if arguments.json:
            arguments.json.write_text(json.dumps(results, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
