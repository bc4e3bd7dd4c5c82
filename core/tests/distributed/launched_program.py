"""A program in the shape of PyTorch's tutorials, for launchers: ``launched_program.py [FAULT]``."""

import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record


def fail(fault):
    """What rank 1 does after the first collective."""
    if fault == "raise" or fault == "once" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        raise ValueError("the cause")
    if fault == "exit":
        sys.exit(3)
    if fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "hang":
        time.sleep(600)


@record
def main():
    dist.init_process_group("gloo")
    x = torch.ones(2) * (dist.get_rank() + 1)
    dist.all_reduce(x)
    shown = dist.get_rank(), dist.get_world_size(), int(os.environ["LOCAL_RANK"]), x.tolist()
    line = " ".join(map(str, [*shown, *sys.argv[1:]]))
    os.write(1, f"{line}\n".encode())  # at once: ranks write to one pipe
    if len(sys.argv) > 1 and dist.get_rank() == 1:
        fail(sys.argv[1])
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
