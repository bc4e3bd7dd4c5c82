"""A program in the shape of PyTorch's tutorials that starts its processes itself."""

import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def setup(rank, world_size, port):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = port
    dist.init_process_group("gloo", rank=rank, world_size=world_size)


def demo(rank, world_size, port, fault):
    setup(rank, world_size, port)
    x = torch.ones(1) * rank
    dist.all_reduce(x, op=dist.ReduceOp.SUM)
    os.write(1, f"rank {rank} has {x.item()}\n".encode())  # at once: ranks write to one pipe
    if fault and rank == 1:
        raise RuntimeError("the cause")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(demo, args=(2, *sys.argv[1:3]), nprocs=2, join=True)
