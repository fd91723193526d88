"""Whatever lies where a file is expected - a pipe, a device, a loop of links, gigabytes of nothing - each command refuses it
by one line and exit code 2 (3: a checkpoint is damaged), waits for nobody, takes little memory and writes nothing."""

import hashlib
import json
import os
import pathlib
import resource
import shutil
import socket
import struct
import subprocess
import tempfile
import time

import numpy
import pytest
import safetensors.numpy

SAMEGRAD = pathlib.Path(os.environ["SAMEGRAD_BIN"]) / "samegrad"
PARTS = ["model.safetensors", "optimizer.safetensors", "state.json", "rank-0.json", "rank-1.json"]
NOBODY = 65534


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def sign(folder, names=PARTS, **changes):
    files = [{"name": name, "size": len(data := (folder / name).read_bytes()), "sha256": sha256(data)} for name in names]
    body = {"format": "samegrad checkpoint", "format_version": 1, "update": 50, "run_id": "r", "facts": {}, "files": files}
    text = json.dumps({**body, **changes}, indent=2).removesuffix("\n}") + ',\n  "sha256": "'
    (folder / "manifest.json").write_text(text + sha256(text.encode()) + '"\n}\n')


def make_checkpoint(folder):
    folder.mkdir(parents=True)
    safetensors.numpy.save_file({"w": numpy.zeros(4, dtype=numpy.float32)}, folder / PARTS[0])
    safetensors.numpy.save_file({}, folder / PARTS[1], {"options": "{}"})
    (folder / "state.json").write_text(json.dumps({"update": 50, "run_id": "r", "config": {}}))
    for rank in (0, 1):
        (folder / f"rank-{rank}.json").write_text(json.dumps({"virtual_rank": rank}))
    sign(folder)
    return folder


METRICS = {"run_id": "r", "kind": "stopped", "update": 1, "action": "train", "loss_sum": 120.0, "supervised_tokens": 48,
           "gradient_norm": 1.5, "learning_rate": 0.1, "clip_factor": 1.0, "gradient_xxh3": "a" * 32,
           "parameters_xxh3": "b" * 32, "hash_chain": "c" * 32, "ranks": []}


@pytest.fixture
def place():
    """A run with a checkpoint, an outside that nothing may touch; anyone may look at both."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="samegrad-hostile-"))
    folder.chmod(0o755)
    (folder / "run/outputs").mkdir(parents=True)
    (folder / "run/outputs/metrics.jsonl").write_text(json.dumps(METRICS) + "\n")
    make_checkpoint(folder / "run/artifacts/checkpoints/step-0050")
    (folder / "outside").mkdir()
    (folder / "outside/file").write_text("secret: [1, 2")
    yield folder
    shutil.rmtree(folder)


def contents(folder):
    """What is outside, and the run's files; where the run was prepared it may have folders, its own."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        if folder / "run" not in path.parents or not path.is_dir():
            found[path] = (status.st_mode, status.st_size, status.st_mtime_ns)
    found.pop(folder / "run", None)
    return found


def run(place, words, memory_mib, user=None):
    def limit():
        # Of a process's own memory. What it maps of a file is the kernel's to drop.
        resource.setrlimit(resource.RLIMIT_DATA, (memory_mib << 20, memory_mib << 20))

    as_nobody = {} if user is None else {"user": user, "group": user, "extra_groups": []}
    return subprocess.run([SAMEGRAD, *map(str, words)], capture_output=True, text=True, errors="replace", timeout=60,
                          cwd=place / "run", preexec_fn=limit, **as_nobody)


def sparse(size, head=b""):
    def put(path):
        path.write_bytes(head)
        os.truncate(path, size)
    return put


def bind_socket(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def unreadable(path):
    path.write_text("{}")
    path.chmod(0)


KINDS = {
    "missing": lambda path: None,
    "fifo": os.mkfifo,
    "folder": os.mkdir,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "terminal": lambda path: path.symlink_to("/dev/ptmx"),
    "socket": bind_socket,
    "link-loop": lambda path: path.symlink_to(path.name),
    "link-outside": lambda path: path.symlink_to(path.parents[len(path.parts) - 4] / "outside/file"),
    "empty": lambda path: path.touch(),
    "gigabyte-of-nul": sparse(1 << 30),
    "header-100MB": sparse(150 << 20, struct.pack("<Q", 100_000_000) + b'{"a":'),
    "deep": lambda path: path.write_text("[" * 1_000_000 + "]" * 1_000_000),
    "deep-member": lambda path: path.write_text('{"run_id":' + "[" * 1_000_000 + "]" * 1_000_000 + "}"),
    "nul-in-it": lambda path: path.write_bytes(b'{"run_id": "a"}\0{"run_id": "b"}\n'),
    "unreadable": unreadable,
}

FRONT = 200
WORKER = 3000
OUT = "run/outputs/"
STEP = "run/artifacts/checkpoints/step-0050/"
TEXT = ["--set", "data.task=text", "--set", "model.kind=decoder", "--set", "model.vocabulary=256"]


def of_run(*words):
    return lambda path: [*words, "--run", "."]


# Where the thing lies, the command that meets it, allowed exit codes, MiB, and the kinds that are no fault there.
SLOTS = {
    "config": ("run/x.yaml", lambda path: ["config", "--config", path], {2}, FRONT, {"empty"}),
    "checkpoints": ("run/x", lambda path: ["checkpoints", path], {2}, FRONT, {"folder"}),
    "manifest": (STEP + "manifest.json", lambda path: ["checkpoints", path.parent], {3}, FRONT, set()),
    "model": (STEP + "model.safetensors", lambda path: ["checkpoints", path.parent], {3}, FRONT, set()),
    "state": (STEP + "state.json", lambda path: ["checkpoints", path.parent], {3}, FRONT, set()),
    "rank": (STEP + "rank-0.json", lambda path: ["checkpoints", path.parent], {3}, FRONT, set()),
    "metrics": (OUT + "metrics.jsonl", of_run("plot"), {2}, FRONT, set()),
    "plot-lock": (OUT + "data.lock.json", of_run("plot"), {2}, FRONT, {"missing"}),
    "plot-run": (OUT + "run.json", of_run("plot"), {2}, FRONT, {"missing"}),
    "plot-report": (OUT + "report.json", of_run("plot"), {2}, FRONT, {"missing"}),
    "diagnose": ("run/a.safetensors", lambda path: ["diagnose", path, path], {2}, FRONT, set()),
    "data": ("run/x.jsonl", lambda path: ["prepare", *TEXT, "--set", f"data.train={path}"], {2}, FRONT, set()),
    "documents": ("run/x.txt", lambda path: ["prepare", *TEXT, "--set", f"data.train={path}"], {2}, FRONT,
                  {"deep", "deep-member", "nul-in-it", "link-outside", "gigabyte-of-nul"}),
    "resume": ("run/x", lambda path: ["train", "--resume", path], {2}, WORKER, {"folder"}),
    "bisect": (OUT + "metrics.jsonl", lambda path: ["bisect", ".", "."], {2}, WORKER, set()),
    "verify": ("run/x", lambda path: ["verify", "--checkpoint", path], {2}, WORKER, {"folder"}),
    "generate": ("run/x", lambda path: ["generate", "--prompt", "a", *TEXT, "--checkpoint", path], {2}, WORKER, {"folder"}),
}


@pytest.mark.parametrize("slot", SLOTS)
def test_what_is_no_good_file_is_refused_by_one_line(slot, place):
    where, words, codes, memory_mib, no_fault = SLOTS[slot]
    path = place / where
    kinds = [kind for kind in KINDS if kind not in no_fault]
    if memory_mib == WORKER:  # each start costs; what a file holds is read by the same code as above
        kinds = ["fifo", "device", "link-loop", "empty"]
    for kind in kinds:
        if path.is_symlink() or path.is_file():
            path.unlink()
        KINDS[kind](path)
        before = contents(place)
        done = run(place, words(path), memory_mib, NOBODY if kind == "unreadable" and os.geteuid() == 0 else None)
        told = f"{slot}, {kind}: {done}"
        assert done.returncode in codes, told
        lines = done.stderr.splitlines()
        if codes == {2}:
            assert len(lines) == 1 and lines[0].startswith("["), told
            assert str(path.name) in lines[0] or "metrics.jsonl" in lines[0], told
        assert len(done.stdout) + len(done.stderr) < 5000 and "fault of samegrad" not in done.stderr, told
        assert contents(place) == before, told
        path.rmdir() if kind == "folder" else path.unlink(missing_ok=True)


def header_of_100_mb(kind):
    """What a header of the allowed size can hold most of."""
    most = 100_000_000
    if kind == "dimensions":
        parts = (f'"{i:x}":{{"dtype":"F32","shape":[{"0," * 63}0],"data_offsets":[0,0]}}' for i in range(500_000))
    elif kind == "names":
        parts = [f'"{i:0340x}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}' for i in range(249_999)]
        parts.append('"last":{"dtype":"F32","shape":[0],"data_offsets":[9,9]}')  # seen when all is read
    elif kind == "name":
        parts = ['"' + "n" * (most - 100) + '":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}']
    elif kind == "broken text":
        parts = ['"' + "n" * (33 << 20) + "\x01" * 1000 + '":1', '"' + "m" * (60 << 20) + '":1']
    elif kind == "metadata":
        parts = ['"__metadata__":{' + ",".join(f'"{i:x}":""' for i in range(8_000_000)) + "}"]
    elif kind == "texts":
        parts = ['"__metadata__":{' + ",".join(f'"{i}":"' + "t" * (30 << 20) + '"' for i in range(3)) + "}"]
    elif kind == "number":
        parts = ['"a":{"dtype":"F32","shape":[' + "1" * (most - 100) + ']}']
    text = ("{" + ",".join(parts) + "}").encode()[:most]
    return struct.pack("<Q", most) + text.ljust(most)


@pytest.mark.parametrize("kind", ["dimensions", "names", "name", "broken text", "metadata", "texts", "number"])
def test_a_header_of_100_mb_takes_at_most_600_mib(kind, place):
    (place / "run/a.safetensors").write_bytes(header_of_100_mb(kind))
    safetensors.numpy.save_file({"w": numpy.zeros(4, dtype=numpy.float32)}, place / "run/b.safetensors")
    before = contents(place)

    def limit():  # all of the process, the mapped file among it
        resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))

    done = subprocess.run([SAMEGRAD, "diagnose", "a.safetensors", "b.safetensors"], capture_output=True, text=True, timeout=60,
                          cwd=place / "run", preexec_fn=limit)
    lines = done.stderr.splitlines()
    if kind == "texts":  # within every bound
        assert done.returncode == 3 and lines == [], done
    else:
        told = "tensor 'last': data_offsets [9,9]" if kind == "names" else "header: "
        assert (done.returncode, len(lines)) == (2, 1) and f"a.safetensors: {told}" in lines[0], done
    assert len(done.stdout) + len(done.stderr) < 5000 and contents(place) == before, done


def test_the_longest_line_of_data_fits_into_little_memory_and_a_longer_one_is_refused(place):
    ids = "[" + "0," * (4 * 2**20 - 100) + "0]"
    (place / "run/x.jsonl").write_text('{"input_ids":' + ids + "}\n")
    done = run(place, ["prepare", *TEXT, "--set", "data.train=x.jsonl"], FRONT)
    assert done.returncode == 0, done
    (place / "run/x.jsonl").write_text('{"text":"' + "a" * (8 << 20) + '"}\n')
    done = run(place, ["prepare", *TEXT, "--set", "data.train=x.jsonl"], FRONT)
    assert done.returncode == 2 and "longer than 8 MiB" in done.stderr, done


@pytest.mark.parametrize("name", ["../outside/file", "/etc/hostname", "state.json\0x", "artifacts/../x", "state.json/", "", "."])
def test_a_manifest_cannot_name_a_file_elsewhere(name, place):
    folder = place / STEP
    listed = [{"name": part, "size": (folder / part).stat().st_size, "sha256": sha256((folder / part).read_bytes())}
              for part in PARTS]
    for position in (0, 2, 3):
        sign(folder, files=[*listed[:position], {**listed[position], "name": name}, *listed[position + 1:]])
        done = run(place, ["checkpoints", folder], FRONT)
        assert done.returncode == 3 and "expected " + PARTS[position] in done.stdout, done


def test_a_part_that_is_a_link_is_refused_though_it_leads_to_the_same_bytes(place):
    for part in PARTS:
        (place / STEP / part).rename(place / "outside" / part)
        (place / STEP / part).symlink_to(place / "outside" / part)
        done = run(place, ["checkpoints", place / STEP], FRONT)
        assert done.returncode == 3 and "not a regular file" in done.stdout, done
        (place / STEP / part).unlink()
        (place / "outside" / part).rename(place / STEP / part)
    assert run(place, ["checkpoints", place / STEP], FRONT).returncode == 0


@pytest.mark.parametrize("name", ["../../outside/file", "/etc/hostname", "train\0x", "a/b", "\x1b[2J\nx"])
def test_names_of_splits_in_a_data_lock_open_nothing(name, place):
    split = {"samples": 4, "tokens": 40, "supervised_tokens": 20, "bytes": 100, "sha256": sha256(b"x")}
    body = {"format": 1, "task": "lesson", "splits": {name: split}}
    lock = place / OUT / "data.lock.json"
    lock.write_text(json.dumps({**body, "digest": sha256(json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode())}))
    before = contents(place / "outside")
    done = run(place, ["plot", "--run", "."], FRONT)
    assert done.returncode == 0, done
    assert contents(place / "outside") == before


SMALL = ["data.train_sequences=32", "data.validation_sequences=4", "data.test_sequences=4", "data.shortest=4", "data.split=8",
         "data.longest=16", "model.width=16", "model.heads=2", "model.feed_forward=16", "plan.updates=2", "plan.stop_at=1"]


def test_a_training_writes_through_no_link_out_of_its_folder(place):
    names = ["metrics.jsonl", "plan.json", "init.safetensors", "data.lock.json", "run.json", "report.json",
             "data/train.jsonl", "final-stopped.safetensors"]
    settings = [word for setting in SMALL for word in ("--set", setting)]
    (place / OUT / "data").mkdir()
    (place / OUT / "metrics.jsonl").unlink()
    (place / "outside/file").write_text("{}\n")
    for name in names:
        (place / OUT / name).symlink_to(place / "outside/file")
    before = contents(place / "outside")
    done = run(place, ["train", *settings], WORKER)
    assert done.returncode == 2 and "metrics.jsonl: is a link" in done.stderr, done
    (place / OUT / "metrics.jsonl").unlink()
    done = run(place, ["train", *settings], WORKER)
    assert done.returncode == 0, done
    assert contents(place / "outside") == before
    assert [name for name in names if (place / OUT / name).is_symlink()] == ["report.json"]  # of evaluate


@pytest.mark.parametrize("processes, name, told", [
    (1, "outputs/data/index-train.bin", ": cut while it was read, or its disk failed"),
    (2, "outputs/data/index-train.bin", ": cut while it was read, or its disk failed"),
    (2, "x.jsonl", ": the file ends before the sample does")])
def test_a_file_that_is_cut_while_a_training_reads_it_ends_it_by_a_line_that_names_it(processes, name, told, place):
    (place / "run/x.jsonl").write_text('{"text":"abcdefgh ijklmnop"}\n' * 5000)
    settings = [word for setting in ("data.train=x.jsonl", "plan.updates=100000", "plan.stop_at=0", "plan.batch_size_per_rank=2",
                                     "model.width=16", "model.heads=2", "model.feed_forward=16", "model.layers=1",
                                     "model.positions=32") for word in ("--set", setting)]
    metrics = place / OUT / "metrics.jsonl"
    metrics.unlink()
    with subprocess.Popen([SAMEGRAD, "train", *TEXT, *settings, "--nproc", str(processes), "--quiet"], cwd=place / "run",
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as started:
        while not metrics.exists() or b"\n" not in metrics.read_bytes():
            assert started.poll() is None, started.stderr.read()
            time.sleep(0.01)
        os.truncate(place / "run" / name, 0)
        _, said = started.communicate(timeout=60)
    assert started.returncode == 2, said
    assert pathlib.Path(name).name in said.splitlines()[0] and told in said.splitlines()[0], said
    assert processes > 1 or len(said.splitlines()) == 1, said


def test_a_nul_in_a_configured_path_is_no_other_file(place):
    (place / "run/a").write_text('{"text":"abc"}\n')
    (place / "run/c.yaml").write_text('data: {task: text, train: "a\\0.jsonl"}\nmodel: {kind: decoder, vocabulary: 256}\n')
    done = run(place, ["prepare", "--config", "c.yaml"], FRONT)
    assert done.returncode == 2 and "'a\\x00.jsonl' is not UTF-8 without NUL bytes" in done.stderr and len(done.stderr.splitlines()) == 1, done


@pytest.mark.parametrize("words", [["config", "--config"], ["checkpoints"], ["plot", "--run"]])
def test_a_name_with_line_ends_and_escapes_is_told_in_one_line(words, place):
    done = run(place, [*words, "a\nb\x1b[2J\x7f"], FRONT)
    assert done.returncode == 2, done
    assert len(done.stderr.splitlines()) == 1 and "\x1b" not in done.stderr and "a\\x0ab" in done.stderr, done


def test_a_folder_whose_name_is_not_utf8_is_listed(place):
    folder = os.fsencode(place / "run") + b"/\xff\xfe"
    os.mkdir(folder)
    make_checkpoint(pathlib.Path(os.fsdecode(folder)) / "step-0050")
    done = subprocess.run([SAMEGRAD, "checkpoints", folder, "--json"], capture_output=True)
    assert done.returncode == 0 and json.loads(done.stdout)["damaged"] == 0, done


@pytest.mark.parametrize("program", [SAMEGRAD, SAMEGRAD.parent / "samegrad-worker"])
def test_no_library_of_the_runs_folder_is_loaded(program, place):
    linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines()
    names = [line.split()[0] for line in linked if " => " in line]
    assert any(name.startswith("libstdc++") for name in names)
    for name in names:
        (place / "run" / name).write_text("no library")
    done = subprocess.run([program, "--help"], cwd=place / "run", capture_output=True, text=True)
    assert done.returncode == 0 and "samegrad" in done.stdout, done
