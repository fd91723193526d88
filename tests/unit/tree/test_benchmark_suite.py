"""benchmarks/run_all.py forgets no benchmark, and one that fails, hangs or misses is told while the others run."""

import os
import pathlib
import re
import sys

import pytest

SOURCE = pathlib.Path(os.environ["SAMEGRAD_SOURCE"])
FOLDER = SOURCE / "benchmarks"
sys.path.insert(0, str(FOLDER))

import run_all  # noqa: E402
import suite_report  # noqa: E402
from draw import draw  # noqa: E402
from suite import BENCHMARKS, Benchmark  # noqa: E402
from targets import TARGETS, Measured, Target  # noqa: E402

OF_THE_SUITE = {"run_all.py", "draw.py"}


def programs_of(folder):
    """Its scripts that run by themselves, and the programs that it builds."""
    scripts = {path.name for path in folder.glob("*.py") if "__main__" in path.read_text()}
    return scripts | set(re.findall(r"add_executable\((\w+)", (folder / "CMakeLists.txt").read_text()))


def forgotten(folder):
    """Programs that neither the suite nor one of its scripts runs."""
    named = {one.program for one in BENCHMARKS} | OF_THE_SUITE
    scripts = [(folder / name).read_text() for name in named if name.endswith(".py")]
    return {program for program in programs_of(folder) - named if not any(f'"{program}"' in text for text in scripts)}


def test_every_benchmark_is_in_the_suite():
    assert len(programs_of(FOLDER)) > 20
    assert forgotten(FOLDER) == set()


def test_a_benchmark_that_the_suite_does_not_know_is_found(tmp_path):
    for path in [*FOLDER.glob("*.py"), FOLDER / "CMakeLists.txt"]:
        (tmp_path / path.name).write_text(path.read_text())
    (tmp_path / "new.py").write_text('if __name__ == "__main__":\n    pass\n')
    (tmp_path / "CMakeLists.txt").open("a").write("add_executable(new_speed new_speed.cpp)\n")
    assert forgotten(tmp_path) == {"new.py", "new_speed"}


def test_every_benchmark_has_a_row_or_stands_above_the_table():
    in_rows = {name for target in TARGETS for name in target.benchmarks}
    assert {one.name for one in BENCHMARKS} - in_rows == {"machine"}


def of_many_threads(sources):
    """Programs with operations of ATen, which other threads would share: the time of one is then no time of the work."""
    return {name for name, text in sources.items()
            if "int main" in text and "#include <ATen/" in text and "at::set_num_threads(1);" not in text}


def test_every_program_that_times_operations_of_libtorch_has_one_thread():
    sources = {path.name: path.read_text() for path in FOLDER.glob("*.cpp")}
    assert of_many_threads(sources) == set()
    broken = {name: text.replace("at::set_num_threads(1);", "") for name, text in sources.items()}
    assert {"atom_profile.cpp", "attention_speed.cpp", "loss_speed.cpp"} <= of_many_threads(broken)


STUBS = {
    "good": "json.dump({'value': 3.0}, open(sys.argv[-1], 'w')); print('all is well')",
    "late": "json.dump({'value': 1.0}, open(sys.argv[-1], 'w')); print('[stub] 1.0 is not 2.0'); sys.exit(3)",
    "broken": "print('[stub] disk: none'); print('and more'); sys.exit(1)",
    "silent": "pass",
    "stops": "import os, signal, time\nif not os.path.exists(__file__ + '.stopped'):\n    open(__file__ + '.stopped', 'w')\n"
             "    os.kill(os.getppid(), signal.SIGINT)\n    time.sleep(600)\njson.dump({'value': 2.0}, open(sys.argv[-1], 'w'))",
    "last": "json.dump({'value': 5.0}, open(sys.argv[-1], 'w'))",
}
ROWS = [Target(f"the {name} one", (name,), lambda figures: Measured({"median": figures["value"]}, 1), "x", at_least=2)
        for name in STUBS]


@pytest.fixture
def suite(tmp_path, monkeypatch, capsys):
    """Runs stubs of these names. -> (exit code, what was printed, the report)"""
    monkeypatch.setattr(suite_report, "TARGETS", ROWS)
    programs, out = tmp_path / "bin", tmp_path / "out"
    programs.mkdir()
    (programs / "samegrad").write_text("#!/bin/sh\n")
    (programs / "samegrad").chmod(0o755)

    def run(*names, options=()):
        benchmarks = []
        for name in names:
            script = tmp_path / f"{name}.py"
            text = f"import json, sys\nopen({str(tmp_path / 'ran')!r}, 'a').write({name + ' '!r})\n{STUBS[name]}\n"
            if not script.exists() or script.read_text() != text:
                script.write_text(text)
            benchmarks.append(Benchmark(name, str(script), [], [], 0.1, 0.1))
        code = run_all.main(["--bin", str(programs), "--out", str(out), *options], benchmarks)
        ran = (tmp_path / "ran").read_text().split()
        (tmp_path / "ran").write_text("")
        return code, capsys.readouterr().out, (out / "report.md").read_text(), ran

    return run


def rows_of(report):
    return {cells[1]: cells[-2] for cells in ([cell.strip() for cell in line.split("|")] for line in report.splitlines())
            if len(cells) == 9}


def test_a_benchmark_that_fails_or_misses_is_told_and_the_others_run(suite):
    names = ["good", "late", "broken", "silent", "last"]
    code, printed, report, ran = suite(*names)
    assert (code, ran) == (1, names)
    rows = rows_of(report)
    assert (rows["the good one"], rows["the last one"], rows["the late one"]) == ("reached", "reached", "missed")
    assert rows["the broken one"] == "failed: broken: [stub] disk: none"
    assert rows["the silent one"] == "failed: silent: it wrote no figures"
    assert "failed: broken: [stub] disk: none" in printed and "missed: the late one: 1.00 x, asked at least 2.00 x" in printed
    assert "3 benchmarks ran, 2 failed, 1 targets missed" in printed
    assert "[2/5] late ... missed" in printed and "[5/5] last ... done" in printed and "report.md" in printed.splitlines()[-1]


def test_the_exit_code_tells_a_missed_target_from_a_failure_and_from_neither(suite):
    assert suite("good", "last")[0] == 0
    assert suite("good", "late")[0] == 3
    assert suite("late", "broken")[0] == 1


def test_a_suite_that_is_stopped_goes_on(suite):
    code, printed, _, ran = suite("good", "stops", "last")
    assert (code, ran) == (130, ["good", "stops"]) and "--resume goes on" in printed
    code, _, report, ran = suite("good", "stops", "last", options=["--resume"])
    assert (code, ran) == (0, ["stops", "last"])
    assert list(rows_of(report).values())[-3:] == ["reached"] * 3


def test_resume_makes_again_only_what_failed_or_is_new(suite, tmp_path):
    suite("good", "broken")
    code, printed, report, ran = suite("good", "broken", "last", options=["--resume"])
    assert (code, ran) == (1, ["broken", "last"]) and "good ... done, kept from before" in printed
    assert rows_of(report)["the good one"] == "reached"
    assert suite("good", options=["--resume", "--quick"])[3] == []  # the same command
    (tmp_path / "bin/samegrad-worker").write_text("built since")
    os.utime(tmp_path / "bin/samegrad-worker", times=(2**32, 2**32))
    assert suite("good", options=["--resume"])[3] == ["good"]
    assert suite("good")[3] == ["good"]


def test_a_benchmark_that_hangs_is_ended(tmp_path):
    code, reason = run_all.run_to_end(["sleep", "600"], tmp_path / "log", deadline_s=0.01)
    assert (code, reason) == (1, "not done after 0 s")


def test_what_a_benchmark_leaves_behind_is_ended(tmp_path):
    script = tmp_path / "leaves.py"
    script.write_text("import subprocess\nchild = subprocess.Popen(['sleep', '600'])\n"
                      f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n")
    assert run_all.run_to_end([sys.executable, str(script)], tmp_path / "log", deadline_s=600) == (0, "")
    child = pathlib.Path(f"/proc/{(tmp_path / 'pid').read_text()}/stat")
    while child.exists() and child.read_text().rpartition(")")[2].split()[0] != "Z":
        pass  # SIGKILL was sent


def test_only_refuses_a_name_that_is_not_there():
    with pytest.raises(SystemExit) as ended:
        run_all.main(["--only", "no-such-benchmark"])
    assert ended.value.code == 2


def test_the_figures_are_drawn_from_what_benchmarks_wrote(tmp_path):
    times = {"median": 2.0, "min": 1.5, "max": 3.0}
    seconds = {side: {"median": value} for side, value in (("samegrad", 0.01), ("usual", 0.03), ("packed", 0.02))}
    update = {"case": "lesson", "seconds": seconds, "best": "packed", "best_over_samegrad": times, "usual_over_samegrad": times}
    points = [{"value": n, "seconds": n / 100, "peak_bytes": n << 20} for n in (1, 2, 4)]
    growth = [{"quantity": "tokens", "time_slope": 1.0, "memory_slope": 1.0, "points": points}]
    written = draw({"update-lesson": [update], "growth": growth}, tmp_path)
    assert [path.name for path in written] == ["update.svg", "growth.svg"]
    assert "2.0 x, 30.0 ms" in written[0].read_text() and "slope 1.00" in written[1].read_text()
