"""A rank of bench/ranks.py: the first collective, `all_reduce` by size, steps under
DistributedDataParallel.

Started with RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT and BEGUN, the time (`time.time`) at which
the ranks were started; the one argument is ``ours`` or ``theirs``. Rank 0 prints one JSON object:
seconds by case, and the first losses.
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from models import dense, images, sequences

SIZES = {"1 KB": (1 << 10, 300), "100 KB": (100 << 10, 100), "10 MB": (10 << 20, 10),
         "100 MB": (100 << 20, 3)}  # fmt: skip
MODELS = {"MLP": (dense.mlp, 200), "ResNet-18": (images.resnet18, 4),
          "GPT 3 M": (sequences.gpt_medium, 4)}  # fmt: skip
BLOCKS = 5  # of calls, of which the median counts


def seconds(torch, call, times):
    """The median over blocks of the mean time of a call, of the slowest rank."""
    call()
    found = []
    for _ in range(BLOCKS):
        torch.distributed.barrier()
        begin = time.perf_counter()
        for _ in range(times):
            call()
        took = torch.tensor([(time.perf_counter() - begin) / times], dtype=torch.float64)
        torch.distributed.all_reduce(took, torch.distributed.ReduceOp.MAX)
        found.append(took.item())
    return statistics.median(found)


def trained(torch, make):
    """A step of training, and the first loss."""
    torch.manual_seed(0)
    network, loss_of = make(torch)

    class Loss(torch.nn.Module):  # DistributedDataParallel looks at calls of the module it holds
        def __init__(self):
            super().__init__()
            self.network = network

        def forward(self):
            return loss_of()

    whole = torch.nn.parallel.DistributedDataParallel(Loss())
    optimizer = torch.optim.SGD(whole.parameters(), lr=0.01, momentum=0.9)

    def step():
        optimizer.zero_grad()
        loss = whole()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, step()


def main():
    torch = importlib.import_module({"ours": "rushlight", "theirs": "torch"}[sys.argv[1]])
    distributed = importlib.import_module(f"{torch.__name__}.distributed")
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    distributed.all_reduce(torch.ones(1))
    found = {"first collective": time.time() - float(os.environ["BEGUN"])}
    for name, (size, times) in SIZES.items():
        x = torch.zeros(size // 4)
        found[f"all_reduce of {name}"] = seconds(
            torch, lambda x=x: distributed.all_reduce(x), times
        )
    losses = {}
    for name, (make, times) in MODELS.items():
        step, losses[name] = trained(torch, make)
        found[f"step of {name}"] = seconds(torch, step, times)
    if distributed.get_rank() == 0:
        print(json.dumps([found, losses]), flush=True)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
