"""A resume may make a run longer or shorter: the plan begins the same, and what depends on its end is said."""

import json
import os
import pathlib
import subprocess

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])
SOURCE = pathlib.Path(os.environ["SAMEGRAD_SOURCE"])
TINY = ["model.layers=1", "model.width=16", "model.heads=2", "model.feed_forward=16", "plan.batch_size_per_rank=2"]
MOMENTUM = ["optimizer.momentum=0.9"]


def train(folder, *words, updates, ranks=1, settings=()):
    folder.mkdir(exist_ok=True)
    sets = [word for setting in [*TINY, f"plan.updates={updates}", *settings] for word in ("--set", setting)]
    return subprocess.run([BIN / "samegrad", "train", "--nproc", str(ranks), "--quiet", *words, *sets], cwd=folder,
                          capture_output=True, text=True, timeout=120)


def trained(*arguments, **options):
    done = train(*arguments, **options)
    assert done.returncode == 0, done.stderr
    return done


def lines(folder):
    return [json.loads(line) for line in (folder / "outputs/metrics.jsonl").open()]


def column(folder, name):
    return {line["update"]: line[name] for line in lines(folder)}


def test_a_longer_run_is_the_one_that_was_planned_so(tmp_path):
    trained(tmp_path / "nine", "--continuous", updates=9, settings=MOMENTUM)
    trained(tmp_path / "six", "--continuous", updates=6, ranks=2, settings=MOMENTUM)
    done = trained(tmp_path / "six", "--continuous", "--resume", "latest", updates=9, ranks=1, settings=MOMENTUM)
    assert "warning" not in done.stderr
    assert len(column(tmp_path / "nine", "hash_chain")) == 9
    assert column(tmp_path / "six", "hash_chain") == column(tmp_path / "nine", "hash_chain")


def test_a_schedule_that_ends_elsewhere_is_said_with_both_numbers_and_changes_from_there_on(tmp_path):
    cosine = ["schedule.kind=cosine"]
    for updates in (6, 9):
        trained(tmp_path / str(updates), "--continuous", updates=updates, settings=cosine)
    short, long = (column(tmp_path / str(updates), "learning_rate") for updates in (6, 9))
    trained(tmp_path / "run", "--stop-at", "4", updates=6, settings=cosine)
    done = trained(tmp_path / "run", "--continuous", "--resume", "latest", updates=9, settings=cosine)
    assert "warning: [resume] plan.updates: 6 before this resume, 9 now; the cosine schedule ends there" in done.stderr
    rates = column(tmp_path / "run", "learning_rate")
    assert rates == {update: (short if update <= 4 else long)[update] for update in range(1, 10)}
    assert short[4] != long[4]


def test_a_shorter_run_ends_earlier_but_not_before_its_checkpoint(tmp_path):
    trained(tmp_path, "--stop-at", "4", updates=6)
    refused = train(tmp_path, "--continuous", "--resume", "latest", updates=3)
    assert refused.returncode == 2 and len(refused.stderr.strip().splitlines()) == 1
    assert "is at update 4, this run has 3 in all" in refused.stderr
    ended = trained(tmp_path, "--continuous", "--resume", "latest", updates=4)
    assert "already at update 4 of 4" in ended.stdout
    trained(tmp_path, "--continuous", "--resume", "latest", updates=5)
    assert [line["update"] for line in lines(tmp_path)] == [1, 2, 3, 4, 5]


def test_a_report_does_not_hold_a_longer_run_against_a_shorter_one(tmp_path):
    trained(tmp_path, "--continuous", updates=4)
    trained(tmp_path, "--continuous", "--resume", "latest", updates=6)
    sets = [word for setting in [*TINY, "plan.updates=6", "plan.stop_at=0"] for word in ("--set", setting)]
    done = subprocess.run([BIN / "samegrad", "evaluate", "--json", *sets], cwd=tmp_path, capture_output=True, text=True,
                          timeout=120)
    report = json.loads(done.stdout)
    assert not [check for check in report["checks"] if check["name"].startswith("resume")], "nothing to compare"
    assert [what.split(" (")[0] for what in report["not_done"]] == ["resume against a continuous run"]


def test_validation_data_may_be_added_and_the_training_stays_the_same(tmp_path):
    (tmp_path / "data.jsonl").write_text("".join(json.dumps({"text": letter * 9}) + "\n" for letter in "abcdefghij"))
    text = ["data.train=../data.jsonl", "model.positions=32"]
    config = ["--config", SOURCE / "configs/text.yaml"]
    trained(tmp_path / "without", *config, updates=4, settings=text)
    trained(tmp_path / "run", *config, "--stop-at", "2", updates=4, settings=text)
    done = trained(tmp_path / "run", *config, "--resume", "latest", updates=4,
                   settings=[*text, "data.validation=../data.jsonl", "evaluation.every=1"])
    assert "data.validation: none before this resume, 10 samples" in done.stderr
    assert column(tmp_path / "run", "hash_chain") == column(tmp_path / "without", "hash_chain")
    assert [line["update"] for line in lines(tmp_path / "run") if "validation" in line] == [3, 4]


def test_evaluate_takes_the_newest_runs_weights_and_compares_no_runs_that_differ(tmp_path):
    trained(tmp_path, "--stop-at", "3", updates=6)
    trained(tmp_path, "--continuous", "--resume", "latest", updates=6)
    faster = ["optimizer.learning_rate=0.01"]
    trained(tmp_path, "--continuous", updates=6, settings=[*faster, "evaluation.every=6"])
    sets = [word for setting in [*TINY, "plan.updates=6", "plan.stop_at=0", *faster] for word in ("--set", setting)]
    done = subprocess.run([BIN / "samegrad", "evaluate", "--nproc", "1", "--json", *sets], cwd=tmp_path, capture_output=True,
                          text=True, timeout=120)
    report = json.loads(done.stdout)
    assert report["evaluation"]["validation"]["loss_sum"] == lines(tmp_path)[-1]["validation"]["loss_sum"]
    assert not [check for check in report["checks"] if check["name"].startswith("resume")]
