"""plot draws what metrics.jsonl and report.json hold, and refuses what holds nothing."""

import json
import math
import os
import pathlib
import resource
import struct
import subprocess
import xml.etree.ElementTree as xml

import pytest

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])
SVG = "{http://www.w3.org/2000/svg}"


def plot(run, most_mib=None, **environment):
    def limit():
        if most_mib is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (most_mib << 20, most_mib << 20))

    return subprocess.run([BIN / "samegrad", "plot", "--run", run], capture_output=True, text=True, timeout=60,
                          preexec_fn=limit, env={**os.environ, **environment})


def line(run_id, kind, update):
    return {"run_id": run_id, "kind": kind, "update": update, "loss_sum": 2312 * (1.3 + math.exp(-update / 20)),
            "supervised_tokens": 2312,
            "ranks": [{"supervised_tokens": tokens, "compute_seconds": 0.03, "wait_seconds": 0.01,
                       "exchange_seconds": 0.001} for tokens in (1000, 1312)]}


def comparison(error):
    worst = {"parameter": "head.bias", "index": 0, "value": error, "reference": 0.0, "error": error, "allowed": 1e-6}
    parameter = {"name": "head.bias", "shape": [4], "elements": 4, "outside": 0, "different": 4,
                 "largest_reference": 0.5, "worst": worst}
    return {"atol": 1e-6, "rtol": 1e-4, "elements": 4, "outside": 0, "different": 4, "worst": worst, "problems": [],
            "parameters": [parameter]}


@pytest.fixture
def run(tmp_path):
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    lines = [line("a", "stopped", u) for u in range(1, 51)] + [line("b", "continuous", u) for u in range(1, 101)]
    lines += [line("a", "resumed", u) for u in range(51, 101)]
    (outputs / "metrics.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in lines))
    report = {"gradient": {"right": comparison(3e-8), "controls": {"local-count": comparison(0.01), "mean-of-means": comparison(0.02)}}}
    (outputs / "report.json").write_text(json.dumps(report))
    return tmp_path


def figures(run):
    return sorted(path.name for path in (run / "outputs/figures").iterdir())


NAMES = ["gradient-error", "loss", "rank-time", "tokens"]


def test_every_figure_is_an_svg_and_a_png_and_its_place_is_said(run):
    result = plot(run)
    assert result.returncode == 0, result
    assert figures(run) == sorted(f"{name}.{kind}" for name in NAMES for kind in ("svg", "png"))
    for name in NAMES:
        for kind in ("svg", "png"):
            assert f"{run}/outputs/figures/{name}.{kind}" in "".join(result.stdout.split())
        root = xml.parse(run / f"outputs/figures/{name}.svg").getroot()
        assert root.tag == SVG + "svg"
        assert root.find(SVG + "title").text
        png = (run / f"outputs/figures/{name}.png").read_bytes()
        assert png.startswith(b"\x89PNG")
        width, height = struct.unpack(">II", png[16:24])
        assert (width, height) == (2 * int(root.get("width")), 2 * int(root.get("height")))


def test_everything_drawn_lies_inside_the_picture(run):
    assert plot(run).returncode == 0
    for name in NAMES:
        root = xml.parse(run / f"outputs/figures/{name}.svg").getroot()
        width, height = float(root.get("width")), float(root.get("height"))
        for element in root.iter():
            for x in ("x", "x1", "x2", "cx"):
                assert 0 <= float(element.get(x, 0)) <= width, (name, element.attrib)
            for y in ("y", "y1", "y2", "cy"):
                assert 0 <= float(element.get(y, 0)) <= height, (name, element.attrib)


def test_the_same_data_give_the_same_bytes(run):
    assert plot(run).returncode == 0
    before = (run / "outputs/figures/loss.svg").read_bytes()
    assert plot(run).returncode == 0
    assert (run / "outputs/figures/loss.svg").read_bytes() == before


def test_without_rsvg_convert_the_svgs_are_there_and_no_old_png_stays(run):
    assert plot(run).returncode == 0
    result = plot(run, PATH="/nowhere")
    assert result.returncode == 0
    assert figures(run) == [f"{name}.svg" for name in NAMES]
    assert "rsvg-convert is not installed (Debian package librsvg2-bin)" in result.stderr
    assert result.stderr.count("\n") == 1


def test_without_a_checked_gradient_its_figure_is_left_out_and_said(run):
    assert plot(run).returncode == 0
    assert "wrong: mean-of-means" in (run / "outputs/figures/gradient-error.svg").read_text()
    (run / "outputs/report.json").unlink()
    result = plot(run)
    assert result.returncode == 0
    assert "run samegrad evaluate" in result.stdout
    assert not [name for name in figures(run) if name.startswith("gradient")]


@pytest.mark.parametrize("content", [None, ""])
def test_nothing_trained_is_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "outputs").mkdir()
        (tmp_path / "outputs/metrics.jsonl").write_text(content)
    result = plot(tmp_path)
    assert result.returncode == 2
    assert result.stderr.startswith("[plot] nothing was trained here")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "outputs/figures").exists()


@pytest.mark.parametrize("name, content", [("metrics.jsonl", '{"update": 1}\n'), ("metrics.jsonl", "3\n"),
                                           ("report.json", '{"gradient": 3}'), ("report.json", "{")])
def test_files_of_another_form_are_refused_by_name(run, name, content):
    (run / "outputs" / name).write_text(content)
    result = plot(run)
    assert result.returncode == 2
    assert name in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_long_file_is_read_line_by_line(run):
    entry = json.dumps(line("z", "continuous", 7777))
    entry = entry.replace("}", ', "note": "' + "n" * 1500 + '"}', 1)  # 40 MB, of which a figure shows little
    with (run / "outputs/metrics.jsonl").open("w") as metrics:
        for update in range(1, 20_001):
            metrics.write(entry.replace("7777", str(update)) + "\n")
    result = plot(run, most_mib=64)
    assert result.returncode == 0, result
    assert "20,000" in "".join(xml.parse(run / "outputs/figures/loss.svg").getroot().itertext())


def test_text_runs_show_bits_per_byte(run):
    (run / "outputs/data.lock.json").write_text(json.dumps({"task": "text"}))
    assert plot(run).returncode == 0
    assert "bits per byte" in (run / "outputs/figures/loss.svg").read_text()
