"""The models of tests/oracle/ddp_parity_models.h in PyTorch, and the formulas that give both sides the same weights and
data."""

import torch
from torch import nn

MASK = 0xFFFFFFFF


def noise(shape, seed):
    """Numbers in -0.5 to 0.5 from an integer hash of the element's number: the same in ddp_parity.cpp."""
    count = 1
    for size in shape:
        count *= size
    number = ((torch.arange(count) + 1) * (2 * seed + 3)) & MASK
    for factor, shift in ((2654435761, 15), (2246822519, 13), (3266489917, 16)):
        number = (number * factor) & MASK
        number = number ^ (number >> shift)
    return (number.double() / 2**32 - 0.5).view(shape)


def fill(model):
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            seed = sum((place + 1) * ord(letter) for place, letter in enumerate(name))
            parameter.copy_(0.8 * noise(parameter.shape, seed))


def batch(rank, step, micro):
    return noise((3 + rank % 2, 36), 1000 + 100 * rank + 10 * step + micro).float()


def features(x):
    return x[:, :6]


def ids(x):
    return ((x[:, :5] + 0.5) * 7).long()


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 8)
        self.second = nn.Linear(8, 4)

    def forward(self, x, choice):
        return (self.second(self.first(features(x)).tanh()),)


class Frozen(Mlp):
    def __init__(self):
        super().__init__()
        self.first.bias.requires_grad_(False)


class Float64(Mlp):
    def __init__(self):
        super().__init__()
        self.double()

    def forward(self, x, choice):
        return super().forward(x.double(), choice)


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 3, 3)
        self.norm = nn.BatchNorm2d(3)
        self.second = nn.Conv2d(3, 2, 3)
        self.head = nn.Linear(8, 3)

    def forward(self, x, choice):
        maps = self.norm(self.first(x.view(-1, 1, 6, 6))).relu()
        return (self.head(self.second(maps).flatten(1)),)


class ChannelsLast(Cnn):
    def __init__(self):
        super().__init__()
        self.to(memory_format=torch.channels_last)


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 12, dropout=0)
        self.head = nn.Linear(8, 3)

    def forward(self, x, choice):
        return (self.head(self.layer(x[:, :32].reshape(-1, 4, 8).transpose(0, 1))),)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(7, 5)

    def forward(self, x, choice):
        return (self.embedding(ids(x)).tanh() @ self.embedding.weight.t(),)


class SparseEmbedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(7, 5, sparse=True)
        self.head = nn.Linear(5, 3)

    def forward(self, x, choice):
        return (self.head(self.embedding(ids(x)).tanh()),)


class TwoOutputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 5)
        self.left = nn.Linear(5, 3)
        self.right = nn.Linear(5, 2)

    def forward(self, x, choice):
        hidden = self.body(features(x)).tanh()
        return self.left(hidden), self.right(hidden)


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 5)
        self.left = nn.Linear(5, 3)
        self.right = nn.Linear(5, 3)
        self.unused = nn.Linear(5, 3)

    def forward(self, x, choice):
        hidden = self.body(features(x)).tanh()
        return (self.left(hidden) if choice % 2 == 0 else self.right(hidden),)


class OneBranch(Branches):
    def forward(self, x, choice):
        return super().forward(x, 0)


class MixedDtypes(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 5)
        self.second = nn.Linear(5, 4).double()
        self.third = nn.Linear(4, 3)

    def forward(self, x, choice):
        return (self.third(self.second(self.first(features(x)).tanh().double()).tanh().float()),)


class MixedBfloat16(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 5)
        self.second = nn.Linear(5, 3).bfloat16()

    def forward(self, x, choice):
        return (self.second(self.first(features(x)).tanh().bfloat16()).float(),)


class Reused(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x, choice):
        return (self.layer(self.layer(self.layer(features(x)).tanh()).tanh()),)
