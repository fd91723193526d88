"""Two small runs side by side: trained, altered, compared by `samegrad bisect`."""

import json
import os
import pathlib
import subprocess

from safetensors.torch import load_file, save_file

from signed_manifest import sign_file_again

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])
QUICK = {"plan.updates": 4, "plan.stop_at": 2, "model.width": 32, "model.layers": 1, "model.feed_forward": 64,
         "data.train_sequences": 128, "data.validation_sequences": 8, "data.test_sequences": 8,
         "plan.batch_size_per_rank": 4, "optimizer.momentum": 0.9}


def train(folder, *words, ranks=1, program="samegrad", mistake=None, **settings):
    folder.mkdir(exist_ok=True)
    keys = {**QUICK, **{key.replace("__", "."): value for key, value in settings.items()}}
    command = [BIN / program, "train", "--quiet", "--nproc", str(ranks), *words]
    for key, value in keys.items():
        command += ["--set", f"{key}={value}"]
    environment = {**os.environ, **({"SAMEGRAD_BROKEN": mistake} if mistake else {})}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder


def bisect(a, b, *words, code=3):
    done = subprocess.run([BIN / "samegrad", "bisect", a, b, "--json", "--quiet", *words], capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    if code == 2:
        (line,) = done.stderr.strip().splitlines()
        return line
    assert done.stderr == ""
    return json.loads(done.stdout)


def parts(found):
    return [finding["part"] for finding in found["findings"]]


def named(pairs):
    return {pair["name"]: (pair["a"], pair["b"]) for pair in pairs}


def assert_both_reproduced(found):
    assert found["window_compared"]
    assert found["a"]["unreproduced"] is None and found["b"]["unreproduced"] is None
    assert found["a"]["not_replayed"] == found["b"]["not_replayed"] == ""


def change_tensors(file, change):
    """Rewrites a safetensors file, its metadata kept."""
    length = int.from_bytes(file.read_bytes()[:8], "little")
    metadata = json.loads(file.read_bytes()[8:8 + length]).get("__metadata__")
    tensors = load_file(file)
    change(tensors)
    save_file(tensors, file, metadata=metadata)


def change_lines(folder, change):
    file = folder / "outputs/metrics.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps(line) + "\n" for line in change(lines)))


def alter(checkpoint, file, tensor, component, change):
    """Another value in a checkpoint, which is whole again afterwards."""
    def add(tensors):
        tensors[tensor][component] += change
    change_tensors(checkpoint / file, add)
    sign_file_again(checkpoint, file)


def resumed_after(folder, *alteration, **settings):
    train(folder, **settings)
    alter(folder / "artifacts/checkpoints/step-0002", *alteration)
    return train(folder, "--resume", "latest", **settings)


MOMENTUM = ("optimizer.safetensors", "head.bias.momentum_buffer", 2, 1.0)
