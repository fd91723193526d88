"""Our tensor files and those of the `safetensors` package are the same format, in both directions."""

import json
import os
import pathlib
import subprocess

import numpy
import pytest
import safetensors
import safetensors.numpy

PROGRAM = pathlib.Path(os.environ["SAMEGRAD_BIN"]) / "safetensors-program"


def run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True)


def read_by_samegrad(path):
    """-> ({name: (dtype, shape, bytes)}, metadata)"""
    done = run("read", path)
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    tensors = {t["name"]: (t["dtype"], tuple(t["shape"]), bytes.fromhex(t["bytes"])) for t in shown["tensors"]}
    return tensors, shown["metadata"]


def test_the_package_reads_what_samegrad_writes(tmp_path):
    path = tmp_path / "x.safetensors"
    assert run("write", path).returncode == 0
    expected = {
        "z.weight": numpy.array([[0.1, -0.0, 1e-45], [3.4028235e38, -1.5, 0.0]], numpy.float32),
        "a.double": numpy.array([[0.1], [-1e308]], numpy.float64),
        "scalar": numpy.array(-(2**63), numpy.int64),
        "empty": numpy.zeros((0, 4), numpy.float32),
        '\u00fc "bytes"\n': numpy.array([0, 127, 255], numpy.uint8),
    }
    with safetensors.safe_open(path, framework="numpy") as file:
        assert file.metadata() == {"note": '\u00e9\t"x"', "empty": ""}
        assert set(file.keys()) == set(expected)
        for name, values in expected.items():
            tensor = file.get_tensor(name)
            assert (tensor.dtype, tensor.shape, tensor.tobytes()) == (values.dtype, values.shape, values.tobytes())


def test_torch_reads_what_samegrad_writes(tmp_path):
    import safetensors.torch
    import torch

    path = tmp_path / "x.safetensors"
    assert run("write", path).returncode == 0
    tensors = safetensors.torch.load_file(path)
    assert tensors["a.double"].dtype == torch.float64 and tensors["a.double"].tolist() == [[0.1], [-1e308]]
    assert tensors["z.weight"].shape == (2, 3)


def test_samegrad_writes_the_same_bytes_each_time(tmp_path):
    for name in ("a", "b"):
        assert run("write", tmp_path / name).returncode == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("metadata", [None, {"k": "v \u00e9\n", "empty": ""}])
def test_samegrad_reads_what_the_package_writes(tmp_path, metadata):
    generator = numpy.random.default_rng(7)
    arrays = {
        "weight": generator.standard_normal((3, 5)).astype(numpy.float32),
        "b/\u00fc": generator.standard_normal(3),
        "count": numpy.array(2**62, numpy.int64),
        "nothing": numpy.zeros((2, 0), numpy.float64),
        "half": numpy.array([1.5, -0.0, 6e-8], numpy.float16),
        "short": numpy.array([-(2**15)], numpy.int16),
        "int": numpy.array([[2**31 - 1]], numpy.int32),
        "byte": numpy.array([-128, 127], numpy.int8),
        "flag": numpy.array([True, False]),
        "odd": numpy.arange(7, dtype=numpy.uint8),
    }
    path = tmp_path / "x.safetensors"
    safetensors.numpy.save_file(arrays, path, metadata)
    names = {"float32": "F32", "float64": "F64", "int64": "I64", "uint8": "U8"}
    names |= {"float16": "F16", "int16": "I16", "int32": "I32", "int8": "I8", "bool": "BOOL"}
    tensors, read_metadata = read_by_samegrad(path)
    assert read_metadata == (metadata or {})
    assert tensors == {name: (names[a.dtype.name], a.shape, a.tobytes()) for name, a in arrays.items()}


def test_a_type_that_samegrad_does_not_know_is_refused_by_name(tmp_path):
    path = tmp_path / "x.safetensors"
    safetensors.numpy.save_file({"word": numpy.zeros(2, numpy.uint32)}, path)
    done = run("read", path)
    assert done.returncode == 3
    assert "tensor 'word': dtype 'U32'" in done.stderr


def header_file(path, header, data):
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)


GOOD = b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'


REFUSED = {
    "data-cut": (GOOD, 7),
    "data-behind": (GOOD, 9),
    "json-cut": (GOOD[:-1], 8),
    "gap": (GOOD.replace(b"[0,8]", b"[1,8]"), 8),
    "shape": (GOOD.replace(b"[2]", b"[3]"), 8),
    "type": (GOOD.replace(b"F32", b"X32"), 8),
    "overflow": (GOOD.replace(b"[2]", b"[4611686018427387904,4]"), 8),
    "negative": (GOOD.replace(b"[2]", b"[-2]"), 8),
    "not-utf8": (GOOD.replace(b'"a"', b'"\xff"'), 8),
}


@pytest.mark.parametrize("header, data", REFUSED.values(), ids=REFUSED)
def test_what_the_package_refuses_samegrad_refuses_too(tmp_path, header, data):
    path = tmp_path / "x.safetensors"
    header_file(path, GOOD, bytes(8))
    assert run("read", path).returncode == 0
    assert list(safetensors.numpy.load_file(path)) == ["a"]
    header_file(path, header, bytes(data))
    with pytest.raises((safetensors.SafetensorError, UnicodeDecodeError)):
        safetensors.numpy.load_file(path)
    assert run("read", path).returncode == 3
