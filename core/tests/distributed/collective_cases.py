"""What every rank does with collectives; the same text runs under PyTorch with gloo."""

from __future__ import annotations

import time

CASES = {}
DTYPES = (
    "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 "
    "complex32 uint16 uint32 uint64"
).split()
OPS = "SUM AVG PRODUCT MIN MAX BAND BOR BXOR".split()


OF_SEVERAL = (
    "reduce_to_a_rank gather_and_scatter objects_to_a_rank messages messages_by_tag "
    "a_ring_in_one_batch groups_of_some subgroups questions temporaries"
).split()  # they name a second rank


NOT_ON_GPUS = {"from_any_rank", "messages_by_tag"}  # NCCL knows no tags, and names who sends


def fits(name, size):
    """Whether a job of so many ranks can run a case."""
    return size > 1 or not (name in OF_SEVERAL or name.startswith("refused_"))


def case(function):
    """Note a case by its name."""
    CASES[function.__name__] = function
    return function


def values(torch, rank, dtype):
    """What a rank contributes: small numbers whose sums and products every dtype holds."""
    rows = [[0, 1, 1, 3, 3], [0, 0, 1, 2, 5], [1, 0, 1, 2, 4], [1, 1, 0, 3, 2]]
    return torch.tensor(rows[rank % 4]).to(getattr(torch, dtype))


def refused_by_gloo(x, op):
    """Whether gloo's threads raise for a dtype, or for bits of what has none."""
    name = str(x.dtype).rpartition(".")[2]
    inexact = x.is_floating_point() or x.is_complex()
    late = op.startswith("B") and inexact or op == "AVG" and not inexact
    return late or name in ("int16", "uint16", "uint32", "uint64")


def reduction(dtype, op):
    """The case of one reduction of one dtype."""

    def run(torch, dist, rank, size):
        x = values(torch, rank, dtype)
        if torch.__name__ == "torch" and refused_by_gloo(x, op):
            raise RuntimeError("gloo refuses, and late: the next barrier may fail, too")
        dist.all_reduce(x, op=getattr(dist.ReduceOp, op))
        return x

    return run


for _dtype in DTYPES:
    for _op in OPS:
        CASES[f"all_reduce_{_dtype}_{_op}"] = reduction(_dtype, _op)


def moved(dtype):
    """The case of what moves tensors of one dtype."""

    def run(torch, dist, rank, size):
        x = values(torch, rank, dtype)
        if torch.__name__ == "torch" and refused_by_gloo(x, "MAX"):
            raise RuntimeError("gloo refuses")
        every = [torch.zeros_like(x) for _ in range(size)]
        dist.all_gather(every, x)
        y = x.clone()
        dist.broadcast(y, src=size - 1)
        return every, y

    return run


for _dtype in DTYPES[:12]:
    CASES[f"moved_{_dtype}"] = moved(_dtype)


@case
def reduce_to_a_rank(torch, dist, rank, size):
    x = torch.arange(4.0) + rank
    dist.reduce(x, dst=1, op=dist.ReduceOp.SUM)
    return x if rank == 1 else None


@case
def reduce_scatters(torch, dist, rank, size):
    parts = [torch.full((2, 2), float(rank + 10 * i)) for i in range(size)]
    out = torch.zeros(2, 2)
    dist.reduce_scatter(out, parts)
    flat = torch.zeros(2, 2)
    dist.reduce_scatter_tensor(flat, torch.cat(parts), op=dist.ReduceOp.MAX)
    whole = torch.zeros(2, dtype=torch.complex64)
    dist.reduce_scatter_tensor(whole, torch.arange(2.0 * size) * (1 + 1j * rank))
    return out, flat, whole


@case
def gathers_into_a_tensor(torch, dist, rank, size):
    x = torch.arange(6).reshape(2, 3) + 100 * rank
    rows, stacked = torch.zeros(2 * size, 3).long(), torch.zeros(size, 2, 3).long()
    dist.all_gather_into_tensor(rows, x)
    if torch.__name__ == "torch":  # gloo knows the first form alone
        stacked = rows.reshape(size, 2, 3)
    else:
        dist.all_gather_into_tensor(stacked, x)
    return rows, stacked


@case
def gather_and_scatter(torch, dist, rank, size):
    x = torch.tensor([[1.0, rank]])
    every = [torch.zeros(1, 2) for _ in range(size)] if rank == 1 else None
    dist.gather(x, every, dst=1)
    y = torch.zeros(3, dtype=torch.int32)
    rows = [torch.arange(3, dtype=torch.int32) * (i + 1) for i in range(size)]
    dist.scatter(y, rows if rank == 0 else None, src=0)
    return every, y


@case
def all_to_all_single_in_equal_and_other_parts(torch, dist, rank, size):
    x = torch.arange(2 * size).reshape(size, 2) + 100 * rank
    equal = torch.zeros_like(x)
    dist.all_to_all_single(equal, x)
    # Rank r sends i + r rows to rank i.
    sent = [i + rank for i in range(size)]
    received = [rank + i for i in range(size)]
    y = torch.arange(sum(sent) * 2.0).reshape(-1, 2) + 1000 * rank
    out = torch.zeros(sum(received), 2)
    dist.all_to_all_single(out, y, received, sent)
    return equal, out


@case
def asynchronous(torch, dist, rank, size):
    x, y = torch.ones(1000) * rank, torch.ones(3)
    first = dist.all_reduce(x, async_op=True)
    second = dist.broadcast(y, src=0, async_op=True)
    every = [torch.zeros(3) for _ in range(size)]
    third = dist.all_gather(every, torch.ones(3) * rank, async_op=True)
    waited = third.wait(), second.wait(), first.wait()
    return waited, x[:3], y, every, first.is_completed(), first.get_future().wait()


@case
def futures(torch, dist, rank, size):
    work = dist.all_reduce(torch.ones(2), async_op=True)
    return work.get_future().then(lambda done: done.value()[0] * 3).wait()


@case
def not_contiguous(torch, dist, rank, size):
    x = (torch.arange(6.0) + rank).reshape(2, 3).t()
    dist.all_reduce(x)
    y = torch.arange(12.0).reshape(3, 4)[:, ::2] * (rank + 1)
    dist.all_reduce(y)
    return x, y, tuple(x.stride()), tuple(y.stride())


@case
def empty_and_scalar(torch, dist, rank, size):
    x, y = torch.zeros(0), torch.tensor(float(rank))
    dist.all_reduce(x)
    dist.all_reduce(y)
    return x, y


@case
def requires_no_grad_of_its_input(torch, dist, rank, size):
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        dist.all_reduce(x)
    return x, x.requires_grad


@case
def objects(torch, dist, rank, size):
    every = [None] * size
    dist.all_gather_object(every, {"rank": rank, "text": "x" * rank})
    gathered = [None] * size if rank == 0 else None
    dist.gather_object(("of", rank), gathered, dst=0)
    pair = [rank, "old"] if rank else [{"a": 1}, "new"]
    dist.broadcast_object_list(pair, src=0)
    out = [None]
    dist.scatter_object_list(out, [[i] * i for i in range(size)] if rank == 0 else None, src=0)
    return every, gathered, pair, out


@case
def objects_to_a_rank(torch, dist, rank, size):
    found = [None, None]
    if rank == 0:
        dist.send_object_list([1, {"two": 2}], dst=1)
    elif rank == 1:
        sender = dist.recv_object_list(found, src=0)
        return sender, found
    return None


@case
def tensors_among_objects(torch, dist, rank, size):
    every = [None] * size
    dist.all_gather_object(every, torch.arange(3) + rank)
    return every


@case
def messages(torch, dist, rank, size):
    x = torch.arange(5.0) * (rank + 1)
    y = torch.zeros(5)
    if rank == 0:
        dist.send(x, dst=1)
        sender = dist.recv(y, src=1)
    elif rank == 1:
        sender = dist.recv(y, src=0)
        dist.send(x, dst=0)
    else:
        sender = None
    return sender, y


@case
def messages_by_tag(torch, dist, rank, size):
    a, b = torch.ones(2), torch.ones(2) * 2
    if rank == 0:
        works = [dist.isend(a, 1, tag=1), dist.isend(b, 1, tag=2)]
    elif rank == 1:
        a, b = torch.zeros(2), torch.zeros(2)
        works = [dist.irecv(b, 0, tag=2), dist.irecv(a, 0, tag=1)]
    else:
        works = []
    for work in works:
        work.wait()
    return a, b


@case
def from_any_rank(torch, dist, rank, size):
    x = torch.full((3,), rank, dtype=torch.int64)
    if rank == 0:
        found = []
        for _ in range(size - 1):
            sender = dist.recv(x)
            found.append((sender, x.tolist()))
        return sorted(found)
    dist.send(x, dst=0)
    return None


@case
def a_ring_in_one_batch(torch, dist, rank, size):
    x, y = torch.full((4,), float(rank)), torch.zeros(4)
    ops = [
        dist.P2POp(dist.isend, x, (rank + 1) % size),
        dist.P2POp(dist.irecv, y, (rank - 1) % size),
    ]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    return y


@case
def groups_of_some(torch, dist, rank, size):
    last = dist.new_group([size - 1])
    both = dist.new_group([1, 0])
    x = torch.ones(2) * (rank + 1)
    dist.all_reduce(x, group=last)
    y = torch.ones(2) * (rank + 1)
    dist.all_reduce(y, group=both)
    asked = dist.get_rank(last), dist.get_world_size(last), dist.get_rank(both)
    members = dist.get_process_group_ranks(both) if rank < 2 else None
    outside = last == dist.GroupMember.NON_GROUP_MEMBER
    return x, y, asked, members, outside


@case
def subgroups(torch, dist, rank, size):
    own, every = dist.new_subgroups(group_size=1)
    x = torch.ones(1) * rank
    dist.all_reduce(x, group=own)
    first, _ = dist.new_subgroups_by_enumeration([[0, 1]])
    y = torch.ones(1)
    if rank < 2:
        dist.broadcast(y, group_src=1, group=first)
    return x, y, len(every), dist.get_world_size(own), dist.get_global_rank(own, 0)


@case
def questions(torch, dist, rank, size):
    return (
        dist.get_rank(), dist.get_world_size(), dist.get_backend(), dist.is_initialized(),
        dist.get_global_rank(dist.group.WORLD, 1), dist.get_group_rank(dist.group.WORLD, 1),
        dist.group.WORLD.rank(), dist.group.WORLD.size(), dist.group.WORLD.name(),
        dist.get_node_local_rank(), dist.is_available(), dist.get_backend_config() is not None,
        dist.get_process_group_ranks(dist.group.WORLD), dist.get_default_backend_for_device("cpu"),
        dist.supports_complex(dist.ReduceOp.SUM), dist.supports_complex(dist.ReduceOp.MAX),
        str(dist.ReduceOp.SUM), repr(dist.ReduceOp.MAX),
        isinstance(dist.ReduceOp.MIN, dist.ReduceOp),
    )  # fmt: skip


@case
def barriers(torch, dist, rank, size):
    dist.monitored_barrier()
    work = dist.barrier(async_op=True)
    return dist.barrier(), work.wait()


@case
def temporaries(torch, dist, rank, size):
    """Tensors that nobody but the operation keeps: others take their memory while it goes on."""
    if rank == 0:
        time.sleep(0.02)  # what the others send waits
    count = 20_000
    gathered, part, received = (torch.zeros(n * count) for n in (size, 1, 1))
    works = [
        dist.all_gather_into_tensor(gathered, torch.full((count,), rank + 1.0), async_op=True),
        dist.reduce_scatter_tensor(part, torch.full((size * count,), rank + 1.0), async_op=True),
        dist.all_reduce(torch.full((count,), rank + 1.0), async_op=True),
        dist.isend(torch.full((count,), rank + 1.0), (rank + 1) % size),
        dist.irecv(received, (rank - 1) % size),
    ]
    others = [torch.full((count,), -5.0) for _ in range(3 * size)]
    for work in works:
        work.wait()
    total = size * (size + 1) / 2
    return (
        gathered.reshape(size, count)[:, 0], gathered.reshape(size, count).std(1).tolist(),
        bool((part == total).all()), received.mean(), received.std(), len(others),
    )  # fmt: skip


@case
def methods_of_the_group(torch, dist, rank, size):
    group = dist.group.WORLD
    x, y = torch.ones(2) * rank, torch.ones(2) * (rank + 1)
    group.allreduce([x]).wait()
    group.broadcast([y], 0).wait() if torch.__name__ != "torch" else group.broadcast(y, 0).wait()
    every = [torch.zeros(2) for _ in range(size)]
    group.allgather([every], [torch.ones(2) * rank]).wait()
    group.barrier().wait()
    return x, y, every


@case
def coalesced(torch, dist, rank, size):
    xs = [torch.ones(2) * rank, torch.ones(3, 3)]
    dist.all_reduce_coalesced(xs)
    return xs


def refused(name, function):
    """A case that must end by an error, of the same type in both frameworks."""
    CASES["refused_" + name] = function


refused("root", lambda torch, dist, rank, size: dist.broadcast(torch.ones(2), src=size + 3))
refused("no_tensor", lambda torch, dist, rank, size: dist.all_reduce([1]))
refused("gather_list", lambda torch, dist, rank, size: dist.gather(
    torch.ones(2), None if rank == 0 else [torch.ones(2)], dst=0))  # fmt: skip
refused("dtypes", lambda torch, dist, rank, size: dist.all_gather(
    [torch.ones(2)] * size, torch.ones(2).double()))  # fmt: skip
refused("to_itself", lambda torch, dist, rank, size: dist.send(torch.ones(2), dst=rank))
refused("twice", lambda torch, dist, rank, size: dist.init_process_group("gloo"))
refused("group_rank", lambda torch, dist, rank, size: dist.new_group([0, size + 1]))
refused("p2p_list", lambda torch, dist, rank, size: dist.batch_isend_irecv([1]))
refused("p2p_op", lambda torch, dist, rank, size: dist.P2POp(dist.send, torch.ones(1), 0))
