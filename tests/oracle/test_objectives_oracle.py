"""Every objective against PyTorch in one process: the gradient of the first window on 1, 2 and 3 ranks.

Each objective is written here as its definition says it, by PyTorch's own means where there are any, from the data file alone.
"""

import json
import os
import pathlib
import subprocess

import pytest
import torch
from safetensors.torch import load_file
from torch.nn.functional import cross_entropy

from torch_models import TorchModel

DUMP = pathlib.Path(os.environ["SAMEGRAD_BIN"]) / "objective-dump"
IGNORE = -100
CONTEXT = 32
CLASS_WEIGHTS = [(i % 5) * 0.5 for i in range(256)]
MODEL = {"kind": "decoder", "layers": 1, "width": 16, "heads": 2, "feed_forward": 32, "vocabulary": 256,
         "positions": CONTEXT}
BASE = ["data.task=text", "plan.updates=2", "plan.stop_at=0", "plan.virtual_ranks=2", "plan.accumulation=2",
        "plan.batch_size_per_rank=3", *(f"model.{key}={value}" for key, value in MODEL.items())]
CLASSES = f"objective.class_weights={CLASS_WEIGHTS}"
# Name: (data file, settings).
CASES = {
    "token": ("plain", []),
    "sequence": ("plain", ["objective.unit=sequence"]),
    "document": ("plain", ["objective.unit=document"]),
    "constant": ("plain", ["objective.unit=constant", "objective.constant=100"]),
    "class-weights": ("plain", [CLASSES]),
    "weighted-token": ("weighted", []),
    "weighted-sequence": ("weighted", ["objective.unit=sequence"]),
    "weighted-document": ("weighted", ["objective.unit=document"]),
    "weighted-class-weights": ("weighted", [CLASSES]),
    "weighted-constant": ("weighted", ["objective.unit=constant", "objective.constant=100"]),
    "token+z": ("plain", ["objective.z_loss=0.01"]),
    "sequence+l2": ("plain", ["objective.unit=sequence", "objective.l2=0.05"]),
    "weighted-document+z+l2": ("weighted", ["objective.unit=document", "objective.z_loss=0.01", "objective.l2=0.05"]),
    "class-weights+z": ("plain", [CLASSES, "objective.z_loss=0.01"]),
}


class Row:
    """A line of the data with its losses: a target for each token after the prompt, cut to the context."""

    def __init__(self, line):
        prompt, completion = line["prompt"].encode(), line["completion"].encode()
        tokens = (list(prompt) + list(completion) + [255])[:CONTEXT]
        labels = ([IGNORE] * len(prompt) + (list(completion) + [255] if completion else [IGNORE]))[:CONTEXT]
        self.inputs, self.targets = torch.tensor(tokens[:-1]), torch.tensor(labels[1:])
        self.weight, self.document = line.get("weight", 1.0), line.get("document")
        self.supervised = self.targets != IGNORE

    def forward(self, model):
        self.logits = model(self.inputs[None], torch.zeros(1, len(self.inputs), dtype=torch.bool))[0][self.supervised]
        self.classes = self.targets[self.supervised]
        self.losses = cross_entropy(self.logits, self.classes, reduction="none").double()


def other_terms(name, rows, model):
    """What the loss has beside S / N."""
    terms = 0.0
    if "+z" in name:
        logits = torch.cat([row.logits for row in rows])
        terms = terms + 0.01 * torch.logsumexp(logits, 1).double().square().mean()
    if "+l2" in name:
        terms = terms + 0.05 * 0.5 * sum(parameter.double().square().sum() for parameter in model.parameters())
    return terms


def objective(name, rows):
    """S and N as the definition has them; the loss of the units is S / N."""
    name = name.split("+")[0]
    rows = [row for row in rows if row.supervised.any()]
    tokens = sum(len(row.losses) for row in rows)
    if name == "token":
        return sum(row.losses.sum() for row in rows), tokens
    if name == "sequence":
        return sum(row.losses.mean() for row in rows), len(rows)
    if name == "weighted-sequence":
        return sum(row.weight * row.losses.mean() for row in rows), sum(row.weight for row in rows)
    if name.endswith("document"):
        documents = {}
        for number, row in enumerate(rows):
            documents.setdefault(("own", number) if row.document is None else row.document, []).append(row)
        of = [(group[0].weight if name.startswith("weighted") else 1, torch.cat([row.losses for row in group]).mean())
              for group in documents.values()]
        return sum(weight * mean for weight, mean in of), sum(weight for weight, _ in of)
    if name == "weighted-token":
        return sum(row.weight * row.losses.sum() for row in rows), sum(row.weight * len(row.losses) for row in rows)
    if name == "constant":
        return sum(row.losses.sum() for row in rows), 100
    if name == "weighted-constant":
        return sum(row.weight * row.losses.sum() for row in rows), 100
    weights = torch.tensor(CLASS_WEIGHTS)
    if name == "class-weights":
        n = sum(weights[row.classes].sum().item() for row in rows)
        logits, classes = torch.cat([row.logits for row in rows]), torch.cat([row.classes for row in rows])
        return torch.nn.CrossEntropyLoss(weight=weights)(logits, classes) * n, n
    assert name == "weighted-class-weights"
    pairs = [(row.weight * weights[row.classes].double(), row.losses) for row in rows]
    return sum((w * losses).sum() for w, losses in pairs), sum(w.sum().item() for w, _ in pairs)


def write_data(folder):
    for kind in ("plain", "weighted"):
        with (folder / f"{kind}.jsonl").open("w") as file:
            for i in range(24):
                line = {"prompt": "p" * (1 + i % 4), "completion": "abc defg"[: 1 + i % 8] * (i % 5)}
                if i % 4:
                    line["document"] = i % 3
                if kind == "weighted" and i != 12:  # one weight a document; row 0 weighs nothing, row 12 says nothing
                    line["weight"] = 0.25 + i % 3 if i % 4 else 0.5 * i
                file.write(json.dumps(line) + "\n")


@pytest.fixture(scope="module")
def dumped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("objectives")
    write_data(folder)
    cases = {name: [f"data.train={folder / data}.jsonl", *settings] for name, (data, settings) in CASES.items()}
    (folder / "request.json").write_text(json.dumps({"base": BASE, "cases": cases}))
    done = subprocess.run([DUMP, folder / "request.json", folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def window_rows(folder, name):
    """The rows of the first window, by atom."""
    lines = [json.loads(line) for line in (folder / f"{CASES[name][0]}.jsonl").open()]
    atoms = [micro for rank in json.loads((folder / "plan.json").read_text())["plan"][0] for micro in rank]
    return [[Row(lines[i]) for i in atom] for atom in atoms]


def model_of(folder):
    model = TorchModel(MODEL)
    model.load_state_dict(load_file(folder / "init.safetensors"))
    return model


def outside(folder, name, model):
    """How many components of samegrad's gradient are not PyTorch's."""
    ours = load_file(folder / f"{name}.safetensors")
    theirs = {key: parameter.grad for key, parameter in model.named_parameters()}
    assert set(ours) == set(theirs)
    return sum(((ours[key] - g).abs() > 1e-6 + 1e-4 * g.abs()).sum().item() for key, g in theirs.items())


@pytest.mark.parametrize("name", CASES)
def test_the_gradient_on_1_2_and_3_ranks_is_pytorchs(dumped, name):
    result = json.loads((dumped / "result.json").read_text())[name]
    assert len(result["gradient_hashes"]) == 3 and len(set(result["gradient_hashes"])) == 1
    model = model_of(dumped)
    rows = [row for atom in window_rows(dumped, name) for row in atom]
    for row in rows:
        row.forward(model)
    s, n = objective(name, rows)
    (s / n + other_terms(name, rows, model)).backward()
    assert result["loss_sum"] == pytest.approx(s.item(), rel=1e-6)
    assert result["divisor"] == pytest.approx(n, rel=1e-12)
    assert result["supervised_tokens"] == sum(row.supervised.sum().item() for row in rows)
    assert isinstance(result["divisor"], float) == (name.split("+")[0] in ("class-weights", "weighted-token", "weighted-sequence",
                                                             "weighted-document", "weighted-class-weights"))
    assert outside(dumped, name, model) == 0


@pytest.mark.parametrize("name", [name for name in CASES if not name.endswith("constant")])
def test_a_count_of_each_rank_alone_is_rejected(dumped, name):
    model = model_of(dumped)
    atoms = window_rows(dumped, name)
    for rows in (atoms[0] + atoms[1], atoms[2] + atoms[3]):
        for row in rows:
            row.forward(model)
        s, n = objective(name, rows)
        ((s / n + other_terms(name, rows, model)) / 2).backward()
    assert outside(dumped, name, model) > 100


@pytest.mark.parametrize("name", [name for name in CASES if not name.endswith("constant")])
def test_an_evaluation_takes_the_same_objective_over_the_whole_set(dumped, name):
    result = json.loads((dumped / "result.json").read_text())[name]
    model = model_of(dumped)
    rows = [Row(json.loads(line)) for line in (dumped / f"{CASES[name][0]}.jsonl").open()]
    with torch.no_grad():
        for row in rows:
            row.forward(model)
        s, n = objective(name, rows)
    assert result["validation_loss"] == pytest.approx((s / n).item(), rel=1e-6)
