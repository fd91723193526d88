"""A config with the Hugging Face Trainer's names trains as the flags and keys of samegrad do."""

import json
import os
import pathlib
import subprocess

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])
SMALL = [
    "data.train_sequences=32", "data.validation_sequences=4", "data.test_sequences=4", "data.shortest=4",
    "data.split=8", "data.longest=16", "model.width=16", "model.heads=2", "model.feed_forward=16", "plan.stop_at=0",
    "model.dropout=0.1",
]  # fmt: skip


def samegrad(*words, cwd):
    sets = [word for setting in SMALL for word in ("--set", setting)]
    return subprocess.run([BIN / "samegrad", *words, *sets], capture_output=True, text=True, cwd=cwd)


def lines(run):
    return [json.loads(line) for line in (run / "outputs/metrics.jsonl").read_text().splitlines()]


def test_names_of_the_trainer_act_and_what_has_no_effect_is_said_once(tmp_path):
    plain = samegrad("train", "--run", "plain", "--set", "plan.updates=4", "--set", "schedule.warmup_updates=2",
                     cwd=tmp_path)  # fmt: skip
    assert plain.returncode == 0, plain.stderr
    (tmp_path / "trainer.yaml").write_text(
        "num_processes: 2\noutput_dir: run\nresume_from_checkpoint: false\nmax_steps: 4\n"
        "lr_scheduler_type: constant_with_warmup\nwarmup_steps: 2\nsave_steps: 2\nsave_total_limit: 1\n"
        "ddp_find_unused_parameters: true\nddp_bucket_cap_mb: 25\nddp_broadcast_buffers: true\n"
        "gradient_checkpointing: true\n"
    )
    done = samegrad("train", "--config", "trainer.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("ddp_find_unused_parameters", "ddp_bucket_cap_mb", "ddp_broadcast_buffers"):
        assert done.stderr.count(f"{name}: no effect here: ") == 1, done.stderr
    there, here = lines(tmp_path / "plain"), lines(tmp_path / "run")
    assert [len(line["ranks"]) for line in here] == [2] * 4
    assert [line["parameters_xxh3"] for line in here] == [line["parameters_xxh3"] for line in there]
    assert [path.name for path in (tmp_path / "run/artifacts/checkpoints").iterdir()] == ["step-0004"]
    again = samegrad("train", "--config", "trainer.yaml", "--set", "resume_from_checkpoint=true", cwd=tmp_path)
    assert again.returncode == 0 and "already at update 4 of 4" in again.stdout, again.stderr


def test_an_option_counts_more_than_its_name_in_the_config(tmp_path):
    done = samegrad("train", "--dry-run", "--run", "given", "--nproc", "1", "--set", "output_dir=not-this",
                    "--set", "num_processes=99999", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "given/outputs/metrics.jsonl" in done.stdout and list(tmp_path.iterdir()) == []
    (tmp_path / "many.yaml").write_text("seed: 1\nnum_processes: 99999\n")
    for words, place in [(["--set", "num_processes=99999"], "--set num_processes=99999"), (["--config", "many.yaml"], "many.yaml:2")]:
        many = samegrad("train", *words, cwd=tmp_path)
        assert many.returncode == 2
        assert f"{place}: num_processes: '99999'; allowed: a whole number, 1 to 256" in many.stderr


def test_explain_says_what_a_key_is(tmp_path):
    shown = samegrad("config", "--explain", "ddp_backend", cwd=tmp_path)
    assert shown.returncode == 0 and "run.backend: how the processes talk" in shown.stdout
    assert "refused: nccl is not built" in shown.stdout
    as_json = json.loads(samegrad("config", "--explain", "schedule", "--json", cwd=tmp_path).stdout)
    assert [field["key"] for field in as_json] == ["schedule.kind", "schedule.warmup_updates", "schedule.minimum_factor"]
    unknown = samegrad("config", "--explain", "wramup_steps", cwd=tmp_path)
    assert unknown.returncode == 2 and "did you mean 'warmup_steps'?" in unknown.stderr
    table = samegrad("config", cwd=tmp_path).stdout
    assert "num_processes = --nproc" in table and "Without effect here:\n  ddp_find_unused_parameters, " in table
    fp16 = samegrad("config", "--explain", "fp16", cwd=tmp_path)
    assert fp16.stdout == ("fp16: accepted where it is false, or null, not offered otherwise: everything is computed in "
                           "float32\n")
