"""PyTorch and the safetensors package read a checkpoint of a program's own module; `samegrad checkpoints` knows it."""

import json
import os
import pathlib
import subprocess

import pytest
import safetensors
import safetensors.torch
import torch

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    done = subprocess.run(
        [BIN / "module-program", tmp_path_factory.mktemp("module")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return pathlib.Path(done.stdout)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Parameter(torch.arange(6.0).view(2, 3) / 2)
        self.head = torch.nn.Module()
        self.head.weight = self.embedding
        self.turned = torch.nn.Parameter(torch.arange(6.0, dtype=torch.float64).view(3, 2).t())
        for name in ["float16", "bfloat16", "uint8", "int8", "int16", "int32", "int64", "bool"]:
            self.register_buffer("of_" + name, torch.arange(3).to(getattr(torch, name)))
        self.register_buffer("empty", torch.empty(0, 4))
        self.register_buffer("scalar", torch.tensor(-0.0, dtype=torch.float64))


def stepped():
    model = Model()
    adam = torch.optim.Adam(model.parameters(), lr=0.1, betas=(0.8, 0.99))
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 0.5)
    adam.step()
    return model, adam


def test_pytorch_finds_every_tensor_and_ties_what_was_tied(folder):
    expected, _ = stepped()
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    assert set(tensors) == set(expected.state_dict()) - {"head.weight"}
    for name, tensor in tensors.items():
        known = expected.state_dict()[name]
        assert (tensor.dtype, tensor.shape) == (known.dtype, known.shape), name
        assert torch.allclose(tensor.double(), known.double(), rtol=1e-6, atol=0), name
    assert torch.signbit(tensors["scalar"])
    with safetensors.safe_open(folder / "model.safetensors", framework="pt") as file:
        assert file.metadata() == {"head.weight": "embedding"}
    loaded = Model()
    missing, unexpected = safetensors.torch.load_model(loaded, folder / "model.safetensors")
    assert not missing and not unexpected
    assert torch.equal(loaded.head.weight, tensors["embedding"])


def test_pytorch_has_the_same_state_and_options_of_adam(folder):
    expected, adam = stepped()
    with safetensors.safe_open(folder / "optimizer.safetensors", framework="pt") as file:
        options = json.loads(file.metadata()["options"])
        state = {name: file.get_tensor(name) for name in file.keys()}
    assert options["kind"] == "Adam"
    assert options["groups"][0]["parameters"] == ["embedding", "turned"]
    known = adam.state_dict()["param_groups"][0]
    for name, value in options["groups"][0]["options"].items():
        assert (tuple(value) if isinstance(value, list) else value) == known[name], name
    members = {}
    for name, parameter in [("embedding", expected.embedding), ("turned", expected.turned)]:
        for member, value in adam.state[parameter].items():
            members[f"{name}.{member}"] = torch.as_tensor(value)
    assert set(state) == set(members)
    assert state["embedding.step"].dtype == torch.int64
    for name, value in state.items():
        assert torch.allclose(value.double(), members[name].double(), rtol=1e-6), name


def test_samegrad_lists_it_and_finds_damage(folder):
    listed = subprocess.run([BIN / "samegrad", "checkpoints", folder.parent, "--json"], capture_output=True, text=True)
    assert listed.returncode == 0, listed.stderr
    (checkpoint,) = json.loads(listed.stdout)["checkpoints"]
    assert checkpoint["complete"] and checkpoint["update"] == 7
    assert {tensor["dtype"] for tensor in checkpoint["model"]} == set("F16 BF16 F32 F64 U8 I8 I16 I32 I64 BOOL".split())
    assert checkpoint["extra"] == [{"name": "x", "dtype": "I64", "shape": [4]}]
    shown = subprocess.run([BIN / "samegrad", "checkpoints", folder], capture_output=True, text=True)
    assert "extra: 1 tensor" in shown.stdout and "embedding.exp_avg_sq" in shown.stdout
    extra = folder / "extra.safetensors"
    whole = extra.read_bytes()
    extra.write_bytes(whole[:-1] + b"\1")
    damaged = subprocess.run([BIN / "samegrad", "checkpoints", folder], capture_output=True, text=True)
    extra.write_bytes(whole)
    assert damaged.returncode == 3 and "extra.safetensors: damaged" in damaged.stdout


def test_samegrad_train_refuses_to_go_on_from_it(folder, tmp_path):
    done = subprocess.run(
        [BIN / "samegrad", "train", "--run", tmp_path, "--resume", folder], capture_output=True, text=True
    )
    assert done.returncode in (2, 3), done.stderr
    assert "state.json" in done.stderr and "fault of samegrad" not in done.stderr
