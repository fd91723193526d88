"""From exec to the end of the first update on the prepared lesson, beside PyTorch's DDP.

    .venv/bin/python benchmarks/startup_time.py [--bin build/dev/bin] [--rounds 9] [--json FILE]

Per round and number of processes, in turn: `samegrad train --nproc N`, and N Python processes that import torch, join over
Gloo, wrap an nn.TransformerEncoder of the same size in DistributedDataParallel and make one update of the same shape. Both are
timed from outside, until the line that reports the first update arrives, and then ended. The files are in the page cache. The
limit is a C++ program that does nothing but load libtorch: samegrad-worker with a wrong command. Shown are milliseconds, median
over rounds with least and largest; and seconds of processor time of all processes.
"""

import argparse
import json
import os
import pathlib
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]

PEER = """
import sys
import torch
import torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo")
layer = torch.nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, activation="gelu", batch_first=True)
model = torch.nn.ModuleDict({"token": torch.nn.Embedding(6, 128), "encoder": torch.nn.TransformerEncoder(layer, 2),
                             "head": torch.nn.Linear(128, 4)})
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = model
    def forward(self, ids, padding):
        return self.parts["head"](self.parts["encoder"](self.parts["token"](ids), src_key_padding_mask=padding))
ddp = torch.nn.parallel.DistributedDataParallel(Model())
optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
atoms = 4 // dist.get_world_size()
for atom in range(atoms):
    ids = torch.randint(1, 6, (8, 64 if atom % 2 else 128))
    loss = torch.nn.functional.cross_entropy(ddp(ids, ids == 0).flatten(0, 1), (ids % 4).flatten())
    loss.backward()
optimizer.step()
if dist.get_rank() == 0:
    print("update 1/1", flush=True)
sys.stdin.read()
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def until_first_update(start_processes):
    """-> (seconds, processor seconds) until a line has 'update 1/' or 'update  1/'; the processes are then ended."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    processes = start_processes()
    for line in processes[0].stdout:
        if line.split()[:1] == ["update"] and "1/" in line.split()[1]:
            elapsed = time.perf_counter() - start
            break
    else:
        sys.exit(f"[benchmark] no first update: {processes[0].args}")
    for process in processes:
        process.send_signal(signal.SIGKILL if process.stdin else signal.SIGTERM)
    for process in processes:
        process.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return elapsed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def start_samegrad(arguments, folder, processes):
    command = [arguments.bin / "samegrad", "train", "--nproc", processes, "--run", folder]
    return [subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)]


def start_peers(processes):
    environment = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "OMP_NUM_THREADS": "1",
                   "WORLD_SIZE": str(processes), "GLOO_SOCKET_IFNAME": "lo"}
    return [subprocess.Popen([sys.executable, "-c", PEER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                             env={**environment, "RANK": str(rank)}) for rank in range(processes)]


def loading_only(arguments):
    start = time.perf_counter()
    subprocess.run([arguments.bin / "samegrad-worker", "version"], capture_output=True)
    return time.perf_counter() - start


def shown(values):
    return f"{1e3 * statistics.median(values):.0f} ({1e3 * min(values):.0f} to {1e3 * max(values):.0f}) ms"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/dev/bin")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    figures = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([arguments.bin / "samegrad", "prepare", "--quiet", "--run", folder], check=True)
        for processes in (1, 2):
            sides = {"samegrad": lambda: start_samegrad(arguments, folder, processes), "DDP": lambda: start_peers(processes)}
            times = {side: [] for side in sides}
            for side, start in sides.items():
                until_first_update(start)  # warm
            for _ in range(arguments.rounds):
                for side, start in sides.items():
                    times[side].append(until_first_update(start))
            for side, pairs in times.items():
                elapsed, processor = zip(*pairs)
                print(f"{processes} processes, {side:8}: {shown(elapsed)}, processor time "
                      f"{statistics.median(processor):.2f} s until the end", flush=True)
            figures[processes] = times
    figures["loading"] = [loading_only(arguments) for _ in range(arguments.rounds)]
    print(f"libtorch loaded and nothing done: {shown(figures['loading'])}")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
