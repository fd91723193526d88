#!/usr/bin/env python3
"""SIGKILLs of `samegrad launch` at random moments: one second later no process of the job may be left.

    launcher_kills.py --bin build/dev/bin [--seed N] [--budget KILLS] [--bound SECONDS] [--json FILE]
                      [--broken guard|keeper|death-signal]

A launcher is three processes in a row: the one that was started (outer), a keeper, and the inner one, whose children are
the workers. Each job is two workers, which start children of every kind: plain ones, in sessions of their own, and forked
twice, so that their parents are gone. Killed are any one or two of the three at the same instant, also while another is
stopped, at a random moment or in the first instant in which the last of them is there. Where all three are killed at
once, only the workers themselves are promised to go, so that job has no other processes. With --broken, a protection is
switched off in the test build of the launcher, and the campaign must find what stays behind. --bound: how long after the
kill to wait, where other work keeps the processors busy.

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

BOUND_S = 1.0  # on a machine with a processor to spare
PATIENCE_S = 10.0
OUTER, KEEPER, INNER = range(3)
NAMES = ["outer", "keeper", "inner"]
# What is stopped, and then killed.
FORMS = [([], [OUTER]), ([], [KEEPER]), ([], [INNER]),
         ([KEEPER], [OUTER]), ([INNER], [OUTER]), ([OUTER], [INNER]), ([INNER], [KEEPER]),
         ([], [OUTER, KEEPER]), ([], [OUTER, INNER]), ([], [KEEPER, INNER]),
         ([INNER], [OUTER, KEEPER]), ([KEEPER], [OUTER, INNER]),
         ([], [OUTER, KEEPER, INNER])]
BROKEN = {"guard": ([], [OUTER]), "keeper": ([], [OUTER, INNER]), "death-signal": ([], [OUTER, KEEPER, INNER])}
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
    """None where it is not there yet, or no more."""
    try:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return None
    return int(children[0]) if len(children) == 1 else None


def has_begun(pid, index):
    """It has its own name."""
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text() == ["", "launch-keeper\n", "samegrad-launch\n"][index]
    except OSError:
        return False


def launcher_of(started, stopped, killed):
    """The pids of outer, keeper and inner as far as needed, as soon as they are there; None where the job ends before.

    One that is stopped in its first instant, while all above it are killed, is alone, and would stay: it has to begin."""
    pids = [started.pid]
    last = max(stopped + killed)
    alone = stopped == [last] and killed == list(range(last))
    deadline = time.monotonic() + PATIENCE_S
    while len(pids) <= last or alone and not has_begun(pids[last], last):
        if started.poll() is not None or time.monotonic() > deadline:
            return None
        child = only_child(pids[-1]) if len(pids) <= last else None
        pids += [] if child is None else [child]
    return pids


def name_of(form):
    stopped, killed = form
    return " + ".join(NAMES[i] for i in killed) + "".join(f", {NAMES[i]} stopped" for i in stopped)


def one_kill(binary, form, delay, broken, bound_s):
    """The pids that are left after `bound_s`, and how long the last one took to go; None where there was nothing to kill."""
    stopped, killed = form
    mark = f"SAMEGRAD_CAMPAIGN={uuid.uuid4()}"
    name, value = mark.split("=")
    environment = {**os.environ, name: value}
    if broken:
        environment["SAMEGRAD_FAULT_SWITCH"] = f"launcher-without-{broken}"
    script = ALONE if len(killed) == len(NAMES) else FAMILY
    started = subprocess.Popen([binary, "launch", "--nproc", "2", "--", "sh", "-c", script], env=environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pids = launcher_of(started, stopped, killed)
    time.sleep(delay)
    struck = pids is not None
    for signal_sent, victims in ((signal.SIGSTOP, stopped), (signal.SIGKILL, killed)):
        for victim in victims:
            try:
                os.kill(pids[victim], signal_sent) if struck else None
            except ProcessLookupError:
                struck = False
    if OUTER in stopped:  # it would wait for ever to hear of what was killed
        started.send_signal(signal.SIGCONT)
    begin = time.monotonic()
    if not struck:
        started.kill()
    left = marked(mark.encode())
    while left and time.monotonic() < begin + bound_s:
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


def campaign(binary, seed, budget, broken=None, bound_s=BOUND_S):
    chance = random.Random(seed)
    forms = [BROKEN[broken]] if broken else FORMS
    chance.shuffle(forms)
    result = {"campaign": "launcher_kills", "seed": seed, "broken": broken, "kills": 0, "missed": 0, "by_victim": {},
              "left": [], "longest_s": 0.0}
    while result["kills"] < budget and result["missed"] < 10 * budget:
        form = forms[result["kills"] % len(forms)]
        delay = chance.uniform(0.1, 0.3) if broken else chance.choice([0, 0.01, 0.1, 0.3]) * chance.random()
        outcome = one_kill(binary, form, delay, broken, bound_s)
        if outcome is None:
            result["missed"] += 1
            continue
        left, took = outcome
        victim = name_of(form)
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
    parser.add_argument("--bound", type=float, default=BOUND_S)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--broken", choices=sorted(BROKEN))
    arguments = parser.parse_args()
    binary = arguments.bin / ("faults/samegrad" if arguments.broken else "samegrad")
    result = campaign(binary, arguments.seed, arguments.budget, arguments.broken, arguments.bound)
    text = json.dumps(result, indent=2)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + "\n")
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
