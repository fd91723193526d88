"""Whole updates against PyTorch in one process: the same files (data, plan, initial weights), autograd, torch.optim.

Samples are built here from the data files alone, so that the program's own reading, shifting and counting is checked too.
"""

import json
import os
import pathlib
import subprocess

import pytest
import torch
from safetensors.torch import load_file

from torch_models import TorchModel

SAMEGRAD = pathlib.Path(os.environ["SAMEGRAD_BIN"]) / "samegrad"
CONFIGS = pathlib.Path(os.environ["SAMEGRAD_SOURCE"]) / "configs"
IGNORE = -100
UPDATES = 5


def run_samegrad(folder, *words):
    done = subprocess.run([SAMEGRAD, *map(str, words)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def lesson_samples(folder):
    lines = [json.loads(line) for line in (folder / "outputs/data/train.jsonl").open()]
    return {line["id"]: (line["tokens"], line["labels"]) for line in lines}


def text_samples(path, context):
    """Bytes, an end token 255, completion supervised, cut to the context, shifted by one."""
    samples = {}
    for number, line in enumerate(path.open(encoding="utf-8")):
        row = json.loads(line)
        prompt, completion = row["prompt"].encode(), row["completion"].encode()
        tokens = (list(prompt) + list(completion) + [255])[:context]
        labels = ([IGNORE] * len(prompt) + list(completion) + [255])[:context]
        samples[number] = (tokens[:-1], labels[1:])
    return samples


def padded(rows, value):
    longest = max(map(len, rows))
    return torch.tensor([row + [value] * (longest - len(row)) for row in rows])


def backward_of_window(model, samples, ids):
    """Gradient of the mean over all supervised tokens of the window; returns loss sum and count."""
    inputs = padded([samples[i][0] for i in ids], 0)
    targets = padded([samples[i][1] for i in ids], IGNORE)
    real = padded([[1] * len(samples[i][0]) for i in ids], 0).bool()
    logits = model(inputs, ~real)
    loss_sum = torch.nn.functional.cross_entropy(logits.transpose(1, 2), targets, reduction="sum", ignore_index=IGNORE)
    count = int((targets != IGNORE).sum())
    (loss_sum / count).backward()
    return loss_sum.item(), count


def read_run(folder):
    plan = json.loads((folder / "outputs/plan.json").read_text())["plan"]
    metrics = [json.loads(line) for line in (folder / "outputs/metrics.jsonl").open()]
    config = json.loads((folder / "artifacts/checkpoints/step-0005/state.json").read_text())["config"]
    return plan, metrics, config


def torch_run(folder, samples, make_optimizer, clip):
    """Trains PyTorch from the run's own initial weights; compares gradients on the way; returns the final weights."""
    plan, metrics, config = read_run(folder)
    model = TorchModel(config["model"])
    model.load_state_dict(load_file(folder / "outputs/init.safetensors"))
    optimizer = make_optimizer(model.parameters())
    for update in range(1, UPDATES + 1):
        ids = [i for rank in plan[update - 1] for micro in rank for i in micro]
        optimizer.zero_grad()
        loss_sum, count = backward_of_window(model, samples, ids)
        line = metrics[update - 1]
        assert line["supervised_tokens"] == count
        assert line["loss_sum"] == pytest.approx(loss_sum, rel=1e-5)
        if update == 1:
            assert_gradients_equal(load_file(folder / "dump/gradients-0001.safetensors"), model)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), clip if clip else float("inf"))
        assert line["gradient_norm"] == pytest.approx(norm.item(), rel=1e-4)
        optimizer.step()
    return model.state_dict()


def assert_gradients_equal(ours, model, atol=1e-6, rtol=1e-4):
    theirs = {name: parameter.grad for name, parameter in model.named_parameters()}
    assert set(ours) == set(theirs)
    for name, gradient in theirs.items():
        difference = (ours[name] - gradient).abs()
        assert (difference <= atol + rtol * gradient.abs()).all(), f"{name}: {difference.max().item()}"


def assert_weights_close(ours, theirs, atol):
    assert set(ours) == set(theirs)
    worst = max((ours[name] - theirs[name]).abs().max().item() for name in theirs)
    assert worst <= atol, worst


def train(folder, *words):
    run_samegrad(folder, "train", "--nproc", 2, "--stop-at", UPDATES, "--dump-gradients", "dump", "--quiet", *words)


# Adam divides each gradient by its own size: where one is near zero, rounding decides the sign of a whole step. Such
# components may differ by a step or two; the bound on all is a small part of the steps taken.
OPTIMIZERS = {
    "sgd": (["optimizer.kind=sgd", "optimizer.learning_rate=0.1"], lambda p: torch.optim.SGD(p, lr=0.1), 2e-6),
    "momentum": (
        ["optimizer.kind=sgd", "optimizer.learning_rate=0.05", "optimizer.momentum=0.9", "optimizer.weight_decay=0.01"],
        lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01),
        2e-6,
    ),
    "adamw": (
        ["optimizer.kind=adamw", "optimizer.learning_rate=1e-3", "optimizer.weight_decay=0.1", "optimizer.epsilon=1e-4"],
        lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=0.1, eps=1e-4),
        2e-5,
    ),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("clip", [0.0, 1.0], ids=["unclipped", "clipped"])
def test_five_lesson_updates_equal_pytorchs(tmp_path, name, clip):
    settings, make_optimizer, atol = OPTIMIZERS[name]
    words = [word for setting in [*settings, f"optimizer.max_grad_norm={clip}"] for word in ("--set", setting)]
    train(tmp_path, *words)
    expected = torch_run(tmp_path, lesson_samples(tmp_path), make_optimizer, clip)
    assert_weights_close(load_file(tmp_path / "outputs/final-stopped.safetensors"), expected, atol)


def test_five_text_updates_equal_pytorchs(tmp_path):
    data = tmp_path / "data.jsonl"
    rows = [{"prompt": f"n{i}: " + "é" * (i % 7), "completion": "word " * (1 + i * 7 % 13)} for i in range(40)]
    data.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    train(tmp_path, "--config", CONFIGS / "text.yaml", "--set", f"data.train={data}", "--set", "plan.updates=10",
          "--set", "plan.batch_size_per_rank=2", "--set", "model.positions=48", "--set", "optimizer.epsilon=1e-4",
          "--set", "optimizer.learning_rate=1e-3", "--set", "schedule.kind=constant", "--set",
          "schedule.warmup_updates=0")
    _, metrics, config = read_run(tmp_path)
    assert config["optimizer"]["kind"] == "adamw" and config["optimizer"]["max_grad_norm"] == 1.0
    options = config["optimizer"]
    expected = torch_run(
        tmp_path,
        text_samples(data, 48),
        lambda p: torch.optim.AdamW(p, lr=1e-3, eps=1e-4, weight_decay=options["weight_decay"]),
        1.0,
    )
    assert_weights_close(load_file(tmp_path / "outputs/final-stopped.safetensors"), expected, 2e-5)


def test_the_comparison_rejects_a_mean_of_means(tmp_path):
    train(tmp_path)
    plan, _, config = read_run(tmp_path)
    samples = lesson_samples(tmp_path)
    model = TorchModel(config["model"])
    model.load_state_dict(load_file(tmp_path / "outputs/init.safetensors"))
    for rank in plan[0]:
        for micro in rank:
            backward_of_window(model, samples, micro)
    for parameter in model.parameters():
        parameter.grad /= 4
    with pytest.raises(AssertionError):
        assert_gradients_equal(load_file(tmp_path / "dump/gradients-0001.safetensors"), model)


# float64 end to end, against another library's float64: 1e-12 is far above rounding and far below any mistake.
@pytest.mark.parametrize("processes", [1, 3])
@pytest.mark.parametrize("task", ["lesson", "text"])
def test_a_windows_float64_gradient_equals_pytorchs(tmp_path, task, processes):
    words = ["--set", "plan.updates=4", "--set", "model.layers=1", "--set", "model.width=64"]
    if task == "text":
        data = tmp_path / "data.jsonl"
        rows = [{"prompt": f"n{i}: ", "completion": "word " * (1 + i * 7 % 13)} for i in range(24)]
        data.write_text("".join(json.dumps(row) + "\n" for row in rows))
        words += ["--config", CONFIGS / "text.yaml", "--set", f"data.train={data}", "--set", "model.positions=48",
                  "--set", "plan.batch_size_per_rank=2"]
    else:
        words += ["--set", "plan.stop_at=2"]
    report = json.loads(run_samegrad(tmp_path, "verify", "--json", "--nproc", processes, "--update", 2,
                                     "--dump-gradients", "dump", *words))
    module = TorchModel(json.loads(run_samegrad(tmp_path, "config", "--json", *words))["model"]).double()
    module.load_state_dict({name: value.double() for name, value in
                            load_file(tmp_path / "outputs/init.safetensors").items()})
    plan = json.loads((tmp_path / "outputs/plan.json").read_text())["plan"]
    samples = text_samples(data, 48) if task == "text" else lesson_samples(tmp_path)
    loss_sum, count = backward_of_window(module, samples, [i for rank in plan[1] for micro in rank for i in micro])
    assert report["float64"]["supervised_tokens"] == count
    assert report["float64"]["loss_sum"] == pytest.approx(loss_sum, rel=1e-13)
    ours = load_file(tmp_path / "dump/verify-0002-float64.safetensors")
    assert all(gradient.dtype == torch.float64 for gradient in ours.values())
    assert_gradients_equal(ours, module, atol=1e-12, rtol=1e-12)
