"""The tree keeps its rules, and a tree that breaks one of them is found out."""

import os
import pathlib

import pytest

from tree_rules import CODE_FOLDERS, source_files, tree_findings

SOURCE = pathlib.Path(os.environ["SAMEGRAD_SOURCE"])
HEADER = "// What this is.\n#pragma once\n"

GOOD = {
    "samegrad/base/error.h": HEADER,
    "samegrad/comm/environment.h": HEADER + '#include "samegrad/base/error.h"\n',
    "samegrad/train/state.h": HEADER + '#include <ATen/core/Tensor.h>\n#include "samegrad/ddp/window.h"\n',
    "samegrad/checkpoint/adapter.cpp": "#include <ATen/core/Tensor.h>\n",
    "samegrad/checkpoint/module_state.h": HEADER + "#include <ATen/core/Tensor.h>\n",
    "samegrad/comm/gloo_shim/gloo/common/error.h": HEADER,
    "samegrad/comm/c10d_store.h": HEADER + "#include <torch/csrc/distributed/c10d/Store.hpp>\n",
    "samegrad/launch/launch.cpp": '#include "samegrad/launch/launch.h"\n#include "samegrad/base/error.h"\n'
    '#include "samegrad/comm/environment.h"\n#include "samegrad/config/run_config.h"\n',
    "samegrad/base/log.cpp": 'void show() { std::cerr << "line"; }\n',
    "samegrad/base/untrusted_json.cpp": "Json::parse(text)\n",
    "samegrad/comm/watch.cpp": 'std::ifstream file("/proc/" + pid);\n',
    "samegrad/plan/long.cpp": "int a;\n" * 500,
    "apps/samegrad/train.cpp": '#include "samegrad/launch/launch.h"\n#include "samegrad/report/table.h"\nstd::cout\n',
    "tests/oracle/x_test.cpp": "#include <torch/torch.h>\n",
}

BROKEN = [
    ("samegrad/data/x.cpp", '#include "samegrad/plan/update_plan.h"\n', "data includes samegrad/plan/update_plan.h"),
    ("samegrad/base/x.cpp", "#include <samegrad/config/load.h>\n", "base includes samegrad/config/load.h"),
    ("samegrad/train/x.cpp", '#include "samegrad/launch/launch.h"\n', "train includes samegrad/launch/launch.h"),
    ("samegrad/report/x.cpp", '#include "samegrad/extra/x.h"\n', "report includes samegrad/extra/x.h"),
    ("samegrad/report/x.cpp", '#  include "apps/samegrad/x.h"\n', "not the full path of a file of samegrad"),
    ("samegrad/base/x.cpp", '#include "../plan/atom_tree.h"\n', "not the full path of a file of samegrad"),
    ("samegrad/launch/x.cpp", '#include "samegrad/comm/communicator.h"\n', "launch includes samegrad/comm/comm"),
    ("samegrad/launch/x.cpp", '#include "samegrad/config/load.h"\n', "launch includes samegrad/config/load.h"),
    ("samegrad/launch/x.cpp", '#include "samegrad/train/state.h"\n', "launch includes samegrad/train/state.h"),
    ("samegrad/extra/x.cpp", "", "samegrad/extra is no layer"),
    ("samegrad/report/x.cpp", "#include <ATen/ATen.h>\n", "report includes ATen/ATen.h, and is free of libtorch"),
    ("samegrad/comm/x.cpp", "#include <torch/csrc/autograd/variable.h>\n", "comm includes torch/csrc/autograd"),
    ("samegrad/comm/join.cpp", "#include <c10/util/intrusive_ptr.h>\n", "comm includes c10/util/intrusive_ptr.h"),
    ("samegrad/comm/c10d_store.h", HEADER + "#include <torch/torch.h>\n", "includes all of libtorch"),
    ("samegrad/base/x.h", HEADER + "#include <c10/core/Device.h>\n", "base includes c10/core/Device.h"),
    ("samegrad/checkpoint/x.h", HEADER + "#include <ATen/ATen.h>\n", "is free of libtorch in headers"),
    ("samegrad/model/x.h", HEADER + "#include <torch/torch.h>\n", "includes all of libtorch"),
    ("tests/oracle/x.h", HEADER + "#include <torch/torch.h>\n", "includes all of libtorch in a header"),
    ("samegrad/train/x.cpp", 'std::cout << "loss";\n', "prints"),
    ("samegrad/comm/x.cpp", 'fprintf(stderr, "late");\n', "prints"),
    ("samegrad/report/x.cpp", "const Json line = Json::parse(text);\n", "parses JSON by itself"),
    ("samegrad/data/x.cpp", "std::ifstream file(path);\n", "opens a file that may be a pipe"),
    ("samegrad/plan/x.cpp", "int a;\n" * 501, "501 lines, at most 500 are allowed"),
    ("tests/unit/test_x.py", "pass\n" * 501, "501 lines, at most 500 are allowed"),
    ("samegrad/plan/utils.cpp", "", "the name says nothing: utils"),
    ("samegrad/plan/window_manager.cpp", "", "the name says nothing: manager"),
    ("samegrad/plan/misc.h", HEADER, "the name says nothing: misc"),
    ("tests/helpers/x.py", "", "the name says nothing: helpers"),
    ("scripts/common.sh", "", "the name says nothing: common"),
    ("samegrad/plan/x.h", "#pragma once\n// What this is.\n", "the first line is not a comment"),
    ("samegrad/plan/x.h", "//\n#pragma once\n", "the first line is not a comment"),
    ("apps/samegrad/x.h", "// What this is.\nint a;\n", "has no #pragma once"),
]


def make_tree(root, files):
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def test_samegrad_keeps_its_rules():
    seen = {path.parts[0] for path in source_files(SOURCE)}
    assert {"samegrad", "apps", "tests"} <= seen <= set(CODE_FOLDERS)
    assert tree_findings(SOURCE) == []


def test_a_tree_that_keeps_them_is_not_reported(tmp_path):
    make_tree(tmp_path, GOOD)
    assert len(source_files(tmp_path)) == len(GOOD)
    assert tree_findings(tmp_path) == []


@pytest.mark.parametrize("name, text, reason", BROKEN)
def test_a_file_that_breaks_a_rule_is_reported(tmp_path, name, text, reason):
    make_tree(tmp_path, {**GOOD, name: text})
    (finding,) = tree_findings(tmp_path)
    assert finding.startswith(f"{name}: ")
    assert reason in finding
