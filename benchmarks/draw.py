"""Draws what benchmarks wrote with --json: update.svg, exchange.svg and growth.svg.

    .venv/bin/python benchmarks/draw.py FOLDER [--out FOLDER]

FOLDER holds update-*.json (update_ddp.py), exchange.json and growth.json, as run_all.py leaves them in raw/; a figure whose
benchmark is not there is left out.
"""

import argparse
import json
import pathlib
import sys

from figure import bar_chart, line_chart, shown_bytes, svg

CASES = {"lesson": "lesson, its own split", "lesson-balanced": "lesson, balanced", "text-3m": "text, 3 M parameters",
         "text-25m": "text, 25 M parameters"}
SIDES = {"shm": "samegrad", "openmpi": "Open MPI", "gloo": "Gloo", "copy": "a copy, the limit"}
AXES = {"tokens": "supervised tokens of an update, 1 process", "length": "longest sequence, as many tokens, 1 process",
        "parameters": "parameters, 1 process", "processes": "processes", "atoms": "atoms of an update, 16 samples, 1 process"}


def shown_seconds(value):
    return f"{value:.2f} s" if value >= 1 else f"{1000 * value:.0f} ms" if value >= 0.1 else f"{1000 * value:.1f} ms"


def update_figure(results):
    groups = {}
    for one in results:
        sides = [({"median": 1, "min": 1, "max": 1}, "samegrad"), (one["best_over_samegrad"], one["best"]),
                 (one["usual_over_samegrad"], "usual")]
        groups[CASES[one["case"]]] = [
            (times["median"], times["min"], times["max"],
             f"{times['median']:.1f} x, {shown_seconds(one['seconds'][side]['median'])}") for times, side in sides]
    chart, height = bar_chart("An update by two processes", "time as a multiple of samegrad's: median, least to largest",
                              ["samegrad", "PyTorch DDP at its best", "PyTorch DDP as most write it"], groups)
    return svg([chart], 640, height)


def exchange_figure(results):
    sizes = results["2"]
    series = {name: [(one["bytes"], 1e6 * one["seconds"][side]["median"]) for one in sizes if side in one["seconds"]]
              for side, name in SIDES.items()}
    drawn = [one["bytes"] for one in sizes if one["bytes"] & (one["bytes"] - 1) == 0]  # the lesson's size is no power of two
    series = {name: [point for point in points if point[0] in drawn] for name, points in series.items() if points}
    chart = line_chart("A sum over two processes", "bytes", "microseconds (median)", series, x_shown=shown_bytes)
    return svg([chart], 640, 400)


def growth_figure(results):
    charts = []
    for one in results:
        series = {f"an update, ms: slope {one['time_slope']:.2f}": [(p["value"], 1000 * p["seconds"]) for p in one["points"]],
                  f"memory, MiB: slope {one['memory_slope']:.2f}": [(p["value"], p["peak_bytes"] / 2**20) for p in one["points"]]}
        charts.append(line_chart(f"Growth with {one['quantity']}", AXES[one["quantity"]], "ms, MiB a process", series, 480, 320))
    return svg(charts, 480, 320, columns=2)


def draw(figures, folder):
    """`figures`: {benchmark: what it wrote}. -> the files written"""
    updates = [one for case in CASES for one in figures.get(f"update-{case}", [])]
    charts = {"update": update_figure(updates)} if updates else {}
    if "exchange" in figures:
        charts["exchange"] = exchange_figure(figures["exchange"])
    if "growth" in figures:
        charts["growth"] = growth_figure(figures["growth"])
    folder.mkdir(parents=True, exist_ok=True)
    for name, chart in charts.items():
        (folder / f"{name}.svg").write_text(chart)
    return [folder / f"{name}.svg" for name in charts]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, help="default: FOLDER")
    arguments = parser.parse_args()
    figures = {path.stem: json.loads(path.read_text()) for path in arguments.folder.glob("*.json")
               if path.stem in ("exchange", "growth") or path.stem.startswith("update-")}
    for path in draw(figures, arguments.out or arguments.folder):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
