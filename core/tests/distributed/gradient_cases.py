"""Collectives with gradients, and meshes; the same text runs under PyTorch with gloo."""

from __future__ import annotations

import importlib

CASES = {}


def fits(name, size):
    """Whether a job of so many ranks can run a case."""
    return size > 1


def case(function):
    """Note a case by its name."""
    CASES[function.__name__] = function
    return function


def functional(torch):
    """``distributed.nn.functional`` of a framework."""
    return importlib.import_module(torch.__name__ + ".distributed.nn.functional")


def weighted(torch, rank, results, *leaves):
    """Backward of a sum in which every element and rank weighs differently; the gradients."""
    loss = 0
    for number, each in enumerate(results):
        weights = torch.arange(float(each.numel())).reshape(each.shape) + 1 + number
        loss = loss + (each * weights * (rank + 1)).sum()
    loss.backward()
    return [each.detach() for each in results], [leaf.grad for leaf in leaves]


def leaf(torch, rank, *shape):
    """A leaf whose elements tell the rank."""
    count = 1
    for length in shape:
        count *= length
    return ((torch.arange(float(count)) + 1) * (rank + 1)).reshape(shape).requires_grad_()


@case
def all_reduces(torch, dist, rank, size):
    x = leaf(torch, rank, 2, 3)
    return weighted(torch, rank, [functional(torch).all_reduce(x)], x)


@case
def broadcasts(torch, dist, rank, size):
    x = leaf(torch, rank, 3)
    return weighted(torch, rank, [functional(torch).broadcast(x, 1)], x)


@case
def gathers(torch, dist, rank, size):
    x = leaf(torch, rank, 2, 2)
    return weighted(torch, rank, functional(torch).gather(x, 0), x)


@case
def scatters(torch, dist, rank, size):
    xs = [leaf(torch, rank + i, 3) for i in range(size)]
    return weighted(torch, rank, [functional(torch).scatter(xs, 0)], *xs)


@case
def reduces(torch, dist, rank, size):
    x = leaf(torch, rank, 3)
    y = functional(torch).reduce(x, 1)
    values, grads = weighted(torch, rank, [y], x)
    return values if rank == 1 else None, grads


@case
def reduce_scatters(torch, dist, rank, size):
    xs = [leaf(torch, rank + i, 3) for i in range(size)]
    out = torch.zeros(3)
    return weighted(torch, rank, [functional(torch).reduce_scatter(out, xs)], *xs)


@case
def all_gathers(torch, dist, rank, size):
    x = leaf(torch, rank, 2, 2)
    return weighted(torch, rank, functional(torch).all_gather(x), x)


@case
def all_to_alls(torch, dist, rank, size):
    xs = [leaf(torch, rank + i, 1 + i) for i in range(size)]
    outs = [torch.zeros(1 + rank) for _ in range(size)]
    if torch.__name__ == "torch":
        every = [None] * size
        dist.all_gather_object(every, [x.detach() for x in xs])
        # gloo has none with gradients: what comes to a rank, and its senders' weights, by hand.
        got = [every[i][rank] for i in range(size)]
        grads = []
        for i, x in enumerate(xs):
            weights = torch.arange(float(x.numel())) + 1 + rank
            grads.append(weights * (i + 1))
        return got, grads
    return weighted(torch, rank, functional(torch).all_to_all(outs, xs), *xs)


@case
def all_to_all_singles(torch, dist, rank, size):
    x = leaf(torch, rank, 2 * size, 2)
    out = torch.zeros(2 * size, 2)
    return weighted(torch, rank, [functional(torch).all_to_all_single(out, x)], x)


@case
def mesh_of_one_dimension(torch, dist, rank, size):
    mesh = dist.init_device_mesh("cpu", (size,), mesh_dim_names=("dp",))
    x = torch.ones(2) * rank
    dist.all_reduce(x, group=mesh.get_group())
    return (
        x, mesh.mesh, mesh.size(), mesh.ndim, tuple(mesh.shape), mesh.get_local_rank("dp"),
        mesh.get_rank(), mesh.get_coordinate() is not None, mesh["dp"].size(),
        len(mesh.get_all_groups()),
    )  # fmt: skip


@case
def mesh_of_two_dimensions(torch, dist, rank, size):
    mesh = dist.init_device_mesh("cpu", (1, size), mesh_dim_names=("a", "b"))
    x, y = torch.ones(2) * rank, torch.ones(2) * rank
    dist.all_reduce(x, group=mesh.get_group("a"))
    dist.all_reduce(y, group=mesh["b"].get_group())
    found = dist.DeviceMesh.from_group(mesh.get_group("b"), "cpu")
    return x, y, mesh.get_local_rank(1), mesh.get_local_rank("a"), mesh.size(1), found.mesh


@case
def mesh_errors(torch, dist, rank, size):
    mesh = dist.init_device_mesh("cpu", (1, size), mesh_dim_names=("a", "b"))
    found = []
    for ask in (
        lambda: mesh["c"],
        lambda: mesh.get_group(),
        lambda: dist.init_device_mesh("cpu", (size,), mesh_dim_names=("a", "b")),
    ):
        try:
            ask()
        except (KeyError, RuntimeError) as error:
            found.append(type(error).__name__)
    return found


@case
def losses_are_scaled_together(torch, dist, rank, size):
    """All ranks skip a step where one has an infinite gradient, or no gradient at all."""
    path = torch.__name__ + ".distributed.fsdp.sharded_grad_scaler"
    weight = torch.ones(2, requires_grad=True)
    scaler = importlib.import_module(path).ShardedGradScaler(
        device=weight.device.type, init_scale=4.0, growth_interval=2
    )
    optimizer, found = torch.optim.SGD([weight], lr=0.5), []
    for step in range(3):
        optimizer.zero_grad()
        factor = float("inf") if step == 1 and rank == size - 1 else rank + 1.0
        scaler.scale((weight * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        found.append((scaler.get_scale(), weight.detach().clone()))
    return found
