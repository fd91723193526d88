"""samegrad's models against torch.nn.TransformerEncoder with the same weights: logits, loss and every gradient."""

import json
import os
import subprocess

import pytest
import torch
from safetensors.torch import load_file, save_file

from torch_models import TorchModel

MODEL_DUMP = os.path.join(os.environ["SAMEGRAD_BIN"], "model-dump")
IGNORE = -100
TOLERANCES = {torch.float32: (1e-6, 1e-4), torch.float64: (1e-12, 1e-11)}


def model_config(kind):
    return dict(kind=kind, layers=2, width=48, heads=3, feed_forward=80, vocabulary=13, positions=30, classes=4)


def random_model(config, dtype):
    model = TorchModel(config).to(dtype)
    with torch.no_grad():
        for parameter in model.parameters():  # also biases and norms leave their special values
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def random_samples(config, lengths):
    choices = config["vocabulary"] if config["kind"] == "decoder" else config["classes"]
    samples = []
    for length in lengths:
        targets = torch.randint(0, choices, (length,))
        targets[torch.rand(length) < 0.3] = IGNORE
        inputs = torch.randint(0, config["vocabulary"], (length,))
        samples.append({"inputs": inputs.tolist(), "targets": targets.tolist()})
    return samples


def samegrad_results(folder, config, model, samples):
    save_file(model.state_dict(), folder / "parameters.safetensors")
    (folder / "request.json").write_text(json.dumps({"model": config, "samples": samples}))
    arguments = [folder / name for name in ("request.json", "parameters.safetensors", "out.safetensors")]
    subprocess.run([MODEL_DUMP, *arguments], check=True)
    return load_file(folder / "out.safetensors")


def torch_results(model, samples):
    """Logits of the real tokens, the loss sum and its gradients, from one padded batch."""
    longest = max(len(sample["inputs"]) for sample in samples)

    def padded(rows, value):
        return torch.tensor([row + [value] * (longest - len(row)) for row in rows])

    ids = padded([sample["inputs"] for sample in samples], 0)
    targets = padded([sample["targets"] for sample in samples], IGNORE)
    real = padded([[1] * len(sample["inputs"]) for sample in samples], 0).bool()
    logits = model(ids, ~real)
    loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), targets, reduction="sum", ignore_index=IGNORE)
    loss.backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    return logits[real].detach(), loss.item(), gradients


def assert_close(name, ours, theirs, tolerance):
    absolute, relative = tolerance
    # The tolerance is one for means; these are sums, whose absolute error grows with their size.
    allowed = absolute * max(1.0, theirs.abs().max().item()) + relative * theirs.abs()
    difference = (ours - theirs).abs()
    assert ours.dtype == theirs.dtype, name
    assert (difference <= allowed).all(), f"{name}: largest difference {difference.max().item()}"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_logits_loss_and_gradients_equal_pytorchs(tmp_path, kind, dtype):
    torch.manual_seed(11)
    config = model_config(kind)
    model = random_model(config, dtype)
    samples = random_samples(config, [1, 30, 7, 19, 1, 12, 25])
    ours = samegrad_results(tmp_path, config, model, samples)
    logits, loss, gradients = torch_results(model, samples)
    assert set(ours) == set(gradients) | {"logits", "loss_sum"}
    assert_close("logits", ours["logits"], logits, TOLERANCES[dtype])
    assert ours["loss_sum"].item() == pytest.approx(loss, rel=1e-6 if dtype == torch.float32 else 1e-13)
    for name, gradient in gradients.items():
        assert_close(name, ours[name], gradient, TOLERANCES[dtype])


def test_the_comparison_rejects_another_activation(tmp_path):
    torch.manual_seed(11)
    config = model_config("encoder")
    model = random_model(config, torch.float32)
    samples = random_samples(config, [9, 14])
    ours = samegrad_results(tmp_path, config, model, samples)
    for layer in model.encoder.layers:
        layer.activation = lambda x: torch.nn.functional.gelu(x, approximate="tanh")
    logits, _, _ = torch_results(model, samples)
    with pytest.raises(AssertionError):
        assert_close("logits", ours["logits"], logits, TOLERANCES[torch.float32])
