"""Parameters that some ranks divide and others repeat; the same text runs under PyTorch."""

from __future__ import annotations

import copy
import importlib.util
import tempfile
from pathlib import Path

CASES = {}
OURS = set()

_spec = importlib.util.spec_from_file_location(
    "fsdp_class_cases", Path(__file__).with_name("fsdp_class_cases.py")
)
base = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(base)
part, batch, loss_of, network = base.part, base.batch, base.loss_of, base.network
wrapped, trained, full, train = base.wrapped, base.trained, base.full, base.train


def fits(name, size):
    """Whether a job of so many ranks can run a case."""
    return size == 4


def case(function):
    """Note a case by its name."""
    CASES[function.__name__] = function
    return function


def own(function):
    """Note a case that is not compared with PyTorch."""
    OURS.add(function.__name__)
    return case(function)


def grid(torch):
    """Two rows of two ranks."""
    init = part(torch, "distributed.device_mesh").init_device_mesh
    return init("cpu", (2, 2), mesh_dim_names=("repeated", "divided"))


def strategy_of(torch, name):
    return getattr(part(torch, "distributed.fsdp").ShardingStrategy, name)


@case
def nothing_divided(torch, dist, rank, size):
    return trained(
        torch,
        rank,
        wrapped(torch, network(torch), sharding_strategy=strategy_of(torch, "NO_SHARD")),
    )


def hybrid(torch, name, **options):
    return wrapped(torch, network(torch), sharding_strategy=strategy_of(torch, name), **options)


@case
def by_mesh(torch, dist, rank, size):
    return trained(torch, rank, hybrid(torch, "HYBRID_SHARD", device_mesh=grid(torch)), clip=0.05)


@case
def by_mesh_kept_whole(torch, dist, rank, size):
    return trained(torch, rank, hybrid(torch, "_HYBRID_SHARD_ZERO2", device_mesh=grid(torch)))


@case
def by_groups(torch, dist, rank, size):
    """Neighbours divide, every other rank repeats."""
    rows = [dist.new_group(ranks) for ranks in ([0, 1], [2, 3])]
    columns = [dist.new_group(ranks) for ranks in ([0, 2], [1, 3])]
    pair = rows[rank // 2], columns[rank % 2]
    return trained(torch, rank, hybrid(torch, "HYBRID_SHARD", process_group=pair))


@own
def states_of_rank_0(torch, dist, rank, size):
    """All ranks take the parameters of the first (which PyTorch does on GPUs)."""
    model, first = network(torch), network(torch)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(rank)
    options = {"device_mesh": grid(torch), "sync_module_states": True}
    strategy = strategy_of(torch, "HYBRID_SHARD")
    found = full(torch, wrapped(torch, model, sharding_strategy=strategy, **options))
    return all(found[name].equal(value) for name, value in first.state_dict().items())


@case
def without_averages(torch, dist, rank, size):
    """Gradients of two batches, of which the first is not averaged until the second is."""
    model = hybrid(torch, "HYBRID_SHARD", device_mesh=grid(torch))
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    with model.no_sync():
        loss_of(model(batch(torch, 0, rank))).backward()
    loss_of(model(batch(torch, 1, rank))).backward()
    optimizer.step()
    return full(torch, model)


@own
def optimizers(torch, dist, rank, size):
    """The whole states of an optimizer, by each of the strategies."""
    fsdp = part(torch, "distributed.fsdp")
    kind, settings = fsdp.StateDictType.FULL_STATE_DICT, fsdp.FullOptimStateDictConfig()
    found = []
    for name, options in (
        ("FULL_SHARD", {}), ("NO_SHARD", {}), ("HYBRID_SHARD", {"device_mesh": grid(torch)}),
    ):  # fmt: skip
        model = hybrid(torch, name, **options)
        optimizer = torch.optim.Adam(model.parameters(), 0.05)
        train(torch, rank, model, optimizer)
        with fsdp.FullyShardedDataParallel.state_dict_type(
            model, kind, optim_state_dict_config=settings
        ):
            states = fsdp.FullyShardedDataParallel.optim_state_dict(model, optimizer)["state"]
        flat = [states[n][k].reshape(-1) for n in sorted(states) for k in sorted(states[n])]
        found.append(torch.cat(flat))
    return [(each - found[0]).abs().max().item() for each in found], found[0].numel()


def shard(torch, model, mesh):
    """A model whose linear layers, and the rest of it, are divided along rows of a mesh."""
    fully_shard = part(torch, "distributed.fsdp").fully_shard
    for layer in model:
        if isinstance(layer, torch.nn.Linear):
            fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


@case
def composable(torch, dist, rank, size):
    """`fully_shard` over a mesh of two dimensions."""
    model = shard(torch, network(torch), grid(torch))
    optimizer = torch.optim.AdamW(model.parameters(), 0.05)
    norms = []
    for step in range(3):
        optimizer.zero_grad()
        loss_of(model(batch(torch, step, rank))).backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.05)
        norms.append(float(norm.full_tensor() if hasattr(norm, "full_tensor") else norm))
        optimizer.step()
    first = next(model.parameters())
    return (
        norms, {name: p.full_tensor().detach() for name, p in model.named_parameters()},
        [str(each) for each in first.placements], tuple(first.to_local().shape),
        tuple(first.shape), first.device_mesh.ndim,
    )  # fmt: skip


@case
def distributed_along_one_dimension(torch, dist, rank, size):
    tensors, mesh = part(torch, "distributed.tensor"), grid(torch)
    Shard, Replicate = tensors.Shard, tensors.Replicate
    whole, found = torch.arange(15.0).reshape(5, 3) + rank, []
    for placements in ([Replicate(), Shard(0)], [Shard(1), Replicate()], [Replicate()] * 2):
        made = tensors.distribute_tensor(whole, mesh, placements)
        doubled = made * 2
        found.append((made.to_local(), doubled.full_tensor(), tuple(doubled.shape)))
    local = torch.ones(2, 3) * (rank + 1)
    made = tensors.DTensor.from_local(local, mesh, [Replicate(), Shard(0)])
    found.append((made.full_tensor() if rank < 2 else None, tuple(made.shape)))
    if rank >= 2:
        made.full_tensor()
    summands = tensors.DTensor.from_local(local, mesh, [tensors.Partial(), Replicate()])
    found.append(summands.full_tensor())
    return found


@case
def what_does_not_fit(torch, dist, rank, size):
    """The kinds of errors."""
    init = part(torch, "distributed.device_mesh").init_device_mesh
    wrap = part(torch, "distributed.fsdp.wrap")
    policy = wrap.ModuleWrapPolicy({torch.nn.Linear})
    given = [
        {"auto_wrap_policy": None},
        {"device_mesh": init("cpu", (4,))},
        {"process_group": 3},
        {"process_group": dist.group.WORLD, "device_mesh": grid(torch)},
    ]
    found = []
    for options in given:
        try:
            options = {"auto_wrap_policy": policy, **options}
            hybrid(torch, "HYBRID_SHARD", **options)
        except Exception as error:
            found.append(type(error).__name__)
    return found


@own
def one_process_with_the_whole_batch(torch, dist, rank, size):
    found = []
    mesh = grid(torch)
    for name, options in (("HYBRID_SHARD", {"device_mesh": mesh}), ("NO_SHARD", {})):
        model = network(torch)
        alone = copy.deepcopy(model)
        strategy = strategy_of(torch, name)
        both = wrapped(torch, model, sharding_strategy=strategy, **options), alone
        steps = [torch.optim.SGD(m.parameters(), 0.05, momentum=0.9) for m in both]
        for step in range(50):
            parts = [batch(torch, step, r) for r in range(size)]
            given = parts[rank], torch.cat(parts)
            for each, optimizer, x in zip(both, steps, given, strict=True):
                optimizer.zero_grad()
                loss_of(each(x)).backward()
                optimizer.step()
        whole = full(torch, both[0])
        found.append(max((whole[n] - p).abs().max().item() for n, p in alone.named_parameters()))
    return found


@own
def shares(torch, dist, rank, size):
    """How much of the parameters a rank holds, divided by two and not at all."""
    found = []
    for name, options in (("HYBRID_SHARD", {"device_mesh": grid(torch)}), ("NO_SHARD", {})):
        model = hybrid(torch, name, **options)
        local = sum(p.to_local().numel() for p in model.parameters())
        found.append(local / sum(p.numel() for p in model.parameters()))
    return found


@own
def checkpoints_go_to_another_layout(torch, dist, rank, size):
    """What a grid of ranks saves, ranks in one row load."""
    dcp = part(torch, "distributed.checkpoint")
    model = shard(torch, network(torch), grid(torch))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5)
    folder = [tempfile.mkdtemp()]
    dist.broadcast_object_list(folder, src=0)
    dcp.save({"model": model.state_dict()}, checkpoint_id=folder[0])
    init = part(torch, "distributed.device_mesh").init_device_mesh
    other = shard(torch, network(torch), init("cpu", (4,)))
    state = {"model": other.state_dict()}
    dcp.load(state, checkpoint_id=folder[0])
    other.load_state_dict(state["model"])
    pairs = zip(model.parameters(), other.parameters(), strict=True)
    return max((a.full_tensor() - b.full_tensor()).abs().max().item() for a, b in pairs)


@own
def rows_of_a_machine(torch, dist, rank, size):
    """Without groups the ranks of a machine divide, as the launcher says."""
    import os

    before = os.environ.get("LOCAL_WORLD_SIZE")
    os.environ["LOCAL_WORLD_SIZE"] = "2"
    try:
        model = hybrid(torch, "HYBRID_SHARD")
        os.environ["LOCAL_WORLD_SIZE"] = "3"
        try:
            hybrid(torch, "HYBRID_SHARD")
        except ValueError as error:
            said = str(error)
    finally:
        os.environ.pop("LOCAL_WORLD_SIZE")
        if before is not None:
            os.environ["LOCAL_WORLD_SIZE"] = before
    first = next(model.parameters())
    return first.device_mesh.mesh.tolist(), model.process_group.size(), said
