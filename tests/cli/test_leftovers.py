"""A training removes what killed processes left in its folder, also where it has nothing to train, and nothing else."""

import os

from test_clean import dead_process, names_of, owner, put
from test_unusable_folders import train


def hidden(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.name.startswith("."))


def test_what_killed_processes_left_is_gone_after_a_training_and_after_one_that_has_nothing_to_do(tmp_path):
    dead, alive, elsewhere = owner(dead_process()), owner(os.getpid()), owner(dead_process(), "another host")
    left = [*names_of(dead), f".dry-run.tmp-{dead}/plan.json", f"outputs/.final-resumed.safetensors.tmp-{dead}",
            "outputs/.samegrad-probe", "artifacts/checkpoints/.samegrad-probe"]
    left.remove(f"outputs/status/.rank-3.tmp-{dead}")  # goes when there is a rank 3 again
    stay = [*names_of(alive), *names_of(elsewhere), f".dry-run.tmp-{alive}/plan.json", f"outputs/.mine.tmp-{dead}"]
    put(tmp_path, stay)
    kept = hidden(tmp_path)
    for words in [[], ["--resume", "latest", "--continuous"], ["--resume", "latest", "--continuous"]]:
        put(tmp_path, left)
        assert hidden(tmp_path) != kept
        done = train(tmp_path, *words)
        assert done.returncode == 0, done.stderr
        assert hidden(tmp_path) == kept
    assert "nothing is left to train" in done.stdout


def test_a_dry_run_removes_what_a_killed_one_prepared(tmp_path):
    put(tmp_path, [f".dry-run.tmp-{owner(dead_process())}/plan.json", f".dry-run.tmp-{owner(os.getpid())}/plan.json"])
    assert train(tmp_path, "--dry-run").returncode == 0
    assert hidden(tmp_path) == [f".dry-run.tmp-{owner(os.getpid())}"]
