"""The front: help, usage errors, and the commands that need no libtorch."""

import json
import os
import pathlib
import re
import subprocess

import pytest

BIN = pathlib.Path(os.environ["SAMEGRAD_BIN"])
SOURCE = pathlib.Path(os.environ["SAMEGRAD_SOURCE"])
GOLDEN = SOURCE / "tests/golden/flags.txt"


def run(*arguments, **options):
    return subprocess.run([BIN / "samegrad", *arguments], capture_output=True, text=True, timeout=60, **options)


def commands():
    """The names listed by --help, read from its text."""
    listing = run("--help").stdout.split("Subcommands:")[1].split("\n\n")[0]
    return re.findall(r"^  ([a-z-]+) ", listing, re.MULTILINE)


def flags_of(command):
    """Every long option that the command's help declares (at a line's start), and its positionals."""
    help_text = run(command, "--help").stdout.split("Reads: ")[0]
    declared = re.findall(r"^  (-\S+)", help_text, re.MULTILINE)
    flags = {name for names in declared for name in names.split(",") if name.startswith("--")}
    return sorted(flags) + re.findall(r"^  (PATH) ", help_text, re.MULTILINE)


def refused(*arguments):
    """The one line of a usage error."""
    result = run(*arguments)
    assert result.returncode == 2, result
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("[usage] "), lines
    return lines[0]


def test_the_overview_lists_every_command_of_the_lesson():
    lesson = {"acquire", "env", "prepare", "reference", "check-loss", "train", "evaluate", "exercise", "plot",
              "checkpoints", "clean", "generate", "demo", "verify", "version"}
    assert lesson <= set(commands())


def test_the_help_of_each_command_teaches():
    for command in commands():
        result = run(command, "--help")
        assert result.returncode == 0 and result.stderr == ""
        for part in ("Reads: ", "Writes: ", f"Examples:\n  samegrad {command}", "Exit codes: 0 done", "--config",
                     "--set", "--run", "--quiet"):
            assert part in result.stdout, (command, part)


def test_the_dry_runs_that_the_help_of_train_shows_are_accepted(tmp_path):
    examples = re.findall(r"^  samegrad (train --dry-run.*)$", run("train", "--help").stdout, re.MULTILINE)
    assert examples
    for example in examples:
        result = run(*example.split(), cwd=tmp_path)
        assert result.returncode == 0, (example, result.stderr)


def test_the_list_of_flags_is_frozen():
    found = "".join(f"{command}: {' '.join(flags_of(command))}\n" for command in commands())
    assert found == GOLDEN.read_text(), "flags changed: if meant so, update tests/golden/flags.txt"


def options_in_the_source():
    """Every long option that the sources of the programs name."""
    text = "".join(path.read_text() for path in (SOURCE / "apps/samegrad").glob("command_*.cpp"))
    return sorted({name for names in re.findall(r'"(?:-h,)?(--[a-z_,-]+)"', text) for name in names.split(",")} - {"--"})


def test_the_help_of_each_command_names_every_option_that_it_takes():
    options = options_in_the_source()
    assert {"--nproc", "--num_processes", "--resume", "--set", "--json", "--no-replay", "--help"} <= set(options)
    taken = 0
    for command in commands():
        listed = flags_of(command)
        for option in set(options) - {"--help"}:
            # The second option is never known, so that nothing runs.
            said = refused(command, f"{option}=1", "--never-an-option")
            known = f"unknown option '{option}'" not in said
            assert known == (option in listed), (command, option, said)
            taken += known
    assert taken > 100


def swapped(name, first):
    """With two unequal letters, from `first` on, in the wrong order."""
    letters = list(name)
    place = next(place for place in range(first, len(name)) if name[place] != name[place + 1])
    letters[place], letters[place + 1] = letters[place + 1], letters[place]
    return "".join(letters)


def test_a_mistyped_command_or_option_is_answered_with_the_nearest_name():
    for command in commands():
        assert f", did you mean '{command}'?" in refused(swapped(command, 1)), command
        for option in (flag for flag in flags_of(command) if flag.startswith("--") and len(flag) > 5):
            said = refused(command, swapped(option, 3)).replace("_", "-")  # some have both forms
            assert f", did you mean '{option.replace('_', '-')}'?" in said, (command, option)


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["trian"], "unknown command 'trian', did you mean 'train'?"),
        (["trian", "--help"], "unknown command 'trian', did you mean 'train'?"),
        (["checkpoint"], "unknown command 'checkpoint', did you mean 'checkpoints'?"),
        (["sailing"], "unknown command 'sailing'; "),
        (["train", "--nprocs", "2"], "train: unknown option '--nprocs', did you mean '--nproc'?"),
        (["train", "--resum=latest"], "train: unknown option '--resum', did you mean '--resume'?"),
        (["clean", "--dryrun", "--scope", "generated"], "unknown option '--dryrun', did you mean '--dry-run'?"),
        (["train", "extra"], "train: unexpected argument 'extra'"),
        (["train", "env"], "train: unexpected argument 'env'"),
        (["plot", "--json"], "plot: unknown option '--json'"),
        (["--run", "x", "train"], "option '--run' before the command"),
        ([], "no command given"),
        (["train", "--nproc", "two"], "--nproc: 'two'; allowed: a whole number, 1 to"),
        (["train", "--nproc", "0"], "--nproc: '0'; allowed: a whole number, 1 to"),
        (["train", "--nproc=-1"], "--nproc: '-1'; allowed: a whole number, 1 to"),
        (["train", "--nproc", "99999999999999999999"], "--nproc: '99999999999999999999'"),
        (["train", "--nproc"], "--nproc"),
        (["train", "--continuous", "--stop-at", "3"], "--continuous and --stop-at"),
        (["generate", "--temperature", "nan"], "--temperature: 'nan'; allowed: a number, 0 to 1000000"),
        (["clean"], "--scope generated"),
        (["clean", "--scope", "all"], "--scope 'all'; allowed: only generated"),
        (["diagnose"], "two files are needed"),
        (["diagnose", "a", "b", "--samples", "3"], "--samples without --rank-tokens"),
        (["diagnose", "a", "b", "--rank-tokens", "12,x"], "--rank-tokens: 'x'; allowed: whole numbers"),
        (["train", "--run", ""], "train: --run: ''; give a value, '.' is this folder, or leave it out"),
        (["train", "--config", ""], "train: --config: ''; give a value, or leave it out"),
        (["train", "--resume", ""], "train: --resume: ''; give a value, or leave it out"),
        (["train", "--dump-gradients", ""], "train: --dump-gradients: ''; give a value"),
        (["train", "--set", ""], "train: --set: ''; give a value"),
        (["checkpoints", ""], "checkpoints: PATH: ''; give a value"),
        (["bisect", "a", ""], "bisect: RUNS: ''; give a value"),
        (["verify", "--checkpoint", ""], "verify: --checkpoint: ''; give a value"),
        ([""], "unknown command ''"),
        (["launch", "--nproc", "2", "--", ""], "launch: the program's name is empty: samegrad launch --nproc N -- PROGRAM"),
        (["launch"], "launch: no number of processes given: samegrad launch --nproc N -- PROGRAM ARGUMENTS"),
        (["launch", "--nproc", "2"], "launch: no program given: samegrad launch --nproc N -- PROGRAM"),
        (["launch", "--nproc", "2", "--"], "launch: no program given"),
        (["launch", "--nproc", "257", "--", "true"], "--nproc: '257'; allowed: a whole number, 1 to 256"),
        (["launch", "--nproc", "2", "./prog", "--lr", "3"], "'./prog' without -- before it: samegrad launch --nproc N"),
        (["launch", "--nprocs", "2", "--", "true"], "unknown option '--nprocs', did you mean '--nproc'?"),
    ],
)
def test_usage_errors_are_one_line_with_the_nearest_name(arguments, said):
    assert said in refused(*arguments)


def test_an_error_in_the_config_is_said_before_anything_starts():
    result = run("train", "--nproc", "2", "--set", "plan.update=3")
    assert result.returncode == 2
    assert result.stderr == "[config] --set plan.update=3: unknown key 'plan.update', did you mean 'plan.updates'?\n"
    result = run("train", "--set", "run.device=cuda")
    assert result.returncode == 2
    assert "'cuda' is not built: CPU only today" in result.stderr
    result = run("train", "--nproc", "2", "--backend", "nccl")
    assert result.returncode == 2
    assert result.stderr.startswith("[config] --backend: 'nccl' is not built")
    result = run("train", "--stop-at", "101")
    assert result.returncode == 2
    assert result.stderr.startswith("[config] --stop-at: 101 is past the last update")


def test_set_takes_one_value_and_can_be_repeated():
    result = run("config", "--set", "seed=1", "--set", "plan.updates=60", "--json")
    config = json.loads(result.stdout)
    assert (config["seed"], config["plan"]["updates"]) == (1, 60)


def test_the_config_without_a_file_is_minimum_yaml():
    assert run("config", "--json").stdout == run("config", "--config", SOURCE / "configs/minimum.yaml", "--json").stdout


def test_the_config_table_shows_every_key():
    config = json.loads(run("config", "--json").stdout)
    table = run("config").stdout
    for section, fields in config.items():
        for key in [f"{section}.{name}" for name in fields] if isinstance(fields, dict) else [section]:
            assert re.search(rf"^{re.escape(key)}\s", table, re.MULTILINE), key


def test_version_names_samegrad_and_its_libraries():
    versions = json.loads(run("version", "--json").stdout)
    assert re.fullmatch(r"\d+\.\d+\.\d+", versions["samegrad"])
    assert versions["libtorch"].startswith("2.11.")
    assert run("--version").stdout == run("version").stdout


def test_the_front_does_not_load_libtorch():
    libraries = subprocess.run(["ldd", BIN / "samegrad"], capture_output=True, text=True, check=True).stdout
    assert "libc.so" in libraries
    for name in ("torch", "libc10", "cudart", "cupti", "gomp"):
        assert name not in libraries


def test_results_that_cannot_be_written_are_an_error():
    with open("/dev/full", "w") as full:
        result = subprocess.run([BIN / "samegrad", "version"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1
    assert result.stderr.startswith("[print] standard output cannot be written")


def test_a_missing_worker_is_named(tmp_path):
    (tmp_path / "samegrad").write_bytes((BIN / "samegrad").read_bytes())
    (tmp_path / "samegrad").chmod(0o755)
    result = subprocess.run([tmp_path / "samegrad", "train"], capture_output=True, text=True)
    assert result.returncode == 1
    assert "samegrad-worker must lie beside samegrad" in result.stderr


def test_the_worker_is_found_through_a_link(tmp_path):
    (tmp_path / "samegrad").symlink_to(BIN / "samegrad")
    result = subprocess.run([tmp_path / "samegrad", "env", "--json"], capture_output=True, text=True)
    assert json.loads(result.stdout)["worker"] == str((BIN / "samegrad-worker").resolve())
