"""The cases of update_ddp.py: samegrad's configuration, and the same windows as PyTorch gets them."""

import json
import pathlib
import random
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
IGNORE = -100
END_TOKEN = 255
# Forms of peer_models.py, and how a window's ids are spread over ranks and microbatches (spread()).
USUAL = {"form": "padded", "spread": "random"}
BEST = [{"form": form, "spread": "sorted", "tuned": True} for form in ("padded", "sdpa", "packed")]
WIDER = ["model.width=256", "model.layers=4", "model.heads=8", "model.feed_forward=1024"]
WIDEST = ["model.width=512", "model.layers=8", "model.heads=8", "model.feed_forward=2048"]

CASES = {
    "lesson": {
        "config": "configs/minimum.yaml",
        "set": ["plan.stop_at=0"],
        "usual": {"form": "padded", "spread": "same"},
        "best": [{"form": form, "spread": "same", "tuned": True} for form in ("padded", "sdpa", "packed")],
    },
    "lesson-balanced": {
        "config": "configs/minimum.yaml",
        "set": ["plan.stop_at=0", "plan.balance=lpt"],
        "usual": USUAL,
        "best": BEST,
    },
    "text-3m": {"config": "examples/dpkg/dpkg.yaml", "set": ["plan.epochs=0", *WIDER], "usual": USUAL, "best": BEST},
    "text-25m": {"config": "examples/dpkg/dpkg.yaml", "set": ["plan.epochs=0", *WIDEST], "usual": USUAL, "best": BEST,
                 "updates": 6},
}


def spread(window, how, lengths, batch_size):
    """The ids of one window -> [rank][microbatch] of ids. `how`: "same" as samegrad's plan has them; "random" as a
    shuffling sampler would; "sorted" by length, so that little is padded, and then so that both ranks get alike."""
    if how == "same":
        return window
    ids = [i for rank in window for microbatch in rank for i in microbatch]
    ranks, microbatches = len(window), len(window[0])
    if how == "random":
        random.Random(ids[0]).shuffle(ids)
    else:
        ids.sort(key=lambda i: lengths[i])
    batches = [ids[begin : begin + batch_size] for begin in range(0, len(ids), batch_size)]
    batches += [[]] * (ranks * microbatches - len(batches))
    if how == "random":
        return [batches[rank * microbatches : (rank + 1) * microbatches] for rank in range(ranks)]
    return [[batches[m * ranks + (rank if m % 2 == 0 else ranks - 1 - rank)] for m in range(microbatches)]
            for rank in range(ranks)]


def options(case):
    return [word for value in case["set"] for word in ("--set", value)]


def prepare(program, case, run, updates):
    """Lets samegrad prepare `run`. -> the options for its other commands."""
    words = ["--config", ROOT / case["config"], *options(case), "--set", f"plan.updates={updates}"]
    if "dpkg" in case["config"]:
        subprocess.run(["python3", ROOT / "examples/dpkg/make_dataset.py", run / "data"], check=True, stdout=subprocess.DEVNULL)
        words += ["--set", f"data.train={run}/data/train.jsonl"]
    subprocess.run([str(w) for w in (program, "prepare", *words, "--run", run, "--quiet")], check=True)
    return words


def load_samples(run, context):
    """-> {id: (inputs, targets)} from the data files alone."""
    text = run / "data/train.jsonl"
    if not text.exists():
        with open(run / "outputs/data/train.jsonl") as file:
            return {row["id"]: (row["tokens"], row["labels"]) for row in map(json.loads, file)}
    samples = {}
    with open(text, encoding="utf-8") as file:
        for number, row in enumerate(map(json.loads, file)):
            prompt, completion = row["prompt"].encode(), row["completion"].encode()
            tokens = (list(prompt) + list(completion) + [END_TOKEN])[:context]
            labels = ([IGNORE] * len(prompt) + list(completion) + [END_TOKEN])[:context]
            samples[number] = (tokens[:-1], labels[1:])
    return samples


def load_plan(run):
    return json.loads((run / "outputs/plan.json").read_text())["plan"]


def flops_of_update(config, window, samples):
    """Floating-point operations of forward and backward on real tokens, by rank: 6 a weight of the linear layers and
    token, and 12 x width (causal: 6) a layer, token and token that it sees."""
    width, layers, feed_forward = config["width"], config["layers"], config["feed_forward"]
    causal = config["kind"] == "decoder"
    outputs = config["vocabulary"] if causal else config["classes"]
    weights = layers * (4 * width * width + 2 * width * feed_forward) + width * outputs
    pair = layers * width * (6 if causal else 12)
    lengths = [[len(samples[i][0]) for microbatch in rank for i in microbatch] for rank in window]
    return [sum(6 * weights * n + pair * n * n for n in rank) for rank in lengths]
