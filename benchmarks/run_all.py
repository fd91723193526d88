"""Runs every benchmark of this folder, one after another, and writes what they say into one report.

    .venv/bin/python benchmarks/run_all.py [--bin build/dev/bin] [--out build/benchmarks] [--quick] [--only NAME,...]

The report (FOLDER/report.md) holds for each benchmark its command and its own table; FOLDER/NAME.json the raw figures, and
FOLDER/*.svg the figures drawn from them. --quick takes few rounds: to see that all run, not for numbers to quote. Run it on
a machine that does nothing else; the whole takes about half an hour, --quick a few minutes.
"""

import argparse
import os
import pathlib
import platform
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
PYTHON = sys.executable
# name: (program: a script here or a program of --bin, its options, those of --quick instead)
BENCHMARKS = {
    "machine": ("machine_limits", [], []),
    "exchange": ("exchange_speed.py", [], []),
    "optimizer": ("optimizer_speed.py", ["--rounds", "7"], ["--rounds", "1"]),
    "attention": ("attention_speed", [], ["--rounds", "3"]),
    "operations": ("atom_profile", [], ["--rounds", "20"]),
    "checkpoint": ("checkpoint_speed", ["FOLDER"], ["FOLDER"]),
    "data": ("data_speed.py", ["--rounds", "3"], ["--rounds", "1", "--megabytes", "20"]),
    "start": ("startup_time.py", [], ["--rounds", "2"]),
    "supervision": ("supervision_cost.py", [], ["--updates", "20", "--kills", "2"]),
    "simulated": ("simulated_time.py", [], ["--rounds", "1", "--updates", "6"]),
    "update": ("update_ddp.py", ["--rounds", "7"], ["--rounds", "2", "--updates", "6", "lesson", "lesson-balanced"]),
    "ddp": ("ddp_overhead.py", ["--rounds", "5"], ["--rounds", "1"]),
    "exactness": ("exactness_cost.py", ["--rounds", "5"], ["--rounds", "1"]),
    "growth": ("growth.py", ["--rounds", "3"], ["--rounds", "1", "--updates", "5"]),
}


def command_of(name, arguments):
    program, options, quick = BENCHMARKS[name]
    options = quick if arguments.quick else options
    if program.endswith(".py"):
        command = [PYTHON, str(HERE / program), "--bin", str(arguments.bin), *options]
        return [*command, "--out", str(arguments.out)] if name == "growth" else command
    return [str(arguments.bin / program), *(str(arguments.out) if word == "FOLDER" else word for word in options)]


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def run_one(name, arguments):
    """-> (its standard output, seconds); ends the program where it fails."""
    command = command_of(name, arguments)
    result = arguments.out / f"{name}.json"
    script = command[0] == PYTHON
    shown = " ".join(command[1:] if script else command).replace(f"{ROOT}/", "")
    print(f"{name}: {shown}", file=sys.stderr, flush=True)
    begin = time.monotonic()
    done = subprocess.run([*command, *(["--json", str(result)] if script else [])], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"[benchmark] {name}: exit code {done.returncode}; the earlier ones are in {arguments.out}")
    return f"    {shown}\n\n```\n{done.stdout.strip()}\n```\n", time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/dev/bin", help="the folder of the programs")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/benchmarks")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default=",".join(BENCHMARKS), help=f"of {', '.join(BENCHMARKS)}")
    arguments = parser.parse_args()
    arguments.bin, arguments.out = arguments.bin.resolve(), arguments.out.resolve()
    names = arguments.only.split(",")
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]}; allowed are {', '.join(BENCHMARKS)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    report = [f"# Benchmarks\n\n{time.strftime('%Y-%m-%d')}, {processor()}, {os.cpu_count()} cores, {platform.platform()}, "
              f"Python {platform.python_version()}{', --quick: not to be quoted' if arguments.quick else ''}\n"]
    for name in names:
        text, seconds = run_one(name, arguments)
        report.append(f"## {name}\n\n{text}\n({seconds:.0f} s)\n")
        (arguments.out / "report.md").write_text("\n".join(report))
    print(f"{len(names)} benchmarks; report: {arguments.out / 'report.md'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
