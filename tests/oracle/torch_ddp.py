"""The cases of tests/oracle/test_ddp_parity.py through PyTorch's DistributedDataParallel over Gloo."""

import contextlib
import os
import sys
import traceback

import torch
import torch.distributed as dist
from safetensors.torch import save_file
from torch.nn.parallel import DistributedDataParallel

import ddp_models

STEPS = 5
LEARNING_RATE = 0.1


def written(tensor):
    dense = tensor.detach().to_dense() if tensor.is_sparse else tensor.detach()
    return (dense.float() if dense.dtype == torch.bfloat16 else dense).clone(memory_format=torch.contiguous_format)


def wrap(case):
    model = getattr(ddp_models, case["model"])()
    ddp_models.fill(model)
    ddp = DistributedDataParallel(
        model,
        bucket_cap_mb=case["cap_mb"],
        find_unused_parameters=case["find_unused"],
        static_graph=case["static_graph"],
        gradient_as_bucket_view=case["views"],
    )
    return model, ddp


def train(case, rank, record):
    model, ddp = wrap(case)
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)
    for step in range(STEPS):
        if case["zeroing"] != "keep":
            optimizer.zero_grad(set_to_none=case["zeroing"] == "none")
        for micro in range(case["accumulation"]):
            last = micro + 1 == case["accumulation"]
            with contextlib.nullcontext() if last else ddp.no_sync():
                outputs = ddp(ddp_models.batch(rank, step, micro), rank + step + micro)
                sum((output - 0.25).pow(2).mean() for output in outputs[: case["loss_outputs"]]).backward()
        for name, parameter in model.named_parameters():
            if parameter.grad is not None:
                record[f"{case['name']}/{step}/{name}"] = written(parameter.grad)
        for name, buffer in model.named_buffers():
            record[f"{case['name']}/{step}/buffers/{name}"] = written(buffer)
        optimizer.step()


def run_rank(cases, ranks, rank, folder):
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    store = dist.FileStore(f"{folder}/torch-{ranks}.store", ranks)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=ranks)
    record, errors = {}, {}
    for case in cases:
        try:
            train(case, rank, record)
        except RuntimeError as error:
            errors[case["name"]] = str(error)
    dist.barrier()
    save_file(record, f"{folder}/torch-{ranks}-{rank}.safetensors", metadata=errors or None)
    dist.barrier()


def run(cases, ranks, folder):
    """Every case on `ranks` processes, forked so that PyTorch is imported once."""
    children = []
    for rank in range(ranks):
        child = os.fork()
        if child == 0:
            try:
                run_rank(cases, ranks, rank, folder)
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
                os._exit(1)
            os._exit(0)  # the interpreter's teardown of Gloo's threads aborts now and then
        children.append(child)
    results = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    if any(results):
        raise RuntimeError(f"{ranks} ranks of PyTorch: exit codes {results}")
