"""run_all.py's report: the machine, the table of targets, the figures, and each benchmark's own output."""

import os
import time

from targets import TARGETS, number, shown


def row_of(target, records, figures):
    """-> (result, what was measured); None without a row: its benchmarks were not asked for, or have no such figure."""
    if not all(name in records for name in target.benchmarks):
        return None
    failed = [name for name in target.benchmarks if records[name]["outcome"] == "failed"]
    try:
        measured = target.measured(*(figures[name] for name in target.benchmarks)) if not failed else None
    except (LookupError, TypeError, ValueError, StopIteration) as error:
        return f"failed: the figures of {', '.join(target.benchmarks)} have another form ({error!r})", None
    if failed:
        return f"failed: {failed[0]}: {records[failed[0]]['reason']}", None
    if measured is None or isinstance(measured, str):
        return measured and (measured, None)
    if target.at_least is None and target.at_most is None:
        return "", measured
    return "missed" if target.is_missed(measured.spread["median"]) else "reached", measured


def misses(records, figures):
    """A line a target that was measured and is missed, and a benchmark that says so of its own bounds alone."""
    lines, told = [], set()
    for target in TARGETS:
        result, measured = row_of(target, records, figures) or ("", None)
        if result == "missed":
            lines.append(f"{target.what}: {shown(measured.spread, target.unit)}, asked {target.asked()}")
            told.update(target.benchmarks)
    return lines + [f"{name}: {record['reason']}" for name, record in records.items()
                    if record["outcome"] == "missed" and name not in told]


def cell(words):
    return str(words).replace("|", "\\|").replace("\n", " ")


def table(records, figures):
    lines = ["| what | asked | measured: median (least to largest) | rounds | beside | limit | |", "|" + "---|" * 7]
    for target in TARGETS:
        row = row_of(target, records, figures)
        if row is None:
            continue
        result, measured = row
        cells = ["", "", "", ""] if measured is None else [
            shown(measured.spread, target.unit), measured.rounds or "", measured.peer, measured.limit]
        lines.append("| " + " | ".join(cell(one) for one in [target.what, target.asked(), *cells, result]) + " |")
    return lines


def head(records, figures, facts, arguments):
    loads = [record["load_before"] for record in records.values()]
    last = list(records.values())[-1]
    lines = ["# Benchmarks", "", time.strftime("%Y-%m-%d") + (", --quick: not for quoting" if arguments.quick else "") + ".", ""]
    known = [*facts["machine"], ("load", f"{loads[0]:.2f} before, {last['load_after']:.2f} after; before a benchmark at most "
                                         f"{max(loads):.2f} (of a minute: the benchmark before it counts)")]
    if "machine" in figures:
        one = figures["machine"]
        known.append(("one core", f"{one['fma_flops_per_second'] / 1e9:.0f} GFLOP/s of fused multiply-adds, "
                                  f"{number(one['copy_bytes_per_second'] / 1e9, 'GB/s')} copied"))
    lines += ["| | |", "|---|---|", *(f"| {name} | {cell(value)} |" for name, value in known)]
    if facts["missing"]:
        lines += ["", "Missing peers:", "", *(f"- {one}" for one in facts["missing"])]
    return lines


def own_output(record, arguments):
    log = arguments.out / f"raw/{record['name']}.log"
    command = " ".join(os.path.relpath(word) if os.path.isabs(word) else word for word in record["command"])
    why = f": {record['reason']}" if record["reason"] else ""
    return [f"### {record['name']}", "", f"    {command}", "", f"{record['outcome']}, {record['seconds']:.0f} s{why}", "",
            "```", log.read_text(errors="replace").strip() if log.exists() else "", "```", ""]


def report(records, figures, drawn, facts, arguments):
    lines = head(records, figures, facts, arguments)
    lines += ["", "x: how many times as long the other side takes, medians of ratios made within a round, unless said.", "",
              *table(records, figures), ""]
    lines += [f"![{path.stem}](figures/{path.name})\n" for path in drawn]
    lines += ["## What each printed", ""]
    for record in records.values():
        lines += own_output(record, arguments)
    return "\n".join(lines)
