"""The dpkg example's data and its byte-unigram model, on a small package database."""

import json
import math
import os
import pathlib
import subprocess
import sys

import pytest

EXAMPLE = pathlib.Path(os.environ["SAMEGRAD_SOURCE"]) / "examples/dpkg"

STATUS = """Package: alpha
Status: install ok installed
Section: libs
Depends: libc6 (>= 2.36), beta | gamma, delta:any
Conffiles:
 /etc/alpha 0123
Description: first letter
 The long text of
 two lines.
 .
 A second paragraph.

Package: gone
Status: deinstall ok config-files
Section: libs
Description: not there any more

Package: beta
Status: hold ok installed
Description: only one line, größer

Package: beta
Status: install ok installed
Architecture: i386
Description: the same package again

Package: silent
Status: install ok installed
Section: libs
"""


def run(*arguments):
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True)


def make(folder, status, *options):
    database = folder / "status"
    database.write_text(status, encoding="utf-8")
    made = run(EXAMPLE / "make_dataset.py", "--status", database, *options, folder)
    parts = {}
    for part in ("train", "validation"):
        lines = (folder / f"{part}.jsonl").read_text(encoding="utf-8").splitlines()
        parts[part] = [json.loads(line) for line in lines]
    return made, parts


def packages(count):
    return "\n".join(f"Package: p{i}\nStatus: install ok installed\nDescription: package number {i}\n" for i in range(count))


def test_each_installed_package_with_a_description_is_one_sample(tmp_path):
    _, parts = make(tmp_path, STATUS + "\n" + packages(40))
    samples = {entry["prompt"].split()[0]: entry for part in parts.values() for entry in part}
    assert len(samples) == sum(map(len, parts.values())) == 42
    assert samples["alpha"] == {
        "prompt": "alpha (libs) needs libc6, beta, delta\n",
        "completion": "first letter\nThe long text of two lines.",
    }
    assert samples["beta"] == {"prompt": "beta (unknown) needs nothing\n", "completion": "only one line, größer"}


def test_the_same_database_gives_the_same_bytes_and_other_packages_move_none(tmp_path):
    for name, count in (("a", 40), ("b", 40), ("more", 80)):
        (tmp_path / name).mkdir()
        make(tmp_path / name, packages(count))
    for part in ("train.jsonl", "validation.jsonl"):
        first = (tmp_path / "a" / part).read_bytes()
        assert first == (tmp_path / "b" / part).read_bytes()
        assert set(first.splitlines()) <= set((tmp_path / "more" / part).read_bytes().splitlines())


@pytest.mark.parametrize("letter", ["x", "ö"])
def test_sample_and_end_token_fit_the_context(tmp_path, letter):
    long_text = " ".join(letter * 7 for _ in range(60))
    database = f"Package: long\nStatus: install ok installed\nDescription: short\n {long_text}\n\n"
    _, parts = make(tmp_path, database + packages(40), "--context", "128")
    sizes = [len((entry["prompt"] + entry["completion"]).encode()) + 1 for part in parts.values() for entry in part]
    assert 128 - 2 * 8 < max(sizes) <= 128
    (cut,) = (entry for part in parts.values() for entry in part if entry["prompt"].startswith("long"))
    assert set(cut["completion"].split()) == {"short", letter * 7}


def test_a_machine_without_the_database_is_told_so(tmp_path):
    made = run(EXAMPLE / "make_dataset.py", "--status", tmp_path / "none", tmp_path)
    assert made.returncode != 0 and "needs a Debian or Ubuntu machine" in made.stderr


@pytest.fixture
def two_files(tmp_path):
    train, validation = tmp_path / "train.jsonl", tmp_path / "validation.jsonl"
    train.write_text('{"prompt": "not counted", "completion": "aab"}\n{"prompt": "p", "completion": ""}\n')
    validation.write_text('{"prompt": "p", "completion": "ab"}\n{"prompt": "p", "completion": "c"}\n')
    return train, validation


def test_unigram_counts_completions_and_end_tokens_with_one_added(two_files):
    # Train: a a b END, so a has 3/260, b and END 2/260, all others 1/260. Validation: a b END c END.
    expected = -sum(math.log2(count / 260) for count in (3, 2, 2, 1, 2)) / 5
    printed = run(EXAMPLE / "unigram.py", *two_files)
    assert printed.returncode == 0
    assert f"{expected:.4f} bits per byte over 5 validation bytes" in printed.stdout


@pytest.mark.parametrize("bits, tokens, code", [(6.0, 5, 0), (8.0, 5, 3), (6.0, 4, 3)])
def test_a_model_that_is_not_better_or_saw_other_bytes_is_refused(two_files, bits, tokens, code):
    lines = [
        {"update": 1, "validation": {"loss_sum": 1.0, "supervised_tokens": 5}},
        {"update": 2, "validation": {"loss_sum": bits * tokens * math.log(2), "supervised_tokens": tokens}},
        {"update": 3},
    ]
    metrics = two_files[0].with_name("metrics.jsonl")
    metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))
    printed = run(EXAMPLE / "unigram.py", *two_files, "--metrics", metrics)
    assert printed.returncode == code
    if code == 0:
        assert "samegrad:     6.0000 bits per byte" in printed.stdout
