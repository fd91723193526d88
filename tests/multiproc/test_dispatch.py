"""Which kernels a run uses is recorded as it is, the same on all ranks, and kept by a resume."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import torch

from signed_manifest import sign_again

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])
QUICK = {"plan.updates": 4, "plan.stop_at": 2, "model.width": 32, "model.layers": 1, "model.feed_forward": 64,
         "data.train_sequences": 128, "data.validation_sequences": 8, "data.test_sequences": 8}


def train(folder, *words, ranks=1, program=BIN / "samegrad", variables=None, **settings):
    keys = {**QUICK, **{key.replace("__", "."): value for key, value in settings.items()}}
    command = [program, "train", "--quiet", *(["--nproc", str(ranks)] if ranks else []), *words]
    for key, value in keys.items():
        command += ["--set", f"{key}={value}"]
    return subprocess.run(command, cwd=folder, env={**os.environ, **(variables or {})}, capture_output=True, text=True,
                          timeout=120)


def trained(folder, *words, **options):
    done = train(folder, *words, **options)
    assert done.returncode == 0, done.stderr
    return done


def recorded(folder, step=2):
    manifest = json.loads((folder / f"artifacts/checkpoints/step-{step:04d}/manifest.json").read_text())
    return manifest["facts"]["dispatch"]


def capability_in_python(variables):
    program = "import torch; print(torch.backends.cpu.get_cpu_capability())"
    return subprocess.run([sys.executable, "-c", program], env={**os.environ, **variables}, capture_output=True,
                          text=True, check=True).stdout.strip()


def test_the_record_holds_the_effective_values(tmp_path):
    trained(tmp_path)
    dispatch = recorded(tmp_path)
    assert dispatch["aten_capability"] == torch.backends.cpu.get_cpu_capability()
    assert dispatch["libtorch"].startswith(torch.__version__.split("+")[0] + " build ")
    assert dispatch["mkl_cbwr"] == "AUTO" and dispatch["onednn_max_isa"] == "DEFAULT"
    assert dispatch["compute_threads"] == dispatch["mkl_threads"] == "1"
    cpu = dict(line.split(":", 1) for line in pathlib.Path("/proc/cpuinfo").read_text().split("\n\n")[0].split("\n"))
    cpu = {name.strip(): value.strip() for name, value in cpu.items()}
    assert dispatch["processor"] == f"{cpu['vendor_id']} family {cpu['cpu family']} model {cpu['model']}"
    assert dispatch["floating_point"] == "rounding to nearest"
    assert json.loads((tmp_path / "outputs/run.json").read_text())["dispatch"] == dispatch


def test_the_record_follows_what_is_in_effect_and_not_the_variables(tmp_path):
    """The worker by itself, whose environment nobody pins; a variable that ATen does not know has no effect."""
    variables = {"MKL_CBWR": "COMPATIBLE", "ATEN_CPU_CAPABILITY": "nonsense", "OMP_NUM_THREADS": "2"}
    trained(tmp_path, ranks=0, program=BIN / "samegrad-worker", variables=variables)
    dispatch = recorded(tmp_path)
    assert dispatch["mkl_cbwr"] == "COMPATIBLE"
    assert dispatch["aten_capability"] == torch.backends.cpu.get_cpu_capability()
    assert dispatch["compute_threads"] == "2"


def test_run_isa_shows_in_the_record(tmp_path):
    trained(tmp_path, run__isa="default")
    assert recorded(tmp_path)["aten_capability"] == "DEFAULT"
    assert recorded(tmp_path)["onednn_max_isa"] == "SSE41"
    trained(tmp_path, run__isa="avx2")
    assert recorded(tmp_path)["aten_capability"] == capability_in_python({"ATEN_CPU_CAPABILITY": "avx2"})


def test_a_rank_under_another_variable_is_refused_by_all(tmp_path):
    """The front starts the worker that lies beside it: here a script that gives one rank another variable."""
    shutil.copy(BIN / "samegrad", tmp_path / "samegrad")
    worker = tmp_path / "samegrad-worker"
    worker.write_text(f'#!/bin/sh\n[ "$RANK" != 1 ] || export MKL_CBWR=COMPATIBLE\nexec {BIN}/samegrad-worker "$@"\n')
    worker.chmod(0o755)
    done = train(tmp_path, ranks=3, program=tmp_path / "samegrad")
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("[dispatch] ranks differ in mkl_cbwr: rank 0 has AUTO, rank 1 has COMPATIBLE; "), line
    assert not (tmp_path / "outputs").exists()
    worker.write_text(f'#!/bin/sh\nexec {BIN}/samegrad-worker "$@"\n')
    trained(tmp_path, ranks=3, program=tmp_path / "samegrad")


def test_a_resume_under_another_dispatch_names_both_values_and_needs_the_flag(tmp_path):
    trained(tmp_path, ranks=2)
    before = (tmp_path / "outputs/metrics.jsonl").read_bytes()
    was = recorded(tmp_path)["aten_capability"]
    assert was != "DEFAULT", "this machine has no other capability to resume under"
    refused = train(tmp_path, "--resume", "latest", ranks=2, run__isa="default")
    assert refused.returncode == 2
    (line,) = refused.stderr.strip().splitlines()
    assert line.startswith("[resume] ") and "--allow-other-dispatch" in line
    assert f"aten_capability was {was}, here DEFAULT; samegrad_kernels was {was.lower()}, here portable; " in line, line
    assert "onednn_max_isa was DEFAULT, here SSE41" in line, line
    assert (tmp_path / "outputs/metrics.jsonl").read_bytes() == before

    allowed = trained(tmp_path, "--resume", "latest", "--allow-other-dispatch", ranks=2, run__isa="default")
    (warning,) = allowed.stderr.strip().splitlines()
    assert warning.startswith("warning: [resume] ") and "bits may differ from update 3 on" in warning, warning
    assert recorded(tmp_path, step=4)["aten_capability"] == "DEFAULT"


def test_a_resume_under_the_same_dispatch_says_nothing(tmp_path):
    trained(tmp_path)
    assert trained(tmp_path, "--resume", "latest", ranks=2).stderr == ""


def test_a_checkpoint_without_a_record_is_said_to_be_unknown(tmp_path):
    trained(tmp_path)
    older = {"MKL_CBWR": "AUTO", "ATEN_CPU_CAPABILITY": "", "ONEDNN_MAX_CPU_ISA": "", "OMP_NUM_THREADS": "1"}
    sign_again(tmp_path / "artifacts/checkpoints/step-0002", lambda manifest: manifest["facts"].update(dispatch=older))
    resumed = trained(tmp_path, "--resume", "latest")
    (warning,) = resumed.stderr.strip().splitlines()
    assert "does not record the dispatch that it was made under" in warning and "unknown" in warning, warning
