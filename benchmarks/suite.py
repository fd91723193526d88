"""What run_all.py runs, in this order."""

import pathlib
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = "FOLDER"  # an option that stands for a folder on the disk of the results


class Benchmark(NamedTuple):
    name: str
    program: str  # a script of this folder, or a program of --bin; all take --json FILE
    options: list
    quick: list  # the options of --quick: its shortest form
    minutes: float  # about, on two quiet cores
    quick_minutes: float

    def command(self, python, programs, quick, folder):
        """The words that run it; `folder`: what FOLDER stands for."""
        words = [str(folder) if word == FOLDER else word for word in (self.quick if quick else self.options)]
        if self.program.endswith(".py"):
            return [python, str(HERE / self.program), "--bin", str(programs), *words]
        return [str(programs / self.program), *words]

    def takes(self, quick):
        return self.quick_minutes if quick else self.minutes


def update(case, minutes, quick_minutes):
    quick = [case, "--rounds", "1", "--updates", "3", "--best", "packed"]
    return Benchmark(f"update-{case}", "update_ddp.py", [case, "--rounds", "7"], quick, minutes, quick_minutes)


BENCHMARKS = [
    Benchmark("machine", "machine_limits", [], [], 0.1, 0.1),
    update("lesson", minutes=1.5, quick_minutes=0.3),
    update("lesson-balanced", minutes=1.5, quick_minutes=0.3),
    update("text-3m", minutes=6, quick_minutes=0.5),
    update("text-25m", minutes=7.5, quick_minutes=1.2),
    Benchmark("exchange", "exchange_speed.py", ["--rounds", "9"], ["--rounds", "1", "--largest-bytes", "4194304"], 0.3, 0.1),
    Benchmark("optimizer", "optimizer_speed.py", [], ["--rounds", "1"], 0.3, 0.2),
    Benchmark("attention", "attention_speed", [], ["--rounds", "3"], 0.3, 0.1),
    Benchmark("loss", "loss_speed", [], ["--rounds", "1"], 0.5, 0.1),
    Benchmark("operations", "atom_profile", [], ["--rounds", "20"], 0.1, 0.1),
    Benchmark("exactness", "exactness_cost.py", ["--rounds", "7"], ["--rounds", "1"], 1.8, 0.3),
    Benchmark("supervision", "supervision_cost.py", [], ["--updates", "20", "--kills", "2"], 0.2, 0.1),
    Benchmark("ddp", "ddp_overhead.py", ["--rounds", "7"], ["--rounds", "1", "--fewer", "10"], 6, 0.4),
    Benchmark("checkpoint", "checkpoint_speed", [FOLDER], [FOLDER, "--mib", "256", "--rounds", "1"], 0.4, 0.1),
    Benchmark("data", "data_speed.py", [], ["--rounds", "1", "--megabytes", "20"], 2.5, 0.3),
    Benchmark("start", "startup_time.py", [], ["--rounds", "1"], 0.7, 0.2),
    Benchmark("growth", "growth.py", ["--rounds", "5"], ["--rounds", "1", "--updates", "3"], 2, 0.3),
    Benchmark("simulated", "simulated_time.py", [], ["--rounds", "1", "--updates", "6"], 0.5, 0.1),
]
