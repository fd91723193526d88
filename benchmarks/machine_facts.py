"""What stands above run_all.py's table: the machine, its load and the versions; and which peers are missing."""

import os
import pathlib
import platform
import shutil
import subprocess

from update_ddp import JEMALLOC


def first_line(*command):
    """Of what the command prints; "" where it cannot be run."""
    try:
        lines = subprocess.run([str(word) for word in command], capture_output=True, text=True).stdout.splitlines()
    except OSError:
        return ""
    return lines[0].strip() if lines else ""


def field(path, name):
    lines = [line.split(":", 1) for line in pathlib.Path(path).read_text().splitlines() if ":" in line]
    return next((value.strip() for key, value in lines if key.strip() == name), "")


def load():
    return os.getloadavg()[0]


def facts(programs):
    """[(name, value)]; the programs' own versions come from `samegrad version`."""
    version = subprocess.run([programs / "samegrad", "version"], capture_output=True, text=True).stdout.splitlines()
    commit = first_line("git", "-C", pathlib.Path(__file__).parent, "log", "-1", "--format=%h")
    return [("processor", field("/proc/cpuinfo", "model name") or platform.machine()),
            ("cores", f"{len(os.sched_getaffinity(0))} of {os.cpu_count()}"),
            ("memory", f"{int(field('/proc/meminfo', 'MemTotal').split()[0]) / 2**20:.1f} GiB"),
            ("system", platform.platform()),
            ("versions", ", ".join([*(line for line in version[:3]), f"Python {platform.python_version()}",
                                    first_line("mpirun", "--version").removeprefix("mpirun ") or "no Open MPI"])),
            *([("commit", commit)] if commit else [])]


def missing_peers(programs):
    """What each peer that is not there is needed for, and how it is installed."""
    missing = []
    linked = subprocess.run(["ldd", programs / "exchange_speed"], capture_output=True, text=True).stdout
    if not shutil.which("mpirun") or "libmpi" not in linked:
        missing.append("Open MPI (exchange): skipped; "
                       "`apt-get install openmpi-bin libopenmpi-dev`, then configure and build again")
    if not JEMALLOC.exists():
        missing.append("jemalloc (PyTorch at its best): skipped; `apt-get install libjemalloc2`")
    return missing
