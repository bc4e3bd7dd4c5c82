"""A rank of bench/step_time.py: times of `all_reduce` by size, and of steps of training.

Rank 0 prints one JSON object. Started with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
"""

from __future__ import annotations

import json
import statistics
import sys
import time

import rushlight as torch
import rushlight.distributed as dist
from rushlight import nn

SIZES = [1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22]  # bytes
BUCKET = 0.5  # MB
MODELS = {"MLP, 1 MB": (256, 4), "MLP, 4 MB": (512, 4)}  # width and layers


def seconds(call, times):
    """The mean of calls that follow each other. Between barriers a rank that leaves first would
    have sent its part before another one begins."""
    call()
    dist.barrier()
    begin = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - begin) / times


def collectives(times):
    """Seconds of an all_reduce by its bytes."""
    found = {}
    for size in SIZES:
        x = torch.ones(size // 4)
        found[size] = seconds(lambda x=x: dist.all_reduce(x), times)
    return found


def parts(model, batch, optimizer, times):
    """Seconds of the forward pass, the backward pass and the optimizer, without exchange."""
    found = []
    for _ in range(times + 1):
        begin = time.perf_counter()
        loss = model(batch).square().mean()
        middle = time.perf_counter()
        loss.backward()
        end = time.perf_counter()
        optimizer.step()
        found.append((middle - begin, end - middle, time.perf_counter() - end))
        optimizer.zero_grad()
    return [statistics.median(each) for each in zip(*found[1:], strict=True)]


def steps(times):
    """For each model its bytes, parts of a step, and a step with gradients exchanged."""
    found = {}
    for name, (width, depth) in MODELS.items():
        torch.manual_seed(0)
        layers = [nn.Linear(width, width) for _ in range(depth)]
        model = nn.Sequential(*[each for layer in layers for each in (layer, nn.ReLU())])
        batch = torch.randn(512, width)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        alone = parts(model, batch, optimizer, 4 * times)
        wrapped = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=BUCKET)

        def step(wrapped=wrapped, optimizer=optimizer, batch=batch):
            wrapped(batch).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()

        step()  # after it the buckets follow the order of the backward pass
        size = sum(each.numel() for each in model.parameters()) * 4
        found[name] = {"bytes": size, "parts": alone, "step": seconds(step, times)}
    return found


def main():
    times = int(sys.argv[1])
    dist.init_process_group("gloo")
    found = {"all_reduce": collectives(times), "steps": steps(times)}
    if dist.get_rank() == 0:
        print(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
