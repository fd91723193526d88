"""The operations that `simulate` counts are those that PyTorch counts of forward and backward of the same layers."""

import json
import os
import pathlib
import subprocess

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])


def said_operations(tokens, settings):
    """Seconds of one sample at one operation a second, memory costing nothing."""
    sets = [word for setting in [*settings, "plan.batch_size_per_rank=1"] for word in ("--set", setting)]
    done = subprocess.run([BIN / "samegrad", "simulate", "--json", "--flops", "1", "--memory-bandwidth", "1e30", "--atoms", "1",
                           "--tokens", str(tokens), "--world-sizes", "1", *sets], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["rows"][0]["canonical"]["seconds"]["compute"]


class Layer(torch.nn.Module):
    def __init__(self, width, heads, feed_forward):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, feed_forward), torch.nn.Linear(feed_forward, width)

    def forward(self, x):
        q, k, v = (part.view(len(x), self.heads, -1).transpose(0, 1) for part in self.qkv(x).chunk(3, -1))
        x = x + self.out((torch.softmax(q @ k.transpose(1, 2), -1) @ v).transpose(0, 1).reshape(x.shape))
        return x + self.down(torch.relu(self.up(x)))


@pytest.mark.parametrize("tokens", [1, 16, 100])
@pytest.mark.parametrize("layers, width, heads, feed_forward", [(2, 128, 4, 256), (3, 48, 3, 80)])
def test_operations_of_an_encoder_are_pytorchs(tokens, layers, width, heads, feed_forward):
    token, head = torch.nn.Embedding(6, width), torch.nn.Linear(width, 4)
    stack = torch.nn.Sequential(*[Layer(width, heads, feed_forward) for _ in range(layers)])
    with FlopCounterMode(display=False) as counter:
        head(stack(token(torch.zeros(tokens, dtype=torch.long)))).sum().backward()
    settings = [f"model.layers={layers}", f"model.width={width}", f"model.heads={heads}", f"model.feed_forward={feed_forward}"]
    assert said_operations(tokens, settings) == pytest.approx(counter.get_total_flops(), rel=1e-9)
