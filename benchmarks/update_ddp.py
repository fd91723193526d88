"""Times one update of the lesson: samegrad beside PyTorch's DistributedDataParallel over Gloo, both with two processes
of one thread, on the same data, plan and initial weights.

    .venv/bin/python benchmarks/update_ddp.py [--bin build/release/bin/samegrad] [--rounds 5] [--updates 30] [--json FILE]

First both compute the gradient of the first window, which must agree (atol 1e-6, rtol 1e-4, every component). Then they
run in alternation, in each round: samegrad, DDP as it is by default, DDP with its recommended settings. An update's
time is the slower rank's, from before the first forward to after the step. The first updates of a round are warm-up and
are left out. Figures are medians over rounds of a round's median, with the least and the largest. Tokens are supervised
ones; padding is never counted.
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
PROCESSES = 2
WARM_UP = 5
METRICS = {"seconds": "seconds", "tokens": "supervised_tokens", "learning_rate": "learning_rate"}


def load_run(run):
    """-> samples by id and plan[update][rank][microbatch] of a prepared run folder."""
    with open(run / "outputs/data/train.jsonl") as file:
        samples = [json.loads(line) for line in file]
    plan = json.loads((run / "outputs/plan.json").read_text())["plan"]
    return {sample["id"]: sample for sample in samples}, plan


def worker(arguments):
    """One rank of the DDP side. Rank 0 writes {"seconds": [...], "tokens": [...]} and, if asked, the first gradient."""
    import torch
    import torch.distributed as dist
    from safetensors.torch import load_file, save_file
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    class Lesson(nn.Module):
        def __init__(self):
            super().__init__()
            self.token = nn.Embedding(6, 128)
            self.position = nn.Embedding(128, 128)
            layer = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, activation="gelu", batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.head = nn.Linear(128, 4)

        def forward(self, tokens):
            places = torch.arange(tokens.shape[1])
            hidden = self.token(tokens) + self.position(places)
            return self.head(self.encoder(hidden, src_key_padding_mask=tokens == 0))

    torch.set_num_threads(1)
    rank = arguments.rank
    store = dist.FileStore(arguments.store, PROCESSES)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=PROCESSES)
    samples, plan = load_run(arguments.run)
    model = Lesson()
    model.load_state_dict(load_file(arguments.run / "outputs/init.safetensors"))
    # static_graph, also recommended, fails an internal check of PyTorch 2.11 when the first microbatch is in no_sync().
    settings = {"gradient_as_bucket_view": True, "broadcast_buffers": False} if arguments.tuned else {}
    model = DistributedDataParallel(model, **settings)
    optimizer = torch.optim.SGD(model.parameters(), lr=arguments.learning_rate)

    def padded(ids):
        rows = [samples[i] for i in ids]
        longest = max(len(row["tokens"]) for row in rows)
        tokens = torch.tensor([row["tokens"] + [0] * (longest - len(row["tokens"])) for row in rows])
        labels = torch.tensor([row["labels"] + [-100] * (longest - len(row["labels"])) for row in rows])
        return tokens, labels

    def loss_sum(batch):
        logits = model(batch[0])
        return nn.functional.cross_entropy(logits.flatten(0, 1), batch[1].flatten(), ignore_index=-100, reduction="sum")

    result = {"seconds": [], "tokens": []}
    for window in plan[: arguments.updates]:
        batches = [padded(ids) for ids in window[rank]]
        dist.barrier()
        begin = time.perf_counter()
        count = torch.tensor([sum(int((labels != -100).sum()) for _, labels in batches)])
        dist.all_reduce(count)
        factor = PROCESSES / int(count)
        with model.no_sync():
            for batch in batches[:-1]:
                (loss_sum(batch) * factor).backward()
        (loss_sum(batches[-1]) * factor).backward()
        if arguments.gradient and not result["seconds"] and rank == 0:
            gradient = {name: value.grad.clone() for name, value in model.module.named_parameters()}
            save_file(gradient, arguments.gradient)
        optimizer.step()
        optimizer.zero_grad()
        seconds = torch.tensor([time.perf_counter() - begin], dtype=torch.float64)
        dist.all_reduce(seconds, op=dist.ReduceOp.MAX)
        result["seconds"].append(float(seconds))
        result["tokens"].append(int(count))
    if rank == 0:
        arguments.result.write_text(json.dumps(result))
    dist.barrier()
    os._exit(0)  # all is measured; the interpreter's teardown of Gloo's threads aborts now and then ("terminate called")


def run_ddp(run, updates, learning_rate, tuned, gradient=None):
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder) / "result.json"
        command = [sys.executable, __file__, "--worker", "--run", run, "--updates", updates, "--store", f"{folder}/store"]
        command += ["--result", result, "--learning-rate", learning_rate] + (["--tuned"] if tuned else [])
        command += ["--gradient", gradient] if gradient else []
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        ranks = [
            subprocess.Popen([*map(str, command), "--rank", str(rank)], env=environment) for rank in range(PROCESSES)
        ]
        if any([process.wait() for process in ranks]):
            sys.exit("[benchmark] a DDP process failed")
        return json.loads(result.read_text())


def run_samegrad(program, run, updates, *options):
    command = [program, "train", "--config", ROOT / "configs/minimum.yaml", "--run", run, "--nproc", PROCESSES]
    command += ["--quiet", "--set", "plan.stop_at=0", "--set", f"plan.updates={updates}", *options]
    subprocess.run([str(word) for word in command], check=True, stdout=sys.stderr)
    lines = [json.loads(line) for line in (run / "outputs/metrics.jsonl").read_text().splitlines()]
    lines = [line for line in lines if line["run_id"] == lines[-1]["run_id"]]
    return {key: [line[field] for line in lines] for key, field in METRICS.items()}


def require_equal_gradients(ours, theirs):
    """-> the largest difference; ends the program where a component is outside the tolerance."""
    from safetensors.numpy import load_file

    ours, theirs = load_file(ours), load_file(theirs)
    if ours.keys() != theirs.keys():
        sys.exit(f"[benchmark] parameters differ: {sorted(ours.keys() ^ theirs.keys())}")
    outside = [n for n in ours if (abs(ours[n] - theirs[n]) > 1e-6 + 1e-4 * abs(theirs[n])).any()]
    if outside:
        sys.exit(f"[benchmark] the first gradients differ in {', '.join(outside)}; nothing was timed")
    return max(float(abs(ours[n] - theirs[n]).max()) for n in ours)


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def compare(arguments):
    run, program = arguments.run, arguments.bin
    gradients = run / "gradients"
    first = run_samegrad(program, run, arguments.updates, "--dump-gradients", gradients)
    learning_rate = first["learning_rate"][0]
    theirs = run_ddp(run, 1, learning_rate, tuned=False, gradient=run / "ddp.safetensors")
    difference = require_equal_gradients(gradients / "gradients-0001.safetensors", run / "ddp.safetensors")
    if first["tokens"][0] != theirs["tokens"][0]:
        sys.exit(f"[benchmark] tokens of the first window: {first['tokens'][0]} and {theirs['tokens'][0]}")
    sides = {
        "samegrad": lambda: run_samegrad(program, run, arguments.updates),
        "ddp": lambda: run_ddp(run, arguments.updates, learning_rate, tuned=False),
        "ddp_tuned": lambda: run_ddp(run, arguments.updates, learning_rate, tuned=True),
    }
    rounds = []
    for number in range(arguments.rounds):
        figures = {name: statistics.median(side()["seconds"][WARM_UP:]) for name, side in sides.items()}
        rounds.append(figures)
        shown = ", ".join(f"{name} {1000 * seconds:.1f} ms" for name, seconds in figures.items())
        print(f"round {number + 1}: {shown}", file=sys.stderr)
    return {
        "first_gradient_largest_difference": difference,
        "tokens_per_update": statistics.mean(first["tokens"]),
        "updates_per_round": arguments.updates,
        "rounds": rounds,
        "seconds": {name: spread([figures[name] for figures in rounds]) for name in sides},
        "ddp_over_samegrad": spread([figures["ddp"] / figures["samegrad"] for figures in rounds]),
        "ddp_tuned_over_samegrad": spread([figures["ddp_tuned"] / figures["samegrad"] for figures in rounds]),
    }


def show(result):
    print(f"first gradients agree, largest difference {result['first_gradient_largest_difference']:.2e}")
    print(f"{result['tokens_per_update']:.0f} supervised tokens an update on average, {PROCESSES} processes")
    for name, figures in result["seconds"].items():
        low, high = 1000 * figures["min"], 1000 * figures["max"]
        print(f"{name:10} {1000 * figures['median']:7.1f} ms an update  ({low:.1f} to {high:.1f})")
    for name in ("ddp_over_samegrad", "ddp_tuned_over_samegrad"):
        figures = result[name]
        print(f"{name}: {figures['median']:.2f}  ({figures['min']:.2f} to {figures['max']:.2f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin/samegrad", help="the program")
    parser.add_argument("--run", type=pathlib.Path, help="run folder (default: a temporary one)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--updates", type=int, default=30, help=f"of one round; the first {WARM_UP} are warm-up")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures here too")
    for name, kind in (("rank", int), ("store", str), ("result", pathlib.Path), ("gradient", str), ("learning-rate", float)):
        parser.add_argument(f"--{name}", type=kind, help=argparse.SUPPRESS)
    for name in ("worker", "tuned"):
        parser.add_argument(f"--{name}", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return worker(arguments)
    with tempfile.TemporaryDirectory() as folder:
        arguments.run = arguments.run or pathlib.Path(folder)
        result = compare(arguments)
    show(result)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
