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

COMMENTED = sorted(path for folder in ("samegrad", "apps", "cmake", "tests", "benchmarks")
                   for path in (SOURCE / folder).rglob("*") if path.suffix in (".h", ".cpp", ".cmake"))
DOCUMENT = re.compile(r'(docs/[\w-]+\.md)(?:, "([^"]+)")?(?:,? (rules?|sections?|steps?) (\d+)(?: and (\d+))?)?')
FILE = re.compile(r"(?<![\w/.<-])((?:base|kernels|config|data|plan|objective|comm|ddp|model|train|checkpoint|report|launch)"
                  r"/\w+\.(?:h|cpp))\b")


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


def torn_rows(text):
    """Rows of tables that have another number of cells than their table's first row."""
    torn, cells_of_table = [], 0
    for line in text.splitlines():
        # A bar in code or behind a backslash parts no cells; one in code must have the backslash, too.
        cells = len(re.split(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        if cells_of_table and cells and cells != cells_of_table:
            torn.append(line)
        cells_of_table = cells_of_table or cells if cells else 0
    return torn


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_row_of_a_table_has_as_many_cells_as_its_head(document):
    assert torn_rows(document.read_text()) == []


def test_a_row_with_a_cell_too_many_or_too_few_is_found():
    table = "| a | b |\n|---|---|\n"
    assert torn_rows(table + "| `x \\| y` | 2 |\n\n| another | table | here |\n") == []
    assert torn_rows(table + "| 1 | 2 | 3 |\n| 1 |\n") == ["| 1 | 2 | 3 |", "| 1 |"]


def stale_references(text):
    """Documents, their headings and numbered parts, and files of the library that a source's comments name in vain."""
    text = re.sub(r"\s*\n\s*(?:///?<?|#)?\s*", " ", text)
    stale = [name for name in FILE.findall(text) if not (SOURCE / "samegrad" / name).exists()]
    for name, heading, part, *numbers in DOCUMENT.findall(text):
        document = (SOURCE / name).read_text() if (SOURCE / name).exists() else ""
        parts = [f"{part.rstrip('s').capitalize()} {number}:" for number in numbers if number]
        if not document or f"# {heading}\n" not in f"{document}# \n" or any(f"**{one}" not in document for one in parts):
            stale.append(" ".join(word for word in (name, heading, part, *numbers) if word))
    return stale


def test_what_the_comments_of_sources_name_is_there():
    found = {str(path.relative_to(SOURCE)): stale_references(path.read_text()) for path in COMMENTED}
    assert {path: stale for path, stale in found.items() if stale} == {}
    assert sum("docs/" in path.read_text() for path in COMMENTED) > 30


def test_a_comment_that_names_what_is_not_there_is_found():
    there = '// as docs/exactness.md, "Claim",\n// steps 2 and 3 say; docs/hangs.md (base/error.h)\n'
    assert stale_references(there) == []
    gone = '// docs/exactness.md, rule 4\n// docs/none.md\n/// docs/formats.md, "No heading"; comm/no_such_file.h\n'
    assert stale_references(gone) == ["comm/no_such_file.h", "docs/exactness.md rule 4", "docs/none.md",
                                      "docs/formats.md No heading"]


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
