"""What goes wrong in a job, by name: ``failing.py NAME``; ranks print what they see."""

from __future__ import annotations

import datetime
import multiprocessing
import os
import signal
import sys
import time

import rushlight as torch
import rushlight.distributed as dist

LIMIT = datetime.timedelta(seconds=float(os.environ.get("FAILING_LIMIT", "120")))


def shown(function):
    """Print the error that a call ends by."""
    try:
        function()
    except Exception as error:
        print(f"{type(error).__name__}: {error}", flush=True)
    else:
        print("no error", flush=True)


def raises(rank):
    """Rank 1 raises while rank 0 waits for it."""
    if rank == 1:
        raise ValueError("the cause")
    dist.all_reduce(torch.ones(4))


def exits(rank):
    """Rank 1 leaves with a code of its own."""
    if rank == 1:
        sys.exit(3)
    dist.all_reduce(torch.ones(4))


def killed(rank):
    """Rank 1 is killed."""
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.all_reduce(torch.ones(4))


def first_killed(rank):
    """Rank 0, which serves the others, is killed."""
    if rank == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.all_reduce(torch.ones(4))


def late(rank):
    """Rank 1 does not come in time."""
    dist.all_reduce(torch.ones(1))
    if rank == 0:
        work = dist.all_reduce(torch.ones(2, 3), async_op=True)
        shown(lambda: work.wait(datetime.timedelta(seconds=0.3)))
        os._exit(0)
    time.sleep(3)
    os._exit(0)


def unmonitored(rank):
    """Rank 1 does not come to a monitored barrier."""
    if rank == 0:
        shown(lambda: dist.monitored_barrier(timeout=datetime.timedelta(seconds=0.3)))
        os._exit(0)
    time.sleep(3)
    os._exit(0)


def mismatched(rank):
    """Ranks call different collectives, in debug mode."""
    shape = (2, 3) if rank == 0 else (4,)
    shown(lambda: dist.all_reduce(torch.ones(shape)))
    shown(lambda: dist.barrier() if rank else dist.broadcast(torch.ones(1), src=0))


def early(rank):
    """Rank 1 ends well before rank 0 has what it sent; rank 0 then waits for more."""
    x = torch.full((100_000,), float(rank))
    if rank == 1:
        dist.send(x, dst=0)
        return
    time.sleep(0.5)
    dist.recv(x, src=1)
    print("sum", x.sum().item(), flush=True)
    shown(lambda: dist.all_reduce(x))
    shown(lambda: dist.recv(x, src=1))


def smaller(rank):
    """Sender and receiver name different sizes."""
    if rank == 0:
        shown(lambda: dist.recv(torch.ones(4), src=1))
    else:
        dist.send(torch.ones(2), dst=0)


def again(rank):
    """The group is given up and made again; then with other ranks."""
    for value in (1.0, 2.0, 3.0):
        dist.destroy_process_group()
        dist.init_process_group("gloo", timeout=LIMIT)
        x = torch.ones(1) * value
        dist.all_reduce(x)
        assert x.item() == 2 * value
    dist.barrier()
    dist.destroy_process_group()
    shown(lambda: dist.init_process_group("gloo", rank=1 - rank, world_size=2))


def _child(queue):
    queue.put(dist.is_initialized())


def children(rank):
    """Ranks start processes of their own, which are no ranks."""
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        process = context.Process(target=_child, args=(queue,))
        process.start()
        print(method, queue.get(timeout=100), flush=True)
        process.join()
    x = torch.ones(1)
    dist.all_reduce(x)
    print("sum", x.item(), flush=True)


def pieces(rank):
    """Arrays longer than one message may be: with a small limit."""
    from rushlight.distributed import communicators

    communicators.LIMIT = 16
    x = torch.arange(101.0) + rank
    y, every = x.clone(), [torch.zeros(101) for _ in range(2)]
    dist.all_reduce(x)
    dist.all_gather(every, y)
    part = torch.zeros(50)
    dist.reduce_scatter_tensor(part, y[:100].clone())
    z = y.clone() if rank == 0 else torch.zeros(101)
    dist.broadcast(z, src=0)
    w = torch.zeros(101)
    if rank == 0:
        dist.send(y, dst=1)
    else:
        dist.recv(w, src=0)
        assert torch.equal(w, torch.arange(101.0))
    a = torch.zeros(100)
    dist.all_to_all_single(a, y[:100].clone())
    plain = torch.arange(101.0)
    assert torch.equal(x, 2 * plain + 1)
    assert torch.equal(every[1], plain + 1) and torch.equal(z, plain)
    assert torch.equal(part, (2 * plain + 1)[50 * rank : 50 * rank + 50])
    assert torch.equal(a[50:], plain[50 * rank : 50 * rank + 50] + 1)
    print("equal", flush=True)


if __name__ == "__main__":
    dist.init_process_group("gloo", timeout=LIMIT)
    globals()[sys.argv[1]](dist.get_rank())
