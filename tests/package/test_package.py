"""samegrad as a library from outside: the installed package, the examples built against it, and its source as a part of
another project."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])
SOURCE = pathlib.Path(os.environ["SAMEGRAD_SOURCE"])
EXAMPLES = SOURCE / "examples"
# Always the same folder, so that the compiler cache knows the commands.
PLACE = BIN.parent / "package"


def call(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=280, **options)


def done(*words, **options):
    result = call(*words, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def flags_of_the_build():
    """Of a sanitizer, without which a program cannot be linked with a library that has them."""
    return re.search(r"^CMAKE_CXX_FLAGS:STRING=(.*)$", (BIN.parent / "CMakeCache.txt").read_text(), re.MULTILINE)[1]


def configure(source, build, *settings):
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    return call("cmake", "-G", "Ninja", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release", *launcher, *settings)


@pytest.fixture(scope="module")
def prefix():
    """The package, moved after it was installed."""
    shutil.rmtree(PLACE, ignore_errors=True)
    done("cmake", "--install", BIN.parent, "--component", "library", "--prefix", PLACE / "installed")
    (PLACE / "installed").rename(PLACE / "moved")
    return PLACE / "moved"


@pytest.fixture(scope="module")
def examples(prefix):
    """Folder of the built examples."""
    configured = configure(SOURCE / "tests/package/outside", PLACE / "outside", f"-DCMAKE_PREFIX_PATH={prefix}",
                           f"-DSAMEGRAD_EXAMPLES={EXAMPLES}", f"-DCMAKE_CXX_FLAGS={flags_of_the_build()} -Wall -Wextra -Wshadow -Werror")
    assert configured.returncode == 0, configured.stderr
    done("ninja", "-j1", "-C", PLACE / "outside")
    return PLACE / "outside"


def project(folder, text, name="user"):
    """A project of one CMakeLists.txt."""
    source = folder / name
    source.mkdir()
    (source / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.25)\nproject({name} LANGUAGES CXX)\n{text}")
    return source


def launch(ranks, program):
    """What the program prints on that many ranks, sorted by line."""
    return sorted(done(BIN / "samegrad", "launch", "--nproc", ranks, "--no-prefix", "--", program).splitlines())


def test_the_package_holds_the_library_and_its_headers_and_nothing_of_the_programs(prefix):
    installed = {str(file.relative_to(prefix)) for file in prefix.rglob("*") if file.is_file()}
    assert {"include/samegrad/comm/init.h", "include/samegrad/ddp/distributed_data_parallel.h",
            "include/samegrad/plan/atom_tree.h", "include/samegrad/objective/window_units.h", "lib/libsamegrad_ddp.a",
            "lib/cmake/samegrad/samegradConfig.cmake"} <= installed
    folders = {name.split("/")[2] for name in installed if name.startswith("include/")}
    assert folders <= {"base", "objective", "plan", "comm", "ddp", "checkpoint"}
    assert not any(name.startswith("bin/") for name in installed)
    targets = "".join(file.read_text() for file in prefix.glob("lib/cmake/samegrad/*.cmake"))
    for foreign in ("yaml", "CLI11", "simdjson", "Werror", "ffp-contract", str(SOURCE / "samegrad"), str(PLACE)):
        assert foreign not in targets, foreign


def test_the_programs_are_a_component_of_their_own_and_find_each_other_and_libtorch(prefix):
    done("cmake", "--install", BIN.parent, "--component", "programs", "--prefix", PLACE / "programs")
    assert {file.name for file in (PLACE / "programs").rglob("*") if file.is_file()} == {"samegrad", "samegrad-worker"}
    assert '"ok": true' in done(PLACE / "programs/bin/samegrad", "env", "--dual", "--json")


def test_every_example_is_built_and_listed(examples):
    names = {file.parent.name for file in EXAMPLES.glob("*/CMakeLists.txt")}
    assert {"minimal", "token_weighting", "mnist_like", "own_hook", "uneven_inputs", "torchrun"} <= names
    listed = set(re.findall(r"^\| \[(\w+)\]", (EXAMPLES / "README.md").read_text(), re.MULTILINE))
    started = set(re.findall(r"build/(\w+)/\1` \|$", (EXAMPLES / "README.md").read_text(), re.MULTILINE))
    assert names == listed == started == {name for name in names if (examples / name).exists()}


ONE_PROCESS = """
import torch
torch.manual_seed(1)
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
x = torch.linspace(-1, 1, 32).view(32, 1)
for update in range(50):
    optimizer.zero_grad()
    loss = (model(x) - (3 * x + 0.5)).square().mean()
    loss.backward()
    optimizer.step()
print(loss.item(), model.weight.item(), model.bias.item())
"""


def test_minimal_has_the_same_bits_on_1_2_and_3_processes_and_agrees_with_pytorch(examples):
    (line,) = launch(1, examples / "minimal")
    assert launch(2, examples / "minimal") == launch(3, examples / "minimal") == [line]
    found = [float(number) for number in re.findall(r" (\S+?)(?:,|$)", line)]
    expected = [float(number) for number in done(SOURCE / ".venv/bin/python", "-c", ONE_PROCESS).split()]
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-9) and len(found) == 3


def test_token_weighting_gives_the_mean_over_tokens_and_shows_the_mean_of_means(examples):
    """(12 * 1 + 36 * 3) / 48 = 2.5, and (1 + 3) / 2 = 2."""
    right = "mean over 48 tokens: loss 2.5, gradient 2.5"
    assert launch(1, examples / "token_weighting") == launch(3, examples / "token_weighting") == [right]
    assert launch(2, examples / "token_weighting") == ["mean of the ranks' means: gradient 2", right]


def test_mnist_like_learns_with_the_same_bits_on_1_2_and_3_processes(examples):
    (line,) = launch(1, examples / "mnist_like")
    assert launch(2, examples / "mnist_like") == launch(3, examples / "mnist_like") == [line]
    form = r"loss (\S+), test accuracy (\S+), parameters ([0-9a-f]{32}), buffers ([0-9a-f]{32})"
    loss, accuracy, parameters, buffers = re.fullmatch(form, line).groups()
    assert float(loss) < 0.5 and float(accuracy) > 0.9 and parameters != buffers


def test_own_hook_weights_ranks_by_their_samples(examples):
    """(12 * 1 + 36 * 3) / 48 = 2.5; a mean of means is 2."""
    assert launch(1, examples / "own_hook") == ["gradient over 12 samples: 1"]
    assert launch(2, examples / "own_hook") == ["gradient over 48 samples: 2.5"]
    assert launch(3, examples / "own_hook") == ["gradient over 84 samples: 2.71429"]


def test_uneven_inputs_end_with_the_same_parameters_on_all_ranks(examples):
    """Each update is the mean over all ranks: 1, 1, then 2/3, 2/3 without rank 0, then 1/3, 1/3 without rank 1."""
    assert launch(1, examples / "uneven_inputs") == ["rank 0: 2 batches, weight -2"]
    assert launch(3, examples / "uneven_inputs") == [f"rank {rank}: {2 * rank + 2} batches, weight -4" for rank in range(3)]


def test_the_program_under_torchrun(examples):
    said = done(SOURCE / ".venv/bin/torchrun", "--no-python", "--nproc-per-node", 2, examples / "torchrun")
    assert sorted(said.splitlines()) == [f"rank {rank} of 2 over shm: gradient 1.5" for rank in range(2)]


@pytest.mark.parametrize("way", [
    "add_subdirectory({source} samegrad.build)",
    "include(FetchContent)\nFetchContent_Declare(samegrad SOURCE_DIR {source})\nFetchContent_MakeAvailable(samegrad)",
], ids=["add_subdirectory", "FetchContent"])
def test_the_source_is_a_part_of_another_project_which_keeps_its_own_settings(tmp_path, way):
    source = project(tmp_path, way.format(source=SOURCE) + """
foreach(foreign samegrad samegrad-worker samegrad_config samegrad_data)
  if(TARGET ${foreign})
    message(FATAL_ERROR "${foreign} is a target")
  endif()
endforeach()
foreach(variable CMAKE_CXX_STANDARD CMAKE_RUNTIME_OUTPUT_DIRECTORY CMAKE_POSITION_INDEPENDENT_CODE
         CMAKE_EXPORT_COMPILE_COMMANDS)
  if(NOT "${${variable}}" STREQUAL "")
    message(FATAL_ERROR "${variable} is ${${variable}}")
  endif()
endforeach()
file(WRITE ${CMAKE_BINARY_DIR}/uses.cpp "#include <samegrad/comm/init.h>\\nint main() { return 0; }\\n")
add_executable(uses ${CMAKE_BINARY_DIR}/uses.cpp)
target_link_libraries(uses PRIVATE samegrad::ddp)
""")
    absent = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{package}=ON" for package in ("yaml-cpp", "CLI11", "simdjson", "GTest")]
    configured = configure(source, tmp_path / "build", *absent)
    assert configured.returncode == 0, configured.stderr
    (scale,) = re.findall(r"^(\S+/scale\.cpp\.o):", done("ninja", "-C", tmp_path / "build", "-t", "targets", "all"), re.M)
    done("ninja", "-C", tmp_path / "build", scale)
    commands = done("ninja", "-C", tmp_path / "build", "-t", "commands", "uses")
    (own,) = [line for line in commands.splitlines() if "-c " in line and "uses.cpp" in line]
    assert "-Werror" not in own and "-ffp-contract" not in own and "pch" not in own, own


FAKE = """#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 10
#define TORCH_VERSION_PATCH 1
"""


def fake_libtorch(folder):
    header = folder / "fake/include/torch/headeronly/version.h"
    header.parent.mkdir(parents=True)
    header.write_text(FAKE)
    return folder / "fake"


def test_another_version_of_libtorch_is_refused_by_name_when_configuring(tmp_path, prefix):
    fake = fake_libtorch(tmp_path)
    given = project(tmp_path, "find_package(samegrad CONFIG REQUIRED)\n", "given")
    found = project(tmp_path, f"""add_library(torch INTERFACE IMPORTED)
target_include_directories(torch INTERFACE {fake}/include)
find_package(samegrad CONFIG REQUIRED)
""", "found")
    for source, settings in [(given, [f"-DSAMEGRAD_LIBTORCH={fake}"]), (found, []), (SOURCE, [f"-DSAMEGRAD_LIBTORCH={fake}"])]:
        refused = configure(source, tmp_path / f"{source.name}.build", f"-DCMAKE_PREFIX_PATH={prefix}", *settings)
        said = " ".join(refused.stderr.split())
        assert refused.returncode != 0
        assert "[configure] libtorch version: 2.10.1 in '" in said and "supported is 2.11.x" in said, said


def test_a_folder_without_libtorch_is_refused_with_what_to_give(tmp_path, prefix):
    source = project(tmp_path, "find_package(samegrad CONFIG REQUIRED)\n")
    refused = configure(source, tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DSAMEGRAD_LIBTORCH={tmp_path}")
    assert refused.returncode != 0
    assert "give -DSAMEGRAD_LIBTORCH=DIR with DIR/include and DIR/lib" in " ".join(refused.stderr.split())


def test_a_torch_that_the_project_has_found_itself_is_the_one_that_is_linked(tmp_path, prefix):
    (torch,) = SOURCE.glob(".venv/lib/python3*/site-packages/torch")
    source = project(tmp_path, f"""add_library(torch INTERFACE IMPORTED)
target_include_directories(torch INTERFACE {torch}/include)
find_package(samegrad CONFIG REQUIRED)
get_target_property(linked Libtorch::cpu INTERFACE_LINK_LIBRARIES)
message(STATUS "linked: ${{linked}}, version ${{Libtorch_VERSION}}")
""")
    configured = configure(source, tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    assert "linked: torch, version 2.11." in configured.stdout, configured.stdout + configured.stderr


def test_another_minor_version_of_samegrad_is_refused(tmp_path, prefix):
    source = project(tmp_path, "find_package(samegrad 0.2 CONFIG REQUIRED)\n")
    refused = configure(source, tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    assert refused.returncode != 0 and 'compatible with requested version "0.2"' in " ".join(refused.stderr.split())
