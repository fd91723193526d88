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


def update(case, rounds, *more, minutes, quick_minutes):
    quick = [case, "--rounds", "1", "--updates", "3", "--best", "packed"]
    return Benchmark(f"update-{case}", "update_ddp.py", [case, "--rounds", str(rounds), *more], quick, minutes, quick_minutes)


BENCHMARKS = [
    Benchmark("machine", "machine_limits", [], [], 0.1, 0.1),
    update("lesson", 7, minutes=3, quick_minutes=0.3),
    update("lesson-balanced", 7, minutes=3, quick_minutes=0.3),
    update("text-3m", 7, "--updates", "12", minutes=7, quick_minutes=0.5),
    update("text-25m", 5, minutes=15, quick_minutes=1.2),
    Benchmark("exchange", "exchange_speed.py", ["--rounds", "9"], ["--rounds", "1", "--largest-bytes", "4194304"], 2, 0.1),
    Benchmark("optimizer", "optimizer_speed.py", [], ["--rounds", "1"], 1, 0.3),
    Benchmark("attention", "attention_speed", [], ["--rounds", "3"], 0.5, 0.1),
    Benchmark("loss", "loss_speed", [], ["--rounds", "1"], 0.5, 0.1),
    Benchmark("operations", "atom_profile", [], ["--rounds", "20"], 0.2, 0.1),
    Benchmark("exactness", "exactness_cost.py", ["--rounds", "7"], ["--rounds", "1"], 1.5, 0.2),
    Benchmark("supervision", "supervision_cost.py", [], ["--updates", "20", "--kills", "2"], 0.5, 0.1),
    Benchmark("ddp", "ddp_overhead.py", ["--rounds", "7"], ["--rounds", "1", "--fewer", "10"], 3, 0.4),
    Benchmark("checkpoint", "checkpoint_speed", [FOLDER], [FOLDER, "--mib", "256", "--rounds", "1"], 0.5, 0.1),
    Benchmark("data", "data_speed.py", [], ["--rounds", "1", "--megabytes", "20"], 2, 0.3),
    Benchmark("start", "startup_time.py", [], ["--rounds", "1"], 1, 0.3),
    Benchmark("growth", "growth.py", ["--rounds", "5"], ["--rounds", "1", "--updates", "3"], 2, 0.3),
    Benchmark("simulated", "simulated_time.py", [], ["--rounds", "1", "--updates", "6"], 0.5, 0.1),
]
