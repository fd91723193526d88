"""Sums that do not keep to the tree give other bits: Gloo's all-reduce at three processes, and the order of arrival."""

import multiprocessing
import os
import pathlib
import subprocess

import numpy as np
import pytest
import torch
import torch.distributed as dist

CANONICAL_SUM = pathlib.Path(os.environ["SAMEGRAD_BIN"]) / "canonical_sum"
ATOMS, ELEMENTS = 12, 5_003


@pytest.fixture(scope="module")
def atoms():
    return np.random.default_rng(7).standard_normal((ATOMS, ELEMENTS)).astype(np.float32)


def tree(atoms):
    """T(0, A) by its definition."""
    if len(atoms) == 1:
        return atoms[0]
    power = 1
    while 2 * power < len(atoms):
        power *= 2
    return tree(atoms[:power]) + tree(atoms[power:])


def canonical(atoms, ranks, folder):
    atoms.tofile(folder / "atoms")
    done = subprocess.run([CANONICAL_SUM, str(ranks), str(ATOMS), folder / "atoms"], capture_output=True, timeout=60)
    assert done.returncode == 0
    return np.frombuffer(done.stdout, np.float32)


def gloo_rank(rank, ranks, folder, sums):
    dist.init_process_group("gloo", store=dist.FileStore(f"{folder}/store-{ranks}", ranks), rank=rank, world_size=ranks)
    assert dist.get_world_size() == ranks
    value = torch.from_numpy(sums[rank])
    dist.all_reduce(value)
    value.numpy().tofile(folder / f"gloo-{ranks}-{rank}")
    dist.barrier()
    os._exit(0)  # the interpreter's teardown of Gloo's threads aborts now and then


def gloo(atoms, ranks, folder):
    """Each rank's own atoms are summed by the tree, so that the all-reduce alone makes the difference."""
    share = ATOMS // ranks
    sums = [tree(atoms[rank * share : (rank + 1) * share]) for rank in range(ranks)]
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=gloo_rank, args=(rank, ranks, folder, sums)) for rank in range(ranks)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    results = [np.fromfile(folder / f"gloo-{ranks}-{rank}", np.float32) for rank in range(ranks)]
    assert all(np.array_equal(result, results[0]) for result in results)
    return results[0]


def test_the_canonical_sum_is_the_tree_for_every_number_of_ranks(atoms, tmp_path):
    expected = tree(atoms).tobytes()
    for ranks in (1, 2, 3, 4, 5, 7, 8, 12, 16):
        assert canonical(atoms, ranks, tmp_path).tobytes() == expected, ranks


def test_the_all_reduce_of_gloo_differs_at_three_processes(atoms, tmp_path):
    native = gloo(atoms, 3, tmp_path)
    exact = canonical(atoms, 3, tmp_path)
    np.testing.assert_allclose(native, exact, rtol=0, atol=1e-5)  # it is the same sum, but for the order
    assert np.count_nonzero(native != exact) > ELEMENTS / 100


def test_the_all_reduce_of_gloo_depends_on_the_number_of_processes(atoms, tmp_path):
    assert not np.array_equal(gloo(atoms, 2, tmp_path), gloo(atoms, 3, tmp_path))


def test_adding_atoms_in_the_order_of_their_arrival_differs(atoms, tmp_path):
    exact = canonical(atoms, 3, tmp_path)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(ATOMS)
        arrived = np.zeros(ELEMENTS, np.float32)
        for atom in order:
            arrived += atoms[atom]
        assert np.count_nonzero(arrived != exact) > ELEMENTS / 100, order
