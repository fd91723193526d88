"""radixark/miles#3187, NVIDIA/Megatron-LM#6858, vllm-project/speculators#1027: one rank's random state was saved and given
to all, so that after a resume the dropout was another; the loss looked plausible."""

import hashlib
import json

import pytest
from text_run import train, trained, write_rows

OPTIONS = dict(dump=False, virtual_ranks=2, batch=2, plan__epochs=20, model__dropout=0.5, model__layers=1, model__width=16)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rows = [{"text": letter * (5 + i)} for i, letter in enumerate("abcdefghijklmnopqrst")]
    return write_rows(tmp_path_factory.mktemp("data") / "data.jsonl", rows)


@pytest.fixture(scope="module")
def stopped(data, tmp_path_factory):
    return trained(tmp_path_factory.mktemp("stopped"), data, ranks=2, words=["--stop-at", 50], **OPTIONS)


@pytest.fixture
def checkpoint(stopped):
    """The one at update 50; what a test changes in its rank files is put back."""
    folder = stopped.folder / "artifacts/checkpoints/step-0050"
    before = {path: path.read_bytes() for path in folder.iterdir()}
    yield folder
    for path, bytes_before in before.items():
        path.write_bytes(bytes_before)


def resume(stopped, data, **options):
    return train(stopped.folder, data, words=["--resume", "artifacts/checkpoints/step-0050"], **{**OPTIONS, **options})


def make_manifest_fit(checkpoint):
    """As if the changed files had been saved so."""
    path = checkpoint / "manifest.json"
    text = path.read_text()
    manifest = json.loads(text)
    for file in manifest["files"]:
        changed = (checkpoint / file["name"]).read_bytes()
        assert len(changed) == file["size"], "only contents of the same size"
        name = f'"name": "{file["name"]}",\n      "size": {file["size"]},\n      "sha256": '
        assert text.count(name) == 1
        text = text.replace(f'{name}"{file["sha256"]}"', f'{name}"{hashlib.sha256(changed).hexdigest()}"')
    before_digest = text[:text.rindex(manifest["sha256"])]
    path.write_text(before_digest + hashlib.sha256(before_digest.encode()).hexdigest() +
                    text[len(before_digest) + 64:])


def refused(run, *words):
    assert run.exit_code == 3 and len(run.errors.strip().splitlines()) == 1, run.errors
    assert all(word in run.errors for word in words), run.errors


def test_a_hundred_updates_are_fifty_and_fifty(tmp_path, data):
    continuous = trained(tmp_path / "continuous", data, ranks=2, **OPTIONS)
    trained(tmp_path / "run", data, ranks=2, words=["--stop-at", 50], **OPTIONS)
    resumed = trained(tmp_path / "run", data, ranks=2, words=["--resume", "latest"], **OPTIONS)
    assert len(resumed.chain()) == 100 and resumed.chain() == continuous.chain()
    assert resumed.final_bytes("resumed") == continuous.final_bytes("continuous")


def test_the_ranks_files_differ(checkpoint):
    digests = {json.loads((checkpoint / f"rank-{rank}.json").read_text())["digest"] for rank in (0, 1)}
    assert len(digests) == 2


def swap(checkpoint):
    files = [checkpoint / f"rank-{rank}.json" for rank in (0, 1)]
    contents = [file.read_bytes() for file in files]
    for file, content in zip(files, reversed(contents), strict=True):
        file.write_bytes(content)


def test_swapped_files_are_refused_by_file_and_rank(stopped, data, checkpoint):
    swap(checkpoint)
    refused(resume(stopped, data), "rank-0.json", "virtual rank 1, not of 0")


def test_swapped_files_are_refused_also_where_the_manifest_fits(stopped, data, checkpoint):
    swap(checkpoint)
    make_manifest_fit(checkpoint)
    refused(resume(stopped, data), "rank-0.json", "virtual_rank is not 0")


def test_a_missing_file_is_refused_by_file_and_rank(stopped, data, checkpoint):
    (checkpoint / "rank-1.json").unlink()
    refused(resume(stopped, data, ranks=2), "rank-1.json: missing", "virtual rank 1")


def test_an_altered_file_is_refused_by_file(stopped, data, checkpoint):
    file = checkpoint / "rank-1.json"
    file.write_text(file.read_text().replace('"samples_consumed":100', '"samples_consumed":102'))
    refused(resume(stopped, data), "rank-1.json: damaged")


@pytest.mark.parametrize("file, before, after, said", [
    ("rank-1.json", '"samples_consumed":100', '"samples_consumed":102',
     ["have consumed 202 samples", "given out 200"]),
    # The other units: tests/unit/checkpoint/resume_rules_test.cpp.
    ("state.json", '"epoch": 10', '"epoch": 20', ["state.json", '"epoch":20', '"epoch":10']),
])
def test_a_place_that_is_not_the_plans_is_refused_though_its_digests_fit(stopped, data, checkpoint, file, before, after,
                                                                         said):
    path = checkpoint / file
    assert path.read_text().count(before) == 1
    path.write_text(path.read_text().replace(before, after))
    make_manifest_fit(checkpoint)
    refused(resume(stopped, data), *said)


def test_a_manifest_made_to_fit_is_accepted_where_nothing_was_changed(stopped, data, checkpoint):
    make_manifest_fit(checkpoint)
    assert resume(stopped, data).exit_code == 0
