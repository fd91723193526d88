"""`simulate` answers from what it is told, and refuses nonsense by one line."""

import json
import os
import pathlib
import subprocess
import xml.etree.ElementTree as xml

import pytest

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])


def simulate(*words, cwd=None):
    return subprocess.run([BIN / "samegrad", "simulate", *map(str, words)], capture_output=True, text=True, cwd=cwd,
                          timeout=60)


def rows(*words, cwd=None):
    done = simulate("--json", *words, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["rows"]


def test_it_goes_to_4096_ranks_and_writes_nothing(tmp_path):
    done = simulate("--atoms-per-rank", 4, cwd=tmp_path)
    assert done.returncode == 0 and done.stderr == ""
    assert "Canonical reduction" in done.stdout and "Native reduction" in done.stdout and "\n4,096 " in done.stdout
    assert list(tmp_path.iterdir()) == []
    assert [row["world_size"] for row in rows("--atoms-per-rank", 4)] == [2**k for k in range(13)]
    assert [row["world_size"] for row in rows("--atoms", 5)] == [1, 2, 4, 8]


def test_a_figure_is_drawn_where_it_is_asked_for(tmp_path):
    done = simulate("--atoms-per-rank", 2, "--figure", "scale.svg", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert xml.parse(tmp_path / "scale.svg").getroot().tag.endswith("svg")


def test_a_faster_machine_is_faster_and_exchanges_the_same():
    slow, fast = (rows("--atoms", 64, "--world-sizes", 16, *words)[0] for words in
                  ([], ["--flops", "1e13", "--network-bandwidth", "1e12", "--network-latency", "0"]))
    assert fast["canonical"]["seconds"]["update"] < slow["canonical"]["seconds"]["update"]
    assert fast["canonical"]["bytes_sent"] == slow["canonical"]["bytes_sent"]
    assert fast["canonical"]["memory"] == slow["canonical"]["memory"]


def test_the_unequal_atoms_of_a_prepared_plan_cost_what_the_fullest_rank_computes(tmp_path):
    subprocess.run([BIN / "samegrad", "prepare", "--run", tmp_path, "--quiet"], check=True, capture_output=True)
    planned, = rows("--run", tmp_path, "--world-sizes", 2)
    uniform, = rows("--world-sizes", 2)
    assert planned["canonical"]["seconds"]["compute"] > 1.2 * planned["mean_compute_seconds"]
    assert uniform["canonical"]["seconds"]["compute"] == pytest.approx(uniform["mean_compute_seconds"], rel=1e-9)


@pytest.mark.parametrize("words, named", [
    (["--world-sizes", "0"], "--world-sizes"),
    (["--world-sizes", "4097"], "--world-sizes"),
    (["--world-sizes", "1,,2"], "--world-sizes"),
    (["--world-sizes", "two"], "--world-sizes"),
    (["--flops", "nan"], "--flops"),
    (["--flops", "inf"], "--flops"),
    (["--flops", "0"], "--flops"),
    (["--flops", "-1e9"], "--flops"),
    (["--host-bandwidth", "1e10x"], "--host-bandwidth"),
    (["--network-bandwidth", "0"], "--network-bandwidth"),
    (["--network-latency", "-1"], "--network-latency"),
    (["--host-latency", "nan"], "--host-latency"),
    (["--memory-bandwidth", "fast"], "--memory-bandwidth"),
    (["--ranks-per-host", "0"], "--ranks-per-host"),
    (["--atoms", "0"], "--atoms"),
    (["--atoms", "99999999999999999999"], "--atoms"),
    (["--atoms", "4", "--atoms-per-rank", "4"], "give one of them"),
    (["--tokens", "0"], "--tokens"),
    (["--atoms", "4", "--run", "."], "--run"),
    (["--run", "nowhere"], "nowhere"),
    (["--set", "model.width=7"], "model.heads"),
    (["--worldsizes", "1"], "--world-sizes"),
])
def test_nonsense_is_refused_by_one_line(tmp_path, words, named):
    done = simulate(*words, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and named in done.stderr


def test_help_has_an_example_that_works(tmp_path):
    text = simulate("--help").stdout
    examples = [line.split()[2:] for line in text.splitlines() if line.strip().startswith("samegrad simulate")]
    assert len(examples) == 3
    assert simulate(*examples[1], cwd=tmp_path).returncode == 0
