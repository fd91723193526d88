"""Two hosts, as two network namespaces with a cable between them: torchrun --nnodes 2 over gloo, the same hashes."""

import os
import shutil
import subprocess

import pytest

from launched_run import CONTINUOUS, SAMEGRAD, SMALL, done, hashes, settings, torchrun

QUICK = [str(word) for word in [*CONTINUOUS, *settings(*SMALL)]]
ADDRESSES = ["10.83.7.1", "10.83.7.2"]


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True)


@pytest.fixture
def hosts():
    """The names of two network namespaces."""
    if shutil.which("ip") is None:
        pytest.skip("no `ip` (package iproute2)")
    names = [f"samegrad-{os.getpid()}-{end}" for end in "ab"]
    cable = [f"sg{os.getpid() % 100000}{end}" for end in "ab"]
    made = []
    try:
        for name in names:
            result = ip("netns", "add", name)
            if result.returncode != 0:
                pytest.skip(f"network namespaces are not permitted here: {result.stderr.strip()}")
            made.append(name)
        result = ip("link", "add", cable[0], "netns", names[0], "type", "veth", "peer", "name", cable[1], "netns",
                    names[1])
        if result.returncode != 0:
            pytest.skip(f"no cable between network namespaces here: {result.stderr.strip()}")
        for name, end, address in zip(names, cable, ADDRESSES):
            for words in (["link", "set", "lo", "up"], ["addr", "add", f"{address}/24", "dev", end],
                          ["link", "set", end, "up"]):
                assert ip("-n", name, *words).returncode == 0
        yield names
    finally:
        for name in made:
            ip("netns", "delete", name)


def on_both(hosts, folder, command_of):
    """Exit codes and errors of command_of(0) on the first host and command_of(1) on the second, by host."""
    started = [subprocess.Popen(["ip", "netns", "exec", host, *(str(word) for word in command_of(node))], cwd=folder,
                                stderr=subprocess.PIPE, text=True) for node, host in enumerate(hosts)]
    errors = [process.communicate(timeout=120)[1] for process in started]
    return [process.returncode for process in started], errors


def test_ranks_of_two_hosts_talk_over_gloo_with_the_same_hashes(tmp_path, hosts):
    one, two = tmp_path / "one", tmp_path / "two"
    done(one, SAMEGRAD, *QUICK, "--nproc", 1)
    two.mkdir()
    codes, errors = on_both(hosts, two, lambda node: [
        *torchrun(2, "--nnodes", 2, "--node-rank", node, "--rdzv-backend", "static", "--master-addr", ADDRESSES[0],
                  "--master-port", 29500), SAMEGRAD, *QUICK])
    assert codes == [0, 0], errors
    assert "joined torchrun: 4 ranks talk over gloo, because they run on 2 hosts" in errors[0]
    assert hashes(two, ranks=4) == hashes(one)


def test_shared_memory_between_two_hosts_is_refused_by_name(tmp_path, hosts):
    codes, errors = on_both(hosts, tmp_path, lambda node: [
        "env", f"RANK={node}", "WORLD_SIZE=2", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1", f"MASTER_ADDR={ADDRESSES[0]}",
        "MASTER_PORT=29500", SAMEGRAD, *QUICK, "--backend", "shm"])
    assert codes == [2, 2]
    line = "[launch] run.backend: 'shm', but the ranks run on 2 hosts; allowed are auto and gloo\n"
    assert errors == [line, line]
    assert not (tmp_path / "outputs").exists()
