"""Runs every benchmark of this folder, one after another, and writes one table and the figures.

    .venv/bin/python benchmarks/run_all.py [--quick] [--only NAME ...] [--resume] [--bin build/dev/bin] [--out build/benchmarks]

Run it on a machine that does nothing else: --list names the benchmarks and about how long each takes. --quick runs the
shortest form of each, to see that all run: its figures are not for quoting. One that fails, or misses a bound of its own, is
marked in the table with the reason, and the others run. What is stopped goes on with --resume: it keeps what was done by the
same command and programs.

OUT/report.md: the machine, a row a target (what is asked, what was measured, the peer, the limit), and each benchmark's own
output. OUT/figures/*.svg: drawn by draw.py. OUT/raw: NAME.json (figures), NAME.log (output) and NAME.record of each benchmark.

Exit code: 0 all ran and every target is reached; 3 all ran and a target is missed; 1 a benchmark failed; 2 usage;
130 stopped.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import machine_facts
from draw import draw
from suite import BENCHMARKS
from suite_report import misses, report

ROOT = pathlib.Path(__file__).resolve().parents[1]
MISSED = 3  # the exit code of a benchmark that ran and misses a bound of its own


def words_of_time(seconds):
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def reason_of(log):
    """The last line of a program's output that has an error's form, or the last one."""
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"\[[\w -]+\] ", line)]
    return (errors or lines or ["it said nothing"])[-1].strip()[:300]


def end_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def run_to_end(command, log, deadline_s):
    """-> (exit code, reason); ends what it started, however it is left."""
    with open(log, "w") as output:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                       start_new_session=True)
        except OSError as error:
            return 1, f"{command[0]}: {error.strerror}; build the programs"
    try:
        code = process.wait(timeout=deadline_s)
    except subprocess.TimeoutExpired:
        return 1, f"not done after {words_of_time(deadline_s)}"
    finally:
        end_group(process)
    return code, "" if code == 0 else reason_of(log) + ("" if code in (1, MISSED) else f" (exit code {code})")


def run_one(benchmark, arguments):
    """-> its record, which lies beside its figures."""
    raw = arguments.out / "raw"
    figures, log = raw / f"{benchmark.name}.json", raw / f"{benchmark.name}.log"
    figures.unlink(missing_ok=True)
    command = benchmark.command(sys.executable, arguments.bin, arguments.quick, raw)
    load, begin = machine_facts.load(), time.monotonic()
    deadline_s = 60 * max(10, 5 * benchmark.takes(arguments.quick))
    code, reason = run_to_end([*command, "--json", str(figures)], log, deadline_s)
    outcome = {0: "done", MISSED: "missed"}.get(code, "failed")
    if outcome != "failed" and not figures.exists():
        outcome, reason = "failed", "it wrote no figures"
    record = {"name": benchmark.name, "command": command, "outcome": outcome, "reason": reason, "ended": time.time(),
              "seconds": time.monotonic() - begin, "load_before": load, "load_after": machine_facts.load()}
    (raw / f"{benchmark.name}.record").write_text(json.dumps(record, indent=1) + "\n")
    return record


def earlier(benchmark, arguments):
    """The record of a run that need not be made again; or None."""
    raw = arguments.out / "raw"
    try:
        record = json.loads((raw / f"{benchmark.name}.record").read_text())
    except (OSError, ValueError):
        return None
    same = record["command"] == benchmark.command(sys.executable, arguments.bin, arguments.quick, raw)
    programs = [arguments.bin / name for name in ("samegrad-worker", benchmark.program) if (arguments.bin / name).exists()]
    newest = max((program.stat().st_mtime for program in programs), default=0)
    return record if same and record["outcome"] != "failed" and record["ended"] > newest else None


def parsed(argv, benchmarks):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/dev/bin", help="the folder of the programs")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/benchmarks")
    parser.add_argument("--quick", action="store_true", help="the shortest form of each")
    parser.add_argument("--resume", action="store_true", help="keep what an earlier run into the same folder has done")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these; --list shows the names")
    parser.add_argument("--list", action="store_true", help="name the benchmarks and end")
    arguments = parser.parse_args(argv)
    arguments.bin, arguments.out = arguments.bin.resolve(), arguments.out.resolve()
    names = [one.name for one in benchmarks]
    unknown = [name for name in arguments.only or [] if name not in names]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]}; allowed are {', '.join(names)}")
    if not arguments.list and not (arguments.bin / "samegrad").exists():
        parser.error(f"no program samegrad in {arguments.bin}; build first (cmake --preset dev && ninja -C build/dev)")
    return arguments


def run_suite(chosen, arguments, facts):
    """Runs them and rewrites the report after each. -> (records, figures by name, files of the figures)"""
    records, figures, drawn = {}, {}, []
    begin = time.monotonic()
    for number, benchmark in enumerate(chosen, 1):
        print(f"[{number}/{len(chosen)}] {benchmark.name} ... ", end="", flush=True)
        record = arguments.resume and earlier(benchmark, arguments)
        kept = ", kept from before" if record else ""
        record = records[benchmark.name] = record or run_one(benchmark, arguments)
        why = f": {record['reason']}" if record["reason"] else ""
        print(f"{record['outcome']}{kept}, {words_of_time(record['seconds'])} "
              f"({words_of_time(time.monotonic() - begin)} since the start){why}", flush=True)
        path = arguments.out / f"raw/{benchmark.name}.json"
        if path.exists():
            figures[benchmark.name] = json.loads(path.read_text())
        drawn = draw(figures, arguments.out / "figures")
        (arguments.out / "report.md").write_text(report(records, figures, drawn, facts, arguments))
    return records, figures, drawn


def main(argv=None, benchmarks=BENCHMARKS):
    arguments = parsed(argv, benchmarks)
    chosen = [one for one in benchmarks if not arguments.only or one.name in arguments.only]
    if arguments.list:
        for one in chosen:
            full, quick = (words_of_time(60 * one.takes(shortest)) for shortest in (False, True))
            print(f"{one.name:24} {one.program:20} {full:>8}, --quick {quick:>6}")
        return 0
    kept = [one.name for one in chosen if arguments.resume and earlier(one, arguments)]
    minutes = sum(one.takes(arguments.quick) for one in chosen if one.name not in kept)
    print(f"{len(chosen)} benchmarks, about {max(1, round(minutes))} min on two quiet cores: "
          + ", ".join(one.name + (" (kept)" if one.name in kept else "") for one in chosen))
    facts = {"machine": machine_facts.facts(arguments.bin), "missing": machine_facts.missing_peers(arguments.bin)}
    for line in facts["missing"]:
        print(f"no {line}")
    if machine_facts.load() > 0.3:
        print(f"load {machine_facts.load():.1f}: the machine does something else; the figures are not for quoting")
    (arguments.out / "raw").mkdir(parents=True, exist_ok=True)
    try:
        records, figures, drawn = run_suite(chosen, arguments, facts)
    except KeyboardInterrupt:
        print(f"\nstopped; what was done is in {arguments.out}, and --resume goes on")
        return 130
    failed = [record for record in records.values() if record["outcome"] == "failed"]
    missed = misses(records, figures)
    for record in failed:
        print(f"failed: {record['name']}: {record['reason']} ({arguments.out}/raw/{record['name']}.log)")
    for line in missed:
        print(f"missed: {line}")
    print(f"{len(records) - len(failed)} benchmarks ran, {len(failed)} failed, {len(missed)} targets missed")
    print(f"table: {arguments.out / 'report.md'}; figures: {', '.join(map(str, drawn)) or 'none'}")
    return 1 if failed else MISSED if missed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
