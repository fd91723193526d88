"""plan.balance lpt with real processes: one hash for every number of them, through stops and resumes."""

import json
import os
import pathlib
import random
import subprocess

import pytest

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])
CONFIG = pathlib.Path(os.environ["SAMEGRAD_SOURCE"]) / "configs/text.yaml"
LENGTH = {"plan.updates": 6, "plan.stop_at": 3, "plan.virtual_ranks": 2, "plan.accumulation": 2}
SMALL = {"model.width": 32, "model.layers": 1, "model.heads": 2, "model.feed_forward": 64}
LESSON = {**LENGTH, **SMALL, "plan.balance": "lpt", "plan.batch_size_per_rank": 6}
# 30 samples in windows of 12: every third is a partial one. A document lies in several atoms.
TEXT = {**LENGTH, **SMALL, "plan.batch_size_per_rank": 3, "model.positions": 64, "objective.unit": "document",
        "model.dropout": 0.1}


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    generator = random.Random(4)
    path = tmp_path_factory.mktemp("data") / "train.jsonl"
    rows = [{"text": "x" * generator.choice([generator.randrange(2, 9), generator.randrange(30, 64)]),
             "document": i % 5} for i in range(30)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def samegrad(folder, command, settings, *words):
    folder.mkdir(parents=True, exist_ok=True)
    arguments = [BIN / "samegrad", command, *words]
    if "data.train" in settings:
        arguments += ["--config", CONFIG]
    for key, value in settings.items():
        arguments += ["--set", f"{key}={value}"]
    return subprocess.run([str(word) for word in arguments], cwd=folder, capture_output=True, text=True, timeout=120)


def settings_of(task, text):
    return {**TEXT, "data.train": text} if task == "text" else LESSON


def train(folder, ranks, settings, *words):
    done = samegrad(folder, "train", settings, "--nproc", ranks, *words)
    assert done.returncode == 0, done.stderr
    return done


def lines(folder):
    return [json.loads(line) for line in (folder / "outputs/metrics.jsonl").open()]


def hashes(folder, *kinds):
    return {line["update"]: (line["parameters_xxh3"], line["hash_chain"]) for line in lines(folder)
            if line["kind"] in kinds}


@pytest.mark.parametrize("task", ["text", "lesson"])
def test_one_hash_for_every_number_of_processes_and_through_resumes(tmp_path, text, task):
    settings = settings_of(task, text)
    found = []
    for ranks in (1, 2, 3, 4):
        train(tmp_path / str(ranks), ranks, settings, "--continuous", "--quiet")
        assert all(len(line["ranks"]) == ranks for line in lines(tmp_path / str(ranks)))
        found.append(hashes(tmp_path / str(ranks), "continuous"))
    assert len(found[0]) == 6 and all(other == found[0] for other in found)
    resumed = tmp_path / "resumed"
    train(resumed, 3, settings, "--quiet")
    train(resumed, 2, settings, "--quiet", "--resume", "latest")
    assert hashes(resumed, "stopped", "resumed") == found[0]
    plan = json.loads((resumed / "outputs/plan.json").read_text())
    assert plan["rule"].endswith("+lpt-1")
    history = [json.loads((resumed / f"artifacts/checkpoints/step-0006/rank-{rank}.json").read_text()) for rank in (0, 1)]
    for rank in (0, 1):
        assert history[rank]["samples_consumed"] == sum(len(atom) for window in plan["plan"] for atom in window[rank])


def test_the_unbalanced_run_has_the_same_windows_and_other_bits(tmp_path, text):
    for balance in ("lpt", "none"):
        train(tmp_path / balance, 2, {**settings_of("text", text), "plan.balance": balance}, "--continuous", "--quiet")
    plans = [json.loads((tmp_path / balance / "outputs/plan.json").read_text())["plan"] for balance in ("lpt", "none")]
    assert plans[0] != plans[1]
    sets = [[sorted(id for rank in window for atom in rank for id in atom) for window in plan] for plan in plans]
    assert sets[0] == sets[1]
    balanced, drawn = lines(tmp_path / "lpt"), lines(tmp_path / "none")
    assert [line["supervised_tokens"] for line in balanced] == [line["supervised_tokens"] for line in drawn]
    assert balanced[0]["loss"] == pytest.approx(drawn[0]["loss"], rel=1e-2)
    assert balanced[0]["hash_chain"] != drawn[0]["hash_chain"]


@pytest.mark.parametrize("change, before, now", [({"plan.balance": "none"}, '"lpt"', '"none"'),
                                                 ({"plan.cost_per_token": 2}, "0.0", "2.0")])
def test_a_resume_under_another_balance_or_cost_is_refused_by_name(tmp_path, text, change, before, now):
    settings = settings_of("text", text)
    train(tmp_path, 2, settings, "--quiet")
    done = samegrad(tmp_path, "train", {**settings, **change}, "--nproc", 2, "--resume", "latest")
    assert done.returncode == 2
    (key,) = change
    assert f"[resume] {key}: " in done.stderr and before in done.stderr and now in done.stderr, done.stderr


@pytest.mark.parametrize("task", ["text", "lesson"])
def test_verify_proves_a_balanced_window_with_its_controls(tmp_path, text, task):
    done = samegrad(tmp_path, "verify", {**settings_of(task, text), "model.dropout": 0}, "--nproc", 3, "--json")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_dry_run_shows_that_ranks_cost_alike_and_that_the_lessons_own_do_not(tmp_path, text):
    settings = {key: value for key, value in LESSON.items() if key != "plan.balance"}
    drawn = train(tmp_path / "drawn", 2, settings, "--dry-run")
    balanced = train(tmp_path / "balanced", 2, LESSON, "--dry-run")
    cost = [next(line for line in done.stdout.splitlines() if line.startswith("Cost: ")) for done in (drawn, balanced)]
    ratios = [[float(word) for word in line.split() if word[0].isdigit()] for line in cost]
    assert min(ratios[0]) > 4 / 3 and max(ratios[1]) < 1.1, cost
    prepared = samegrad(tmp_path / "balanced", "prepare", LESSON, "--json")
    found = json.loads(prepared.stdout)["plan"]["first_window_largest_over_mean_cost"]
    assert [f"{found[name]:.2f}" for name in ("atoms", "virtual_ranks")] == [f"{ratio:.2f}" for ratio in ratios[1]]


def test_measured_costs_are_lines_that_the_config_takes(tmp_path, text):
    settings = settings_of("text", text)
    done = samegrad(tmp_path, "env", settings, "--measure-cost")
    assert done.returncode == 0, done.stderr
    costs = dict(line.strip().split(": ") for line in done.stdout.splitlines() if line.startswith("  cost_per_token"))
    assert set(costs) == {"cost_per_token", "cost_per_token_pair"}
    assert all(float(value) >= 0 for value in costs.values()) and float(costs["cost_per_token"]) > 0
    found = json.loads(samegrad(tmp_path, "env", settings, "--measure-cost", "--json").stdout)
    assert [one["tokens"] for one in found["measured"]] == [4, 8, 16, 32, 64]
    assert list(tmp_path.iterdir()) == []
    given = {**settings, **{f"plan.{key}": value for key, value in costs.items()}}
    train(tmp_path, 2, given, "--dry-run")
