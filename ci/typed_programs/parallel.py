"""Data-parallel training."""
# ruff: noqa: F821, D101, D103 - reveal_type is mypy's

import os

import rushlight as torch
import rushlight.distributed as dist
import rushlight.multiprocessing as mp
from rushlight import nn, optim
from rushlight.nn.parallel import DistributedDataParallel as DDP
from rushlight.utils.data import DataLoader, TensorDataset
from rushlight.utils.data.distributed import DistributedSampler


def worker(rank: int, world_size: int) -> None:
    os.environ["MASTER_ADDR"] = "localhost"
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    data = TensorDataset(torch.ones(8, 2))
    sampler: DistributedSampler[int] = DistributedSampler(
        data, num_replicas=world_size, rank=rank, shuffle=True
    )
    loader = DataLoader(data, batch_size=2, sampler=sampler)
    model = DDP(nn.Linear(2, 1))
    reveal_type(model.module)  # note: "Module"
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for (x,) in loader:
            optimizer.zero_grad()
            loss = model(x).mean()
            loss.backward()
            optimizer.step()
    total = torch.ones(1)
    dist.all_reduce(total, op=dist.ReduceOp.SUM)
    parts = [torch.zeros(1) for _ in range(world_size)]
    dist.all_gather(parts, total)
    with model.no_sync():
        model(torch.ones(1, 2)).sum().backward()
    dist.barrier()
    reveal_type(dist.get_rank())  # note: "int"
    reveal_type(dist.get_world_size())  # note: "int"
    reveal_type(dist.is_initialized())  # note: "bool"
    reveal_type(dist.new_group([0]))  # note: "ProcessGroup | int"
    reveal_type(len(sampler))  # note: "int"
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(worker, args=(2,), nprocs=2, join=True)
    mp.set_start_method("spawn", force=True)
    queue = mp.get_context("spawn").Queue()
    queue.put(torch.ones(1))
