"""The rules of the source tree, as one function from a folder to what breaks them in it.

Folders of samegrad/ include to the left only (docs/architecture.md); libtorch stays where tensors are; only the edge
prints; files stay small, are named for what they hold, and headers say first what they are.
"""

import re

READ_THE_KERNEL = {"comm", "launch"}  # files of /proc and /sys
UNTRUSTED_JSON = "samegrad/base/untrusted_json.cpp"
LAYERS = "base kernels config data plan objective comm ddp model train checkpoint report".split()
# Starts processes: it needs to know what is asked for and how ranks find each other, and nothing of what they compute.
LAUNCH_MAY_INCLUDE = re.compile(r"samegrad/(base/.*|launch/.*|comm/(environment|launched_ranks|status_record)\.h|config/run_config\.h)")
TORCH_LAYERS = {"ddp", "model", "train"}
TORCH_ADAPTER_LAYERS = {"checkpoint"}  # in a .cpp only, so that what includes them stays free of libtorch
# Libraries of their own, beside the torch-free rest of their folder.
TORCH_FILES = re.compile(r"samegrad/(comm/(aten|c10d|gloo)|checkpoint/(module|optimizer))_\w+\.(h|cpp)")
TORCH = re.compile(r"(ATen|c10|torch)/")
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)
PRINTS = re.compile(r"std::c(out|err|log)\b|\b(f?printf|f?puts|fwrite)\s*\(\s*(stdout|stderr|\")")
NAMES_OF_OTHERS = "samegrad/comm/gloo_shim/"  # paths as PyTorch's headers include them
VAGUE = {"util", "utils", "common", "helper", "helpers", "manager", "managers", "misc"}
MOST_LINES = 500
CODE_FOLDERS = ["samegrad", "apps", "tests", "benchmarks", "examples", "scripts", "cmake"]
CODE_SUFFIXES = {".h", ".cpp", ".py", ".sh", ".cmake", ".txt"}
BUILT_FOLDERS = {"__pycache__", "build"}


def may_include(layer, included):
    """Whether a file of samegrad/<layer>/ may include the file samegrad/..."""
    if layer == "launch":
        return LAUNCH_MAY_INCLUDE.fullmatch(included) is not None
    other = included.split("/")[1]
    return other in LAYERS and LAYERS.index(other) <= LAYERS.index(layer)


def torch_findings(path, included):
    if included == "torch/torch.h":
        return ["includes all of libtorch"]
    layer, is_header = path.parts[1], path.suffix == ".h"
    if TORCH_FILES.fullmatch(str(path)):
        return []
    if layer in TORCH_LAYERS or (layer in TORCH_ADAPTER_LAYERS and not is_header):
        return []
    return [f"{layer} includes {included}, and is free of libtorch" + (" in headers" * (layer in TORCH_ADAPTER_LAYERS))]


def layer_findings(path, text):
    """What a source file of samegrad/<layer>/ must not do."""
    layer = path.parts[1]
    if layer not in [*LAYERS, "launch"]:
        return [f"samegrad/{layer} is no layer"]
    found = []
    for mark, included in INCLUDE.findall(text):
        if TORCH.match(included):
            found += torch_findings(path, included)
        elif included.startswith("samegrad/"):
            if not may_include(layer, included):
                found.append(f"{layer} includes {included}")
        elif mark == '"':
            found.append(f'includes "{included}", which is not the full path of a file of samegrad')
    if layer != "base" and PRINTS.search(text):
        found.append("prints")
    if str(path) != UNTRUSTED_JSON and "Json::parse(" in text:
        found.append("parses JSON by itself; base/untrusted_json.h does it so that nobody's text does harm")
    if layer not in READ_THE_KERNEL and "std::ifstream" in text:
        found.append("opens a file that may be a pipe or a device; base/regular_file.h does it")
    return found


def shape_findings(path, text):
    """What no file of the tree may be like; `path` is relative to the root."""
    found = []
    lines = len(text.splitlines())
    if lines > MOST_LINES:
        found.append(f"{lines} lines, at most {MOST_LINES} are allowed")
    words = {word for part in [*path.parts[:-1], path.stem] for word in re.split(r"[_\-.]", part.lower())}
    if VAGUE & words and not str(path).startswith(NAMES_OF_OTHERS):
        found.append(f"the name says nothing: {', '.join(sorted(VAGUE & words))}")
    if path.suffix == ".h":
        if not re.match(r"//+ *\w", text):
            found.append("the first line is not a comment that says what the header is")
        if "#pragma once" not in text.splitlines():
            found.append("has no #pragma once")
        if path.parts[0] != "samegrad" and ("<", "torch/torch.h") in INCLUDE.findall(text):
            found.append("includes all of libtorch in a header")
    return found


def source_files(root):
    """All files under the rules, as paths relative to the root."""
    files = [file for folder in CODE_FOLDERS for file in (root / folder).rglob("*") if file.suffix in CODE_SUFFIXES]
    paths = [file.relative_to(root) for file in files if file.is_file()]
    return sorted(path for path in paths if not BUILT_FOLDERS & set(path.parts))


def tree_findings(root):
    """Everything in the tree that breaks a rule, one line each."""
    found = []
    for path in source_files(root):
        text = (root / path).read_text()
        reasons = shape_findings(path, text)
        if path.parts[0] == "samegrad" and path.suffix in (".h", ".cpp"):
            reasons += layer_findings(path, text)
        found += [f"{path}: {reason}" for reason in reasons]
    return found
