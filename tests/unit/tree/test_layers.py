"""The tree's own rules: folders include to the left only, files stay small, only the edge prints, names say something."""

import os
import pathlib
import re

import pytest

SOURCE = pathlib.Path(os.environ["SAMEGRAD_SOURCE"])
LAYERS = "base config data plan objective comm ddp model train checkpoint report".split()
# Starts processes: it needs to know how ranks find each other, and nothing of what they compute.
LAUNCH_MAY_SEE = {"base", "comm", "launch"}
TORCH_LAYERS = {"ddp", "model", "train", "checkpoint"}
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)
PRINTS = re.compile(r"std::c(out|err|log)\b|\b(f?printf|f?puts|fwrite)\s*\(\s*(stdout|stderr|\")")
VAGUE = {"utils", "util", "common", "helpers", "helper", "manager", "misc"}
MOST_LINES = 500


def layer_may_include(layer, other):
    if layer == "launch":
        return other in LAUNCH_MAY_SEE
    return other in LAYERS and LAYERS.index(other) <= LAYERS.index(layer)


def findings_of(layer, name, text):
    """What a source file of samegrad/<layer>/ must not do, as a list of lines."""
    found = []
    for included in INCLUDE.findall(text):
        parts = included.split("/")
        if parts[0] == "samegrad" and not layer_may_include(layer, parts[1]):
            found.append(f"{name}: {layer} includes {included}")
        if parts[0] in ("ATen", "torch", "c10") and layer not in TORCH_LAYERS:
            found.append(f"{name}: {layer} includes {included}, and is free of libtorch")
        if included == "torch/torch.h":
            found.append(f"{name}: includes all of libtorch")
    if layer != "base" and PRINTS.search(text):
        found.append(f"{name}: prints")
    return found


def sources(folder):
    return sorted([*(SOURCE / folder).rglob("*.h"), *(SOURCE / folder).rglob("*.cpp")])


def test_samegrad_keeps_its_layers():
    files = sources("samegrad")
    assert len(files) > 50
    findings = []
    for file in files:
        layer = file.relative_to(SOURCE / "samegrad").parts[0]
        findings += findings_of(layer, str(file.relative_to(SOURCE)), file.read_text())
    assert findings == []


@pytest.mark.parametrize(
    "layer, text, reason",
    [
        ("data", '#include "samegrad/plan/update_plan.h"\n', "data includes samegrad/plan"),
        ("launch", '#include "samegrad/config/run_config.h"\n', "launch includes samegrad/config"),
        ("train", '#include "samegrad/launch/x.h"\n', "train includes samegrad/launch"),
        ("report", "#include <ATen/ATen.h>\n", "free of libtorch"),
        ("model", "#include <torch/torch.h>\n", "all of libtorch"),
        ("train", 'std::cout << "loss";\n', "prints"),
        ("comm", 'fprintf(stderr, "late");\n', "prints"),
    ],
)
def test_what_breaks_a_layer_is_found(layer, text, reason):
    (finding,) = findings_of(layer, "x.cpp", text)
    assert reason in finding


def test_an_include_to_the_left_is_allowed():
    assert findings_of("train", "x.cpp", '#include "samegrad/ddp/window.h"\n#include <ATen/core/Tensor.h>\n') == []


@pytest.mark.parametrize("folder", ["samegrad", "apps", "tests"])
def test_files_are_small_and_named_for_what_they_hold(folder):
    files = sources(folder) + sorted((SOURCE / folder).rglob("*.py"))
    long = [f"{file}: {lines}" for file in files if (lines := len(file.read_text().splitlines())) > MOST_LINES]
    vague = [str(file) for file in files if VAGUE & {file.stem, *file.relative_to(SOURCE).parts[:-1]}]
    assert (long, vague) == ([], [])
