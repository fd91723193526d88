"""`samegrad verify`: right windows are verified on any number of processes; what cannot be verified says why."""

import json
import os
import pathlib
import subprocess

import pytest
from safetensors.numpy import load_file

SAMEGRAD = pathlib.Path(os.environ["SAMEGRAD_BIN"]) / "samegrad"
TEXT = pathlib.Path(os.environ["SAMEGRAD_SOURCE"]) / "configs/text.yaml"
SMALL = {"model.width": 32, "model.layers": 1, "model.heads": 2, "model.feed_forward": 64}
MEANS = {"mean-of-means", "local-count"}


def samegrad(folder, *words, exit_code=0, **settings):
    sets = [word for key, value in settings.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]
    done = subprocess.run([str(word) for word in (SAMEGRAD, *words, *sets)], cwd=folder, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == exit_code, (done.returncode, done.stdout, done.stderr)
    return done


def lesson(folder, *words, **options):
    return samegrad(folder, *words, **SMALL, plan__updates=4, plan__stop_at=2, **options)


def text_words(data):
    return ["--config", TEXT, "--set", f"data.train={data}"]


def text(folder, data, *words, **options):
    settings = {**SMALL, "model.positions": 64, "schedule.kind": "constant", "schedule.warmup_updates": 0,
                "plan.batch_size_per_rank": 2, **options}
    return samegrad(folder, words[0], *text_words(data), *words[1:], **settings)


def verified(done, processes):
    report = json.loads(done.stdout)
    assert report["holds"] is True and all(check["holds"] for check in report["checks"])
    assert report["processes"] == processes == len(report["ranks"])
    assert sum(rank["supervised_tokens"] for rank in report["ranks"]) == report["window"]["supervised_tokens"]
    for precision in ("float32", "float64"):
        gradient = report[precision]["gradient"]
        assert gradient["elements"] == report["parameters"] > 0 and gradient["outside"] == 0
        assert report[precision]["reference_supervised_tokens"] == report["window"]["supervised_tokens"]
    assert report["float64"]["gradient"]["worst"]["error"] < 1e-14 < report["float32"]["gradient"]["worst"]["error"]
    return report


def shown(report):
    return {control["name"] for control in report["controls"] if control["shows"]}


def rows(folder, pairs):
    path = folder / "data.jsonl"
    path.write_text("".join(json.dumps({"prompt": prompt, "answer": answer}) + "\n" for prompt, answer in pairs))
    return path


@pytest.fixture
def uneven(tmp_path):
    return rows(tmp_path, [(f"question {i}: ", "word " * (1 + i * 7 % 11) + "." * (i * i % 13)) for i in range(24)])


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_a_lesson_window_is_verified_and_every_control_that_shows_is_rejected(tmp_path, processes):
    report = verified(lesson(tmp_path, "verify", "--nproc", processes, "--json"), processes)
    assert shown(report) == {"mean-of-means", "local-count", "extra-accumulation-division", "missing-world-size"}
    assert all(control["times_tolerance"] > 1 for control in report["controls"] if control["shows"])
    (silent,) = (control for control in report["controls"] if not control["shows"])
    assert silent["name"] == "count-before-shift" and "not shifted" in silent["why_not"]


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_a_text_window_is_verified_with_dropout_off(tmp_path, uneven, processes):
    report = verified(text(tmp_path, uneven, "verify", "--nproc", processes, "--update", 2, "--json",
                           model__dropout=0.1), processes)
    assert report["window"]["update"] == 2
    assert report["dropout"] == {"config": 0.1, "here": 0.0}
    assert MEANS <= shown(report)


def test_without_nproc_it_takes_as_many_processes_as_virtual_ranks_and_begins_with_the_verdict(tmp_path, uneven):
    done = text(tmp_path, uneven, "verify", model__dropout=0.1, plan__virtual_ranks=3)
    assert done.stdout.startswith("Verified: the gradient of 3 processes is that of one process")
    assert "off in everything compared here" in done.stdout


def test_the_window_after_a_checkpoint_is_verified_under_its_weights_and_its_config(tmp_path, uneven):
    text(tmp_path, uneven, "train", "--nproc", 2, "--stop-at", 2, "--quiet")
    report = verified(samegrad(tmp_path, "verify", "--checkpoint", "latest", "--json"), 2)
    assert report["window"]["update"] == 3 and "step-0002, after update 2" in report["weights"]
    path = "artifacts/checkpoints/step-0002"
    report = verified(text(tmp_path, uneven, "verify", "--checkpoint", path, "--update", 1, "--nproc", 1, "--json"), 1)
    assert report["window"]["update"] == 1


def test_another_config_than_the_checkpoints_is_refused_by_name(tmp_path, uneven):
    text(tmp_path, uneven, "train", "--stop-at", 1, "--quiet")
    for words in (text_words(uneven), []):
        done = samegrad(tmp_path, "verify", *words, "--checkpoint", "latest", exit_code=2, plan__accumulation=5)
        assert "plan.accumulation" in done.stderr, done.stderr


def test_a_damaged_checkpoint_ends_with_3_and_names_the_file(tmp_path):
    lesson(tmp_path, "train", "--quiet")
    weights = tmp_path / "artifacts/checkpoints/step-0002/model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-5] ^= 1
    weights.write_bytes(content)
    done = samegrad(tmp_path, "verify", "--checkpoint", weights.parent, exit_code=3)
    assert "model.safetensors" in done.stderr


def test_an_update_that_the_run_does_not_have_ends_with_2(tmp_path):
    done = lesson(tmp_path, "verify", "--update", 5, exit_code=2)
    assert "update 5: this run has updates 1 to 4" in done.stderr
    lesson(tmp_path, "train", "--continuous", "--quiet")
    done = samegrad(tmp_path, "verify", "--checkpoint", "artifacts/checkpoints/step-0004", exit_code=2)
    assert "update 5: this run has updates 1 to 4; choose one with --update" in done.stderr


def test_a_rank_without_a_supervised_token_takes_part_with_zeros(tmp_path):
    data = rows(tmp_path, [("only a prompt", ""), ("and one with ", "an answer")])
    done = text(tmp_path, data, "verify", "--json", plan__accumulation=1, plan__batch_size_per_rank=1)
    report = verified(done, 2)
    assert min(rank["supervised_tokens"] for rank in report["ranks"]) == 0
    assert MEANS <= shown(report)
    assert "NaN: a mean of no tokens" in text(tmp_path, data, "verify", plan__accumulation=1,
                                             plan__batch_size_per_rank=1).stdout


def test_equal_counts_are_verified_and_it_is_said_that_the_means_cannot_show(tmp_path):
    data = rows(tmp_path, [(f"question {i:2}: ", f"number {i:2}") for i in range(16)])
    report = verified(text(tmp_path, data, "verify", "--json"), 2)
    assert not MEANS & shown(report) and "missing-world-size" in shown(report)
    for control in report["controls"]:
        assert control["shows"] or control["why_not"]


def test_one_virtual_rank_without_accumulation_has_no_control_and_says_so(tmp_path, uneven):
    done = text(tmp_path, uneven, "verify", plan__virtual_ranks=1, plan__accumulation=1)
    assert done.stdout.startswith("Verified: the gradient of 1 process is")
    assert "None can: on this window the well-known mistakes give the right gradient." in done.stdout


def test_a_window_without_supervised_tokens_has_no_gradient_to_verify(tmp_path):
    data = rows(tmp_path, [("p", "")] * 5 + [("p", "an answer")])
    errors = [text(tmp_path, data, "verify", "--update", update, plan__virtual_ranks=1, plan__accumulation=1,
                   plan__batch_size_per_rank=1, exit_code=2).stderr
              for update in range(1, 7) if not supervises(tmp_path, data, update)]
    assert len(errors) == 5 and all("0 supervised tokens in its window" in error for error in errors)


def supervises(folder, data, update):
    """From the plan: whether the update's one sample is the one with an answer."""
    plan = folder / "outputs/plan.json"
    if not plan.exists():
        text(folder, data, "prepare", plan__virtual_ranks=1, plan__accumulation=1, plan__batch_size_per_rank=1)
    return json.loads(plan.read_text())["plan"][update - 1] == [[[5]]]


def test_dumped_gradients_are_those_that_training_dumps(tmp_path):
    lesson(tmp_path, "verify", "--dump-gradients", "verify", "--quiet")
    lesson(tmp_path, "train", "--nproc", 2, "--dump-gradients", "train", "--quiet")
    float32 = load_file(tmp_path / "verify/verify-0001-float32.safetensors")
    float64 = load_file(tmp_path / "verify/verify-0001-float64.safetensors")
    trained = load_file(tmp_path / "train/gradients-0001.safetensors")
    assert set(trained) == set(float32) == set(float64)
    for name, gradient in trained.items():
        assert (gradient == float32[name]).all() and float64[name].dtype == "float64"
