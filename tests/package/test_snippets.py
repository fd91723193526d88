"""Every C++ block of the documents compiles, given what a program of a user's own has: a model, an optimizer, atoms."""

import json
import os
import pathlib
import re
import shlex
import subprocess

import pytest

BUILD = pathlib.Path(os.environ["SAMEGRAD_BIN"]).parent
SOURCE = pathlib.Path(os.environ["SAMEGRAD_SOURCE"])
BLOCK = re.compile(r"^```(?:cpp|c\+\+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INCLUDE = re.compile(r"^#include .*$", re.MULTILINE)

# What blocks may use without saying so. Names that a block declares itself hide these.
USERS_OWN = """
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>
#include <vector>
#include "samegrad/comm/init.h"
#include "samegrad/ddp/distributed_data_parallel.h"
#include "samegrad/objective/window_units.h"
struct Atom { at::Tensor x, y; };
struct Row { std::int64_t atom, tokens; };
extern torch::nn::Linear model;
extern const samegrad::World world;
extern samegrad::DistributedDataParallel<torch::nn::Linear> ddp;
extern torch::optim::SGD optimizer;
extern const at::Tensor x, y;
extern const std::vector<Atom> atoms;
extern const std::vector<std::vector<Atom>> updates;
extern const std::int64_t units, first_atom, end_atom;
extern const std::vector<Row> rows_of_all_ranks;
std::vector<samegrad::UnitRow> rows_of(std::int64_t atom);
std::int64_t units_of(const std::vector<Atom>& atoms);
at::Tensor loss(const at::Tensor& output, const at::Tensor& y);
at::Tensor loss_sum(const at::Tensor& output, const at::Tensor& y);
at::Tensor token_losses(samegrad::DistributedDataParallel<torch::nn::Linear>& ddp, std::int64_t atom);
"""

WRONG = """Text.

```cpp
auto window = ddp.window({.count = units, .atoms = atoms.size()});
window.backward([&] { return 1; });
window.reduce_all();
```

```cpp
samegrad::World here = samegrad::init();
```
"""


def blocks(name, text):
    """-> [(document, line of the block's first line, code)]"""
    return [(name, text[:match.start(1)].count("\n") + 1, match[1]) for match in BLOCK.finditer(text)]


def unit_of(found):
    """One translation unit, in which compilers name documents and their lines."""
    unit = USERS_OWN
    for number, (name, line, code) in enumerate(found):
        unit += "".join(f"#line {line} \"{name}\"\n{include}\n" for include in INCLUDE.findall(code))
        body = INCLUDE.sub("", code)
        # A program is taken as it is, under a name space of its own; statements are a function's.
        opening = f"namespace block_{number} {{" if re.search(r"^int main\(", body, re.MULTILINE) else f"void block_{number}() {{"
        unit += f"{opening}\n#line {line} \"{name}\"\n{body}}}\n"
    return unit


def errors_in(unit, folder):
    """{(document, line)} of the compiler's errors, by the flags of this build's own tests."""
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    (entry,) = [entry for entry in commands if entry["file"].endswith("tests/unit/ddp/model_window_test.cpp")]
    words = shlex.split(entry["command"])
    words = [word for word in words if word not in ("-c", "-Werror", entry["file"])]
    del words[words.index("-o"):words.index("-o") + 2]
    source = folder / "snippets.cpp"
    source.write_text(unit)
    said = subprocess.run([*words, "-w", "-fsyntax-only", "-fmax-errors=0", source], cwd=entry["directory"],
                          capture_output=True, text=True).stderr
    found = {(name, int(line)) for name, line in re.findall(r"^([^\s:]+):(\d+):\d+: (?:fatal )?error:", said, re.MULTILINE)}
    return found, said


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Once for all documents and the wrong one: what is slow is libtorch's headers."""
    found = []
    for document in sorted([SOURCE / "README.md", *SOURCE.glob("docs/*.md"), *SOURCE.glob("examples/*.md")]):
        found += blocks(str(document.relative_to(SOURCE)), document.read_text())
    assert {"README.md", "docs/ddp.md", "docs/using-the-library.md", "docs/objectives.md"} <= {name for name, _, _ in found}
    return errors_in(unit_of(found + blocks("wrong.md", WRONG)), tmp_path_factory.mktemp("snippets"))


def test_every_block_of_the_documents_compiles(compiled):
    errors, said = compiled
    assert {place for place in errors if place[0] != "wrong.md"} == set(), said


def test_a_wrong_block_is_rejected_on_its_lines_and_the_right_one_beside_it_is_not(compiled):
    assert {line for name, line in compiled[0] if name == "wrong.md"} == {5, 6}
