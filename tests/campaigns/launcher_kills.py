#!/usr/bin/env python3
"""SIGKILLs of `samegrad launch` at random moments: one second later no process of the job may be left.

    launcher_kills.py --bin build/dev/bin [--seed N] [--budget KILLS] [--json FILE] [--broken guard|death-signal]

Each job is two workers, which start children of every kind: plain ones, in sessions of their own, and forked twice, so
that their parents are gone. Killed is the process that was started (outer), also while the one between it and the workers
(inner) is stopped; the inner one; or both at once, where only the workers themselves are promised to go, so that job has
no other processes. With --broken, a protection is switched off in the test build of the launcher, and the campaign must
find what stays behind.

Exit code 0: nothing was left (with --broken: something was); 1: otherwise.
"""

import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import uuid

BOUND_S = 1.0
VICTIMS = ["outer", "outer, inner stopped", "inner", "both"]
# What a worker does with $RANK; every process carries the job's mark in its environment, and none ends by itself.
FAMILY = """
sleep 3600 &
setsid sleep 3601 &
(setsid sh -c 'sleep 3602 & exec sleep 3603' &)
(sh -c 'trap "" TERM HUP INT; while :; do sleep 3604; done' &)
exec sleep 3605
"""
ALONE = "exec sleep 3606"


def marked(mark):
    """Pids of the living processes with the job's mark."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            if mark in (folder / "environ").read_bytes() and b") Z " not in (folder / "stat").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def only_child(pid):
    """The child of the process that was started; None where it is not there yet, or no more."""
    try:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return None
    return int(children[0]) if len(children) == 1 else None


def is_ready(inner):
    """It has no worker before: stopped in its first instant, it alone would stay."""
    try:
        return pathlib.Path(f"/proc/{inner}/comm").read_text() == "samegrad-launch\n"
    except OSError:
        return False


def strike(started, victim):
    """Kills, and says whether there was what had to be killed."""
    inner = only_child(started.pid) if victim != "outer" else None
    if victim != "outer" and inner is None:
        return False
    if "stopped" in victim and not is_ready(inner):
        return False
    kill = (started.pid, signal.SIGKILL)
    for pid, sent in {"outer": [kill], "outer, inner stopped": [(inner, signal.SIGSTOP), kill],
                      "inner": [(inner, signal.SIGKILL)], "both": [kill, (inner, signal.SIGKILL)]}[victim]:
        try:
            os.kill(pid, sent)
        except ProcessLookupError:
            return False
    return True


def one_kill(binary, victim, delay, broken):
    """The pids that are left after BOUND_S, and how long the last one took to go; None where the kill came to nothing."""
    mark = f"SAMEGRAD_CAMPAIGN={uuid.uuid4()}"
    name, value = mark.split("=")
    environment = {**os.environ, name: value}
    if broken:
        environment["SAMEGRAD_FAULT_SWITCH"] = f"launcher-without-{broken}"
    started = subprocess.Popen([binary, "launch", "--nproc", "2", "--", "sh", "-c", ALONE if victim == "both" else FAMILY],
                               env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(delay)
    struck = strike(started, victim)
    begin = time.monotonic()
    if not struck:
        started.kill()
    left = marked(mark.encode())
    while left and time.monotonic() < begin + BOUND_S:
        time.sleep(0.005)
        left = marked(mark.encode())
    took = time.monotonic() - begin
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    started.wait()
    return (left, took) if struck else None


def campaign(binary, seed, budget, broken=None):
    chance = random.Random(seed)
    victims = {"guard": ["outer"], "death-signal": ["both"]}.get(broken, VICTIMS)
    result = {"campaign": "launcher_kills", "seed": seed, "broken": broken, "kills": 0, "missed": 0, "by_victim": {},
              "left": [], "longest_s": 0.0}
    while result["kills"] < budget and result["missed"] < 10 * budget:
        victim = chance.choice(victims)
        delay = chance.choice([chance.uniform(0, 0.01), chance.uniform(0, 0.1)])
        outcome = one_kill(binary, victim, delay, broken)
        if outcome is None:
            result["missed"] += 1
            continue
        left, took = outcome
        result["kills"] += 1
        result["by_victim"][victim] = result["by_victim"].get(victim, 0) + 1
        result["longest_s"] = max(result["longest_s"], round(took, 3))
        if left:
            result["left"].append({"kill": result["kills"], "victim": victim, "delay_s": delay, "processes": len(left)})
            if broken:
                break
    result["ok"] = bool(result["left"]) if broken else not result["left"] and result["kills"] == budget
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=int, default=300)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--broken", choices=["guard", "death-signal"])
    arguments = parser.parse_args()
    binary = arguments.bin / ("faults/samegrad" if arguments.broken else "samegrad")
    result = campaign(binary, arguments.seed, arguments.budget, arguments.broken)
    text = json.dumps(result, indent=2)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + "\n")
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
