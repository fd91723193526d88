"""microsoft/graphrag#2424, microsoft/PyRIT#1479: one blank line dropped the whole file; a broken one killed a reader late."""

import json

import pytest
from text_run import train, trained


def ingest(run):
    return run.output + run.errors


def test_blank_lines_are_skipped_and_counted(tmp_path):
    data = tmp_path / "A.jsonl"
    data.write_text('{"text": "abc"}\n\n{"text": "de"}\n   ')
    run = trained(tmp_path / "run", data, ranks=2, virtual_ranks=2)
    assert run.metrics()[0]["supervised_tokens"] == 5
    shown = trained(tmp_path / "run", data, ranks=2, virtual_ranks=2, words=["--dry-run"])
    assert "2 samples" in ingest(shown) and "2 blank lines" in ingest(shown)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_broken_line_is_refused_by_file_and_line_on_every_rank(tmp_path, ranks):
    data = tmp_path / "B.jsonl"
    data.write_text('{"text": "abc"}\n{"text": "abc\n{"text": "de"}\n')
    run = train(tmp_path / "run", data, ranks=ranks, virtual_ranks=2)
    assert run.exit_code == 2
    lines = run.errors.strip().splitlines()
    assert len(lines) == 1 and "B.jsonl:2: " in lines[0], run.errors
    assert not (run.folder / "outputs/metrics.jsonl").exists() and run.checkpoints() == []


def test_broken_lines_are_skipped_and_counted_where_asked(tmp_path):
    data = tmp_path / "B.jsonl"
    data.write_text('{"text": "abc"}\n{"text": "abc\n{"text": "de"}\n')
    run = trained(tmp_path / "run", data, ranks=2, virtual_ranks=2, data__skip_bad_lines="true")
    assert run.metrics()[0]["supervised_tokens"] == 5
    shown = trained(tmp_path / "run", data, virtual_ranks=2, data__skip_bad_lines="true", words=["--dry-run"])
    assert "2 samples" in ingest(shown) and "1 bad line" in ingest(shown)


def test_line_ends_and_byte_order_mark_make_no_difference(tmp_path):
    rows = [json.dumps({"text": text}, ensure_ascii=False) for text in ("abc", "dé")]
    forms = {"plain": "\n".join(rows) + "\n", "crlf": "\r\n".join(rows) + "\r\n", "bom": "\ufeff" + "\n".join(rows)}
    hashes = set()
    for name, content in forms.items():
        data = tmp_path / f"{name}.jsonl"
        data.write_bytes(content.encode("utf-8"))
        hashes.add(trained(tmp_path / name, data, virtual_ranks=2).metrics()[0]["parameters_xxh3"])
    assert len(hashes) == 1
