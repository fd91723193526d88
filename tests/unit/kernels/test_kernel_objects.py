"""A kernel object shares no inline function with the rest of the program: the linker would keep one copy of it, perhaps
one with instructions that the processor does not have."""

import os
import pathlib
import shutil
import subprocess

import pytest

BUILD = pathlib.Path(os.environ["SAMEGRAD_BIN"]).parent
KERNELS = pathlib.Path(os.environ["SAMEGRAD_SOURCE"]) / "samegrad/kernels"
ISAS = ("portable", "avx2", "avx512")


def shared_functions(objects):
    """-> the weak and unique symbols that object files define."""
    listing = subprocess.run(["nm", "--defined-only", *objects], capture_output=True, text=True, check=True).stdout
    return [line.split()[-1] for line in listing.splitlines() if line.split()[1:2] and line.split()[1] in "VvWwu"]


def objects_of(isa):
    return sorted((BUILD / f"samegrad/kernels/CMakeFiles/samegrad_kernels_{isa}.dir").glob("*.o"))


def test_kernels_define_no_function_that_others_may_get():
    for isa in ISAS:
        objects = objects_of(isa)
        assert objects, isa
        assert shared_functions(objects) == [], isa


def test_an_inline_function_would_be_found(tmp_path):
    source = tmp_path / "x.cpp"
    source.write_text("template <class T> T twice(T x) { return x + x; }\ntemplate int twice(int);\n")
    subprocess.run(["c++", "-c", source, "-o", tmp_path / "x.o"], check=True)
    assert shared_functions([tmp_path / "x.o"]) == ["_Z5twiceIiET_S0_"]


@pytest.mark.skipif(shutil.which("clang++") is None, reason="no clang++, which the fuzz targets are built with")
def test_clang_compiles_every_kernel_without_a_warning():
    sources = sorted(KERNELS.glob("*.kernel.cpp"))
    assert len(sources) > 10
    done = subprocess.run(["clang++", "-fsyntax-only", "-std=c++20", "-Wall", "-Wextra", "-Wshadow", "-Werror",
                           "-DSAMEGRAD_ISA=portable", f"-I{KERNELS.parents[1]}", *sources], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
