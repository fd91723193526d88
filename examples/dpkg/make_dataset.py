"""Turns the package database of a Debian machine into prompt/completion lines for training.

    python3 make_dataset.py [--status /var/lib/dpkg/status] [--context 512] FOLDER

Writes FOLDER/train.jsonl and FOLDER/validation.jsonl, one object a line: the prompt is a package's name, section and
dependencies, the completion its description (first line, then the first paragraph of the long text). The lengths differ
widely, as real data does. Which package goes where depends on its name alone, and the same database gives the same
files. A completion is shortened at a word so that sample and end token fit the context: the trainer then cuts nothing.
"""

import argparse
import hashlib
import json
import pathlib
import re
import sys

MOST_DEPENDENCIES = 6
VALIDATION_SHARE = 10  # one package in so many


def paragraphs(lines):
    """The database's paragraphs as {field: text}; continuation lines are kept, each after a newline."""
    fields, last = {}, None
    for line in lines:
        line = line.rstrip("\n")
        if not line:
            if fields:
                yield fields
            fields, last = {}, None
        elif line[0] in " \t":
            fields[last] += "\n" + line[1:]
        else:
            last, _, value = line.partition(":")
            fields[last] = value.strip()
    if fields:
        yield fields


def dependencies(field):
    """Names of the first ones, without versions; of alternatives the first."""
    names = [re.split(r"[\s(:|]", entry.strip(), maxsplit=1)[0] for entry in field.split(",")]
    return [name for name in names if name][:MOST_DEPENDENCIES]


def description(field):
    first_line, _, long_text = field.partition("\n")
    paragraph = long_text.split("\n.\n")[0]
    return (first_line + "\n" + " ".join(paragraph.split())).strip()


def shorten(text, most_bytes):
    """The longest beginning of whole words in at most that many bytes of UTF-8."""
    if len(text.encode()) <= most_bytes:
        return text
    return text.encode()[: most_bytes + 1].decode(errors="ignore").rpartition(" ")[0]


def sample(package, context):
    depends = ", ".join(dependencies(package.get("Depends", ""))) or "nothing"
    prompt = f"{package['Package']} ({package.get('Section', 'unknown')}) needs {depends}\n"
    # One place of the context is the end token's.
    completion = shorten(description(package["Description"]), context - 1 - len(prompt.encode()))
    return {"prompt": prompt, "completion": completion}


def is_validation(name):
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") % VALIDATION_SHARE == 0


def samples(status, context):
    """{"train": [...], "validation": [...]} of the installed packages that have a description, by name."""
    packages = {}
    for package in paragraphs(status):
        if package.get("Status", "").endswith(" installed") and package.get("Description"):
            packages.setdefault(package["Package"], package)
    parts = {"train": [], "validation": []}
    for name in sorted(packages):
        made = sample(packages[name], context)
        if made["completion"]:
            parts["validation" if is_validation(name) else "train"].append(made)
    return parts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--status", default="/var/lib/dpkg/status", help="the package database")
    parser.add_argument("--context", type=int, default=512, help="longest sample in bytes, end token included")
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    try:
        with open(arguments.status, encoding="utf-8", errors="replace") as status:
            parts = samples(status, arguments.context)
    except OSError as error:
        sys.exit(f"[dpkg] package database: {error}; this example needs a Debian or Ubuntu machine, or --status FILE")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name, part in parts.items():
        with open(arguments.folder / f"{name}.jsonl", "w", encoding="utf-8") as file:
            file.writelines(json.dumps(entry, ensure_ascii=False) + "\n" for entry in part)
        lengths = sorted(len(entry["completion"].encode()) for entry in part)
        if not lengths:
            sys.exit(f"[dpkg] {name}: no package of {arguments.status} falls in this part")
        print(
            f"{name}: {len(part)} packages, completions of {lengths[0]} to {lengths[-1]} bytes, "
            f"{sum(lengths)} bytes in all -> {arguments.folder / name}.jsonl"
        )


if __name__ == "__main__":
    main()
