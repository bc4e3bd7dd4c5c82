"""Models whose parameters ranks share; the same text runs under PyTorch with gloo."""

from __future__ import annotations

import copy
import importlib
import tempfile

CASES = {}
OURS = set()


def fits(name, size):
    """Whether a job of so many ranks can run a case."""
    return size > 1


def case(function):
    """Note a case by its name."""
    CASES[function.__name__] = function
    return function


def own(function):
    """Note a case that is not compared with PyTorch."""
    OURS.add(function.__name__)
    return case(function)


def part(torch, name):
    """A module of a framework by its path."""
    return importlib.import_module(f"{torch.__name__}.{name}")


def filled(torch, module):
    """A module with the same parameters in every framework."""
    with torch.no_grad():
        for number, parameter in enumerate(module.parameters()):
            values = torch.arange(float(parameter.numel())) * 0.7 + number
            parameter.copy_((values.sin() * 0.3).reshape(parameter.shape))
    return module


def network(torch):
    """A network whose lengths no number of ranks divides."""
    nn = torch.nn
    layers = (
        nn.Linear(6, 9),
        nn.Tanh(),
        nn.LayerNorm(9),
        nn.Linear(9, 5),
        nn.Tanh(),
        nn.Linear(5, 3),
    )
    return filled(torch, nn.Sequential(*layers))


def mesh_of(torch, size):
    """All ranks."""
    return part(torch, "distributed.device_mesh").init_device_mesh("cpu", (size,))


def sharded(torch, model, size, **options):
    """A model whose linear layers, and the rest of it, are divided among ranks."""
    shard, mesh = part(torch, "distributed.fsdp").fully_shard, mesh_of(torch, size)
    for layer in model:
        if isinstance(layer, torch.nn.Linear):
            shard(layer, mesh=mesh, **options)
    return shard(model, mesh=mesh, **options)


@case
def summands_of_a_whole(torch, dist, rank, size):
    """`Partial`: `full_tensor` and `redistribute` reduce."""
    tensors, mesh = part(torch, "distributed.tensor"), mesh_of(torch, size)
    local = torch.arange(6.0).reshape(3, 2) * (rank + 1)
    found = []
    for kind in ("sum", "avg", "max"):
        summand = tensors.DTensor.from_local(local, mesh, [tensors.Partial(kind)])
        divided = summand.redistribute(mesh, [tensors.Shard(0)]).to_local()
        everywhere = summand.redistribute(mesh, [tensors.Replicate()]).to_local()
        found += [summand.full_tensor(), divided, everywhere]
    summand = tensors.DTensor.from_local(local, mesh, [tensors.Partial()])
    return [*found, tuple(summand.shape)]


def batch(torch, step, rank, rows=4, columns=6):
    """The part of a batch that one rank has."""
    values = torch.arange(float(rows * columns)) + 31 * step + 1000 * rank
    return (values * 0.37).sin().reshape(rows, columns)


def loss_of(output):
    """A loss that is a mean over the batch."""
    return (output.float() ** 2).mean()


def trained(torch, rank, model, steps=4, clip=None):
    """All parameters, whole, after some steps."""
    optimizer = torch.optim.AdamW(model.parameters(), 0.05)
    norms = []
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(model(batch(torch, step, rank))).backward()
        if clip is not None:
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            norms.append(norm.full_tensor() if hasattr(norm, "full_tensor") else norm)
        optimizer.step()
    return [parameter.full_tensor().detach() for parameter in model.parameters()], norms


@case
def plain(torch, dist, rank, size):
    return trained(torch, rank, sharded(torch, network(torch), size))


@case
def kept_whole(torch, dist, rank, size):
    return trained(torch, rank, sharded(torch, network(torch), size, reshard_after_forward=False))


@case
def given_up(torch, dist, rank, size):
    return trained(torch, rank, sharded(torch, network(torch), size, reshard_after_forward=True))


@case
def clipped(torch, dist, rank, size):
    return trained(torch, rank, sharded(torch, network(torch), size), clip=0.05)


@case
def mixed_precision(torch, dist, rank, size):
    policy = part(torch, "distributed.fsdp").MixedPrecisionPolicy(
        param_dtype=torch.bfloat16, reduce_dtype=torch.float32
    )
    model = sharded(torch, network(torch), size, mp_policy=policy)
    output = model(batch(torch, 0, rank))
    loss_of(output).backward()
    kinds = [str(p.dtype).rpartition(".")[2] for p in model.parameters()]
    grads = [p.grad.full_tensor() for p in model.parameters()]
    rounded = [(g * 64).round() for g in grads]
    return str(output.dtype).rpartition(".")[2], kinds, rounded[-1]


@case
def gradients_add_up(torch, dist, rank, size):
    model = sharded(torch, network(torch), size)
    model.set_requires_gradient_sync(False)
    loss_of(model(batch(torch, 0, rank))).backward()
    model.set_requires_gradient_sync(True)
    loss_of(model(batch(torch, 1, rank))).backward()
    loss_of(model(batch(torch, 2, rank))).backward()
    return [p.grad.full_tensor() for p in model.parameters()]


@case
def set_afterwards(torch, dist, rank, size):
    model = sharded(torch, network(torch), size)
    model.set_reshard_after_forward(False)
    output = model(batch(torch, 0, rank))
    model.reshard()
    model.unshard()
    loss_of(output).backward()
    return [p.grad.full_tensor() for p in model.parameters()]


@case
def shapes_and_parts(torch, dist, rank, size):
    model = sharded(torch, network(torch), size)
    first = next(iter(model.parameters()))
    placements = [type(each).__name__ for each in first.placements]
    return (
        [tuple(p.shape) for p in model.parameters()],
        [tuple(p.to_local().shape) for p in model.parameters()],
        placements, first.device_mesh.size(), list(model.state_dict()), type(model).__name__,
        first.numel(), first.requires_grad,
    )  # fmt: skip


@case
def tensors_are_divided(torch, dist, rank, size):
    tensors = part(torch, "distributed.tensor")
    mesh = mesh_of(torch, size)
    x = torch.arange(15.0).reshape(5, 3)
    rows = tensors.distribute_tensor(x, mesh, [tensors.Shard(0)])
    columns = tensors.distribute_tensor(x, mesh, [tensors.Shard(1)])
    everywhere = tensors.distribute_tensor(x, mesh, [tensors.Replicate()])
    again = rows.redistribute(placements=[tensors.Shard(1)])
    made = tensors.DTensor.from_local(torch.ones(2, 2) * rank, mesh, [tensors.Shard(0)])
    return (
        rows.to_local(), columns.to_local(), everywhere.to_local(), again.to_local(),
        rows.full_tensor(), columns.full_tensor(), made.full_tensor(), tuple(made.shape),
        (rows * 2).full_tensor(), (rows + rows).to_local(), rows.placements[0].is_shard(0),
    )  # fmt: skip


def block_of(torch):
    """A class of layers some of whose forward may run a second time."""

    class Block(torch.nn.Module):
        def __init__(self, repeats=0, reentrant=None):
            super().__init__()
            self.inner = torch.nn.Linear(5, 5)
            self.repeats, self.reentrant = repeats, reentrant

        def once(self, x):
            return torch.tanh(self.inner(x))

        def forward(self, x):
            if not self.repeats:
                return x + self.once(x)
            checkpoint = part(torch, "utils.checkpoint").checkpoint
            for _ in range(self.repeats):  # the same parameters in each
                x = x + checkpoint(self.once, x, use_reentrant=self.reentrant)
            return x

    return Block


@case
def recomputed_forwards(torch, dist, rank, size):
    """Activation checkpoints inside of sharded parts, and around them."""
    shard, mesh = part(torch, "distributed.fsdp").fully_shard, mesh_of(torch, size)
    wrappers = part(torch, "distributed.algorithms._checkpoint.checkpoint_wrapper")
    block, kinds = block_of(torch), wrappers.CheckpointImpl
    ways = {
        "plain": lambda: block(),
        "wrapped": lambda: wrappers.checkpoint_wrapper(block()),
        "wrapped, reentrant": lambda: wrappers.checkpoint_wrapper(
            block(), checkpoint_impl=kinds.REENTRANT
        ),
        "inside": lambda: block(1, False),
        "inside, reentrant": lambda: block(1, True),
        "twice": lambda: block(2, False),
        "twice, reentrant": lambda: block(2, True),
    }
    found = {}
    for name, make in ways.items():
        model = filled(torch, torch.nn.Sequential(make(), make()))
        for layer in model:
            shard(layer, mesh=mesh)
        shard(model, mesh=mesh)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for step in range(3):
            x = (torch.arange(15.0).reshape(3, 5) * 0.1 + rank + step).requires_grad_()
            model(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        found[name] = [p.full_tensor().detach() for p in model.parameters()]
    return found


def folder_of(dist, rank):
    """A folder that all ranks know."""
    made = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(made, src=0)
    return made[0]


@case
def checkpoints(torch, dist, rank, size):
    dcp, helpers = (
        part(torch, "distributed.checkpoint"),
        part(torch, "distributed.checkpoint.state_dict"),
    )
    folder = folder_of(dist, rank)
    model = sharded(torch, network(torch), size)
    optimizer = torch.optim.AdamW(model.parameters(), 0.05)
    loss_of(model(batch(torch, 0, rank))).backward()
    optimizer.step()
    of_model, of_optimizer = helpers.get_state_dict(model, optimizer)
    dcp.save({"model": of_model, "optimizer": of_optimizer}, checkpoint_id=folder)
    other = sharded(torch, network(torch), size)
    another = torch.optim.AdamW(other.parameters(), 0.5)
    of_model, of_optimizer = helpers.get_state_dict(other, another)
    state = {"model": of_model, "optimizer": of_optimizer}
    dcp.load(state, checkpoint_id=folder)
    helpers.set_state_dict(
        other, another, model_state_dict=state["model"], optim_state_dict=state["optimizer"]
    )
    another.zero_grad()
    loss_of(other(batch(torch, 1, rank))).backward()
    another.step()
    # One process reads the same folder, whole.
    alone = network(torch)
    state = {"model": alone.state_dict()}
    dcp.load(state, checkpoint_id=folder, no_dist=True)
    alone.load_state_dict(state["model"])
    return [p.full_tensor().detach() for p in other.parameters()], list(alone.parameters())


@case
def full_state_dicts(torch, dist, rank, size):
    helpers = part(torch, "distributed.checkpoint.state_dict")
    model = sharded(torch, network(torch), size)
    options = helpers.StateDictOptions(full_state_dict=True)
    return dict(helpers.get_model_state_dict(model, options=options))


@own
def one_process_with_the_whole_batch(torch, dist, rank, size):
    model = network(torch)
    alone = copy.deepcopy(model)
    model = sharded(torch, model, size)
    both = model, alone
    optimizers = [torch.optim.SGD(m.parameters(), 0.05, momentum=0.9) for m in both]
    for step in range(50):
        parts = [batch(torch, step, r) for r in range(size)]
        for each, optimizer, x in zip(
            both, optimizers, (parts[rank], torch.cat(parts)), strict=True
        ):
            optimizer.zero_grad()
            loss_of(each(x)).backward()
            optimizer.step()
    pairs = zip(model.parameters(), alone.parameters(), strict=True)
    return max((a.full_tensor() - b).abs().max().item() for a, b in pairs)


@own
def shared_and_ignored_parameters(torch, dist, rank, size):
    nn = torch.nn
    model = filled(
        torch, nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6), nn.Linear(6, 3))
    )
    model[2].weight = model[0].weight
    alone = copy.deepcopy(model)
    shard = part(torch, "distributed.fsdp").fully_shard
    shard(model, ignored_params={model[3].bias})
    for each, x in ((model, batch(torch, 0, 0)), (alone, batch(torch, 0, 0))):
        loss_of(each(x)).backward()
    same = [
        (p.grad.full_tensor() if hasattr(p.grad, "full_tensor") else p.grad)
        for p in model.parameters()
    ]
    other = [p.grad for p in alone.parameters()]
    return max((a - b).abs().max().item() for a, b in zip(same, other, strict=True)), len(same)


@own
def memory(torch, dist, rank, size):
    """Bytes that stay on a rank, and whether graphs keep whole parameters."""
    import weakref

    nn = torch.nn
    model = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 64), nn.Linear(64, 8))
    whole = sum(p.numel() * 4 for p in model.parameters())
    model = sharded(torch, model, size, reshard_after_forward=True)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    seen = []
    layer = model[0]._sharded
    unshard = layer.unshard

    def noted():
        unshard()
        seen.append(weakref.ref(layer.parameters[0].buffer))

    layer.unshard = noted
    output = model(torch.ones(2, 64))
    kept = [each() is not None for each in seen]
    loss_of(output).backward()
    after = [each() is not None for each in seen]
    optimizer.step()
    shards = sum(each.padded.nbytes for m in model.modules() if hasattr(m, "_sharded")
                 for each in m._sharded.parameters)  # fmt: skip
    states = sum(v.to_local().numel() * 4 for s in optimizer.state.values()
                 for v in s.values() if hasattr(v, "to_local"))  # fmt: skip
    grads = sum(p.grad.to_local().numel() * 4 for p in model.parameters())
    return kept, after, shards / whole, (shards + states + grads) / (4 * whole)
