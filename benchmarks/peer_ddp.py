"""One rank of PyTorch's side of update_ddp.py: DistributedDataParallel over Gloo, one thread.

    python peer_ddp.py JOB.json RANK

JOB.json: {"world", "store", "model" (config), "form" (peer_models.py), "weights", "samples": {id: [tokens, targets]},
"plan": [update][rank][microbatch] of ids, "optimizer": {"kind", ...}, "ddp": {settings}, "result", "gradient"?}.
Rank 0 writes {"seconds": [...], "tokens": [...], "peak_bytes"} to "result": an update's seconds are the slower rank's, from
before the first forward to after the step; and the first window's gradient to "gradient".
"""

import json
import os
import pathlib
import resource
import sys
import time

import torch
import torch.distributed as dist
from peer_models import IGNORE, MODELS, loss_sum, make_batch
from safetensors.torch import load_file, save_file
from torch.nn.parallel import DistributedDataParallel


def make_optimizer(parameters, options):
    if options["kind"] == "adamw":
        return torch.optim.AdamW(parameters, lr=options["learning_rate"], weight_decay=0.0, fused=options["fused"])
    return torch.optim.SGD(parameters, lr=options["learning_rate"], fused=options["fused"])


def train(job, rank):
    world = job["world"]
    model = MODELS[job["form"]](job["model"])
    model.load_state_dict(load_file(job["weights"]))
    model = DistributedDataParallel(model, **job["ddp"])
    optimizer = make_optimizer(model.parameters(), job["optimizer"])
    seconds_of_updates, tokens = [], []
    for update, window in enumerate(job["plan"]):
        rows = [[job["samples"][str(i)] for i in ids] for ids in window[rank]]
        batches = [make_batch(job["form"], row) for row in rows]
        dist.barrier()
        count = torch.tensor([sum(value != IGNORE for row in rows for _, targets in row for value in targets)])
        dist.barrier()
        begin = time.perf_counter()  # neither making batches nor counting tokens is part of it
        dist.all_reduce(count)
        factor = world / int(count)
        with model.no_sync():
            for batch in batches[:-1]:
                (loss_sum(model, batch) * factor).backward()
        (loss_sum(model, batches[-1]) * factor).backward()
        if update == 0 and rank == 0 and "gradient" in job:
            save_file({name: value.grad.clone() for name, value in model.module.named_parameters()}, job["gradient"])
        if job["optimizer"].get("max_grad_norm"):
            torch.nn.utils.clip_grad_norm_(model.parameters(), job["optimizer"]["max_grad_norm"])
        optimizer.step()
        optimizer.zero_grad()
        seconds = torch.tensor([time.perf_counter() - begin], dtype=torch.float64)
        dist.all_reduce(seconds, op=dist.ReduceOp.MAX)
        seconds_of_updates.append(float(seconds))
        tokens.append(int(count))
    return {"seconds": seconds_of_updates, "tokens": tokens}


def main():
    job = json.loads(pathlib.Path(sys.argv[1]).read_text())
    rank = int(sys.argv[2])
    torch.set_num_threads(1)
    store = dist.FileStore(job["store"], job["world"])
    dist.init_process_group("gloo", store=store, rank=rank, world_size=job["world"])
    result = train(job, rank)
    result["peak_bytes"] = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if rank == 0:
        pathlib.Path(job["result"]).write_text(json.dumps(result))
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)  # all is measured; the interpreter's teardown of Gloo's threads aborts now and then ("terminate called")


if __name__ == "__main__":
    main()
