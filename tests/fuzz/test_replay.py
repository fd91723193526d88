"""Each reader of foreign files over its corpus and changes of it: it reads, or refuses by its own error; no crash, bounded
memory. The same program finds every fault planted in the control."""

import os
import pathlib
import subprocess

import pytest

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"]) / "fuzz"
CORPUS = pathlib.Path(os.environ["SAMEGRAD_SOURCE"]) / "tests/fuzz/corpus"
# By how long one run of the reader takes.
MUTATIONS = {"checkpoint": 400, "samples": 400, "index": 600, "metrics": 600, "config": 600}
TARGETS = sorted(path.name.removesuffix("_fuzz.cpp") for path in CORPUS.parent.glob("*_fuzz.cpp"))


def replay(target, corpus, mutations, tmp_path, **environment):
    return subprocess.run([BIN / f"replay_{target}", corpus, str(mutations), tmp_path / "fault"], capture_output=True,
                          text=True, timeout=120, env={**os.environ, **environment})


@pytest.mark.parametrize("target", [target for target in TARGETS if target != "control"])
def test_a_reader_survives_its_corpus_and_changes_of_it(target, tmp_path):
    seeds = len(list((CORPUS / target).iterdir()))
    assert seeds >= 5 and list((CORPUS / target).glob("good*"))
    done = replay(target, CORPUS / target, MUTATIONS.get(target, 2000), tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"seeds {seeds}," in done.stdout


@pytest.mark.parametrize("fault, told", [("memory", "too much memory"), ("family", "Aborted"), ("foreign", "an exception"),
                                         ("stack", "Segmentation fault"), ("pointer", "Segmentation fault")])
def test_the_replay_finds_a_planted_fault_and_keeps_its_input(fault, told, tmp_path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "length").write_bytes(b"LEN:" + (1 << 8).to_bytes(8, "little"))
    clean = replay("control", corpus, 300, tmp_path)
    assert clean.returncode == 0, clean.stderr
    found = replay("control", corpus, 300, tmp_path, SAMEGRAD_PLANTED_FAULT=fault)
    assert (found.returncode, (tmp_path / "fault").exists()) == (1, True), found
    assert f"replay: {told}" in found.stderr
    # What was kept is enough to see it again.
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "fault").write_bytes((tmp_path / "fault").read_bytes())
    again = replay("control", alone, 0, tmp_path, SAMEGRAD_PLANTED_FAULT=fault)
    assert again.returncode == 1 and "input fault" in again.stderr


def test_a_target_that_refuses_its_good_seed_is_found(tmp_path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "good").write_bytes(b"x")
    refused = replay("control", corpus, 0, tmp_path)
    assert (refused.returncode, refused.stderr) == (1, "replay: a good input refused on input good\n")
    assert replay("control", corpus, 0, tmp_path, SAMEGRAD_PLANTED_FAULT="none").returncode == 0
