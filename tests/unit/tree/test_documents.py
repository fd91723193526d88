"""The documents say what is there: links lead somewhere, and each samegrad command they show has its options."""

import os
import pathlib
import re
import subprocess

import pytest

SOURCE = pathlib.Path(os.environ["SAMEGRAD_SOURCE"])
SAMEGRAD = pathlib.Path(os.environ.get("SAMEGRAD_BIN", SOURCE / "build/dev/bin")) / "samegrad"
DOCUMENTS = sorted([*SOURCE.glob("*.md"), *SOURCE.glob("docs/*.md")])
COMMAND = re.compile(r"(?:^    |`)samegrad ([a-z][^`\n]*)", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#]+)[^)]*\)")
PATH = re.compile(r"`((?:scripts|configs|examples|samegrad|cmake|docs|tests|benchmarks)/[\w./-]*)`")


def words_of(command):
    """The command line without the remark that may follow after two blanks; optional parts count as given."""
    return re.split(r"\s{2,}|\.\.\.", command)[0].replace("[", " ").replace("]", " ").split()


def commands_in(text):
    return [words_of(command) for command in COMMAND.findall(text)]


def unknown_options(words):
    """Options of this samegrad command that its --help does not name; None where there is no such command."""
    shown = subprocess.run([SAMEGRAD, words[0], "--help"], capture_output=True, text=True)
    # What is no command shows the help of the whole program.
    if shown.returncode != 0 or not re.search(rf"^Usage: .*\b{words[0]} \[", shown.stdout, re.MULTILINE):
        return None
    return [word for word in words[1:] if word.startswith("--") and not re.search(re.escape(word) + r"\b", shown.stdout)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_and_paths_of_a_document_exist(document):
    text = document.read_text()
    missing = [link for link in LINK.findall(text) if "://" not in link and not (document.parent / link).exists()]
    missing += [path for path in PATH.findall(text) if not (SOURCE / path).exists()]
    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_of_a_document_has_its_options(document):
    findings = [words for words in commands_in(document.read_text()) if unknown_options(words) != []]
    assert findings == []


def test_commands_and_their_options_are_found_in_a_text():
    text = "Run `samegrad env [--dual]`:\n\n    samegrad train --nproc 2      trains --fast\n"
    assert commands_in(text) == [["env", "--dual"], ["train", "--nproc", "2"]]


def test_a_command_or_an_option_that_is_not_there_is_found():
    assert unknown_options(["no-such-command"]) is None
    assert unknown_options(["env", "--no-such-option"]) == ["--no-such-option"]
