"""FullyShardedDataParallel; the same text runs under PyTorch with gloo."""

from __future__ import annotations

import copy
import functools
import importlib.util
from pathlib import Path

CASES = {}
OURS = set()

_spec = importlib.util.spec_from_file_location(
    "fsdp_cases", Path(__file__).with_name("fsdp_cases.py")
)
base = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(base)
fits, part, batch, loss_of, network = (
    base.fits, base.part, base.batch, base.loss_of, base.network
)  # fmt: skip


def case(function):
    """Note a case by its name."""
    CASES[function.__name__] = function
    return function


def own(function):
    """Note a case that is not compared with PyTorch."""
    OURS.add(function.__name__)
    return case(function)


def wrapped(torch, model, **options):
    """The model, its linear layers units of their own."""
    fsdp, wrap = part(torch, "distributed.fsdp"), part(torch, "distributed.fsdp.wrap")
    options.setdefault("auto_wrap_policy", wrap.ModuleWrapPolicy({torch.nn.Linear}))
    options.setdefault("device_id", torch.device("cpu"))
    return fsdp.FullyShardedDataParallel(model, use_orig_params=True, **options)


def full(torch, model):
    """The whole state dict."""
    fsdp = part(torch, "distributed.fsdp")
    kind = fsdp.StateDictType.FULL_STATE_DICT
    with fsdp.FullyShardedDataParallel.state_dict_type(model, kind):
        return {key: value.detach().clone() for key, value in model.state_dict().items()}


def train(torch, rank, model, optimizer, steps=3, clip=None, start=0):
    """Norms of the gradients of some steps."""
    norms = []
    for step in range(start, start + steps):
        optimizer.zero_grad()
        loss_of(model(batch(torch, step, rank))).backward()
        if clip is not None:
            norms.append(float(model.clip_grad_norm_(clip)))
        optimizer.step()
    return norms


def trained(torch, rank, model, **options):
    """The whole state dict after some steps."""
    norms = train(torch, rank, model, torch.optim.AdamW(model.parameters(), 0.05), **options)
    return full(torch, model), norms


@case
def plain(torch, dist, rank, size):
    return trained(torch, rank, wrapped(torch, network(torch)))


@case
def one_unit(torch, dist, rank, size):
    return trained(torch, rank, wrapped(torch, network(torch), auto_wrap_policy=None))


@case
def gradients_alone(torch, dist, rank, size):
    strategy = part(torch, "distributed.fsdp").ShardingStrategy.SHARD_GRAD_OP
    return trained(torch, rank, wrapped(torch, network(torch), sharding_strategy=strategy))


@case
def clipped(torch, dist, rank, size):
    return trained(torch, rank, wrapped(torch, network(torch)), clip=0.05)


@case
def names(torch, dist, rank, size):
    model = wrapped(torch, network(torch))
    fsdp = part(torch, "distributed.fsdp").FullyShardedDataParallel
    return (
        [name for name, _ in model.named_parameters()], list(full(torch, model)),
        len(fsdp.fsdp_modules(model)), len(fsdp.fsdp_modules(model, root_only=True)),
        type(model.module).__name__, type(model.module[0]).__name__,
        fsdp.get_state_dict_type(model).state_dict_type.name,
    )  # fmt: skip


def by_size(torch, minimum):
    wrap = part(torch, "distributed.fsdp.wrap")
    return functools.partial(wrap.size_based_auto_wrap_policy, min_num_params=minimum)


@case
def policies(torch, dist, rank, size):
    """How many units each policy makes."""
    wrap = part(torch, "distributed.fsdp.wrap")
    nn, fsdp = torch.nn, part(torch, "distributed.fsdp").FullyShardedDataParallel
    chosen = [
        wrap.ModuleWrapPolicy({nn.Linear, nn.LayerNorm}), by_size(torch, 50), by_size(torch, 20),
        wrap.CustomPolicy(lambda m: isinstance(m, nn.Linear) and m.in_features == 9),
        wrap.CustomPolicy(lambda m: {"limit_all_gathers": False} if m.__class__ is nn.LayerNorm
                          else False),
        wrap.always_wrap_policy,
        functools.partial(wrap.lambda_auto_wrap_policy, lambda_fn=lambda m: type(m) is nn.Linear),
        functools.partial(wrap.transformer_auto_wrap_policy, transformer_layer_cls={nn.LayerNorm}),
        functools.partial(wrap._or_policy, policies=[by_size(torch, 50), wrap.ModuleWrapPolicy(
            {nn.LayerNorm})]),
    ]  # fmt: skip
    found = []
    for policy in chosen:
        model = nn.Sequential(network(torch), nn.Linear(3, 2))
        model = wrapped(torch, model, auto_wrap_policy=policy)
        names = [name for name, m in model.named_modules() if isinstance(m, fsdp)]
        found.append([name.replace("_fsdp_wrapped_module", "") for name in names])
    return found


@case
def wrapped_by_hand(torch, dist, rank, size):
    fsdp, wrap = part(torch, "distributed.fsdp"), part(torch, "distributed.fsdp.wrap")
    kind, model = fsdp.FullyShardedDataParallel, network(torch)
    with wrap.enable_wrap(wrapper_cls=kind, use_orig_params=True, device_id=torch.device("cpu")):
        model[0] = wrap.wrap(model[0])
        model[3] = wrap.wrap(model[3], mixed_precision=None)
    assert wrap.wrap(model) is model
    return trained(torch, rank, wrapped(torch, model, auto_wrap_policy=None))


@own
def rank_0_first(torch, dist, rank, size):
    """`sync_module_states` takes rank 0's values, which PyTorch refuses on the CPU."""
    model = network(torch)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(rank)
    return full(torch, wrapped(torch, model, sync_module_states=True))


@case
def made_on_meta(torch, dist, rank, size):
    with torch.device("meta"):
        model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Linear(5, 3))

    def init(module):
        module.to_empty(device="cpu", recurse=False)
        with torch.no_grad():
            for parameter in module.parameters(recurse=False):
                parameter.fill_(0.25)

    return trained(torch, rank, wrapped(torch, model, param_init_fn=init))


@case
def whole_parameters(torch, dist, rank, size):
    fsdp = part(torch, "distributed.fsdp").FullyShardedDataParallel
    model = wrapped(torch, network(torch))
    loss_of(model(batch(torch, 0, rank))).backward()
    found = []
    with fsdp.summon_full_params(model, with_grads=True):
        found += [(p.detach().clone(), p.grad.clone()) for p in model.parameters()]
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(2)
    with fsdp.summon_full_params(model, writeback=False), torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    model.apply(lambda m: m.bias.data.add_(1) if type(m) is torch.nn.LayerNorm else None)
    return found, full(torch, model)


@case
def not_synchronized(torch, dist, rank, size):
    model = wrapped(torch, network(torch))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with model.no_sync():
        loss_of(model(batch(torch, 0, rank))).backward()
    loss_of(model(batch(torch, 1, rank))).backward()
    optimizer.step()
    return full(torch, model)


@case
def loaded(torch, dist, rank, size):
    """Whole and divided state dicts are loaded again."""
    fsdp = part(torch, "distributed.fsdp")
    kind, types = fsdp.FullyShardedDataParallel, fsdp.StateDictType
    model = wrapped(torch, network(torch))
    train(torch, rank, model, torch.optim.SGD(model.parameters(), 0.1))
    found = []
    for each in (types.FULL_STATE_DICT, types.SHARDED_STATE_DICT):
        other = wrapped(torch, network(torch))
        with kind.state_dict_type(model, each), kind.state_dict_type(other, each):
            other.load_state_dict(model.state_dict())
        found.append(full(torch, other))
    alone = network(torch)
    alone.load_state_dict(found[0])
    return found, list(alone.parameters())


def flat(torch, model):
    """This rank's parts of the flat parameters, their whole lengths, and buffers."""
    fsdp = part(torch, "distributed.fsdp")
    kind, types = fsdp.FullyShardedDataParallel, fsdp.StateDictType
    with kind.state_dict_type(model, types.LOCAL_STATE_DICT):
        found = model.state_dict()

    def shown(value):
        if hasattr(value, "local_shards"):  # PyTorch's
            return list(value.shape), [s.tensor.detach().clone() for s in value.local_shards()]
        if hasattr(value, "to_local"):
            return list(value.shape), [v for v in [value.to_local()] if v.numel()]
        return value.clone()

    return found, {key: shown(value) for key, value in sorted(found.items())}


@case
def flat_parameters(torch, dist, rank, size):
    """LOCAL_STATE_DICT: units with parameters, without, and with more ranks than numbers."""
    nn, fsdp = torch.nn, part(torch, "distributed.fsdp")
    kind, types = fsdp.FullyShardedDataParallel, fsdp.StateDictType
    inner = [nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Linear(5, 1, bias=False), nn.LayerNorm(1)]
    found = []
    for units in ({nn.Linear}, {nn.Linear, nn.LayerNorm}, {nn.Sequential}):
        policy = part(torch, "distributed.fsdp.wrap").ModuleWrapPolicy(units)
        ends = []
        for _ in range(2):
            model = base.filled(torch, nn.Sequential(*copy.deepcopy(inner)))
            ends.append(kind(model, auto_wrap_policy=policy, device_id=torch.device("cpu")))
        model, other = ends
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(2)
        state, first = flat(torch, model)
        with kind.state_dict_type(other, types.LOCAL_STATE_DICT):
            other.load_state_dict(state)
        found += [first, flat(torch, other)[1], full(torch, other)]
    return found


@own
def optimizers_states(torch, dist, rank, size):
    """Those of one process; in PyTorch 2.13 `exp_avg` is `exp_avg_sq` on the CPU."""
    fsdp = part(torch, "distributed.fsdp")
    kind, key = fsdp.FullyShardedDataParallel, fsdp.OptimStateKeyType
    model, alone = wrapped(torch, network(torch)), network(torch)
    optimizer = torch.optim.AdamW(model.parameters(), 0.05)
    train(torch, rank, model, optimizer)
    single = torch.optim.AdamW(alone.parameters(), 0.05)
    for step in range(3):
        single.zero_grad()
        loss_of(alone(torch.cat([batch(torch, step, r) for r in range(size)]))).backward()
        single.step()
    whole = kind.full_optim_state_dict(model, optimizer, rank0_only=False)
    gaps = [
        (whole["state"][name][part] - single.state[parameter][part]).abs().max().item()
        for name, parameter in alone.named_parameters()
        for part in ("exp_avg", "exp_avg_sq", "step")
    ]
    numbers = kind.rekey_optim_state_dict(whole, key.PARAM_ID, model, optim=optimizer)
    names = kind.rekey_optim_state_dict(numbers, key.PARAM_NAME, model, optim=optimizer)
    parts = kind.sharded_optim_state_dict(model, optimizer)
    ends = []
    for given in (whole, parts):
        other = wrapped(torch, network(torch))
        other.load_state_dict(full(torch, model))
        another = torch.optim.AdamW(other.parameters(), 0.5)
        kind.optim_state_dict_to_load(other, another, copy.deepcopy(given), load_directly=True)
        train(torch, rank, other, another, start=3)
        ends.append(full(torch, other))
    train(torch, rank, model, optimizer, start=3)
    last = full(torch, model)
    return (
        max(gaps), sorted(numbers["state"]), sorted(names["state"]) == sorted(whole["state"]),
        [max((end[name] - last[name]).abs().max().item() for name in last) for end in ends],
        numbers["param_groups"][0]["params"], names["param_groups"] == whole["param_groups"],
    )  # fmt: skip


@case
def mixed(torch, dist, rank, size):
    fsdp = part(torch, "distributed.fsdp")
    precision = fsdp.MixedPrecision(
        param_dtype=torch.bfloat16, reduce_dtype=torch.float32, buffer_dtype=torch.bfloat16
    )
    model = wrapped(torch, network(torch), mixed_precision=precision)
    output = model(batch(torch, 0, rank))
    loss_of(output).backward()
    dtypes = {str(p.dtype).rpartition(".")[2] for p in model.parameters()}
    with fsdp.FullyShardedDataParallel.summon_full_params(model, with_grads=True):
        grads = [(p.grad.float() * 32).round() for p in model.parameters()]
    return str(output.dtype).rpartition(".")[2], sorted(dtypes), grads[-1]


@case
def batch_norm_keeps_its_precision(torch, dist, rank, size):
    fsdp, wrap = part(torch, "distributed.fsdp"), part(torch, "distributed.fsdp.wrap")
    nn = torch.nn
    model = base.filled(torch, nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)))
    seen = []
    model[1].register_forward_hook(lambda m, args, out: seen.append(str(m.weight.dtype)[-7:]))
    precision = fsdp.MixedPrecision(param_dtype=torch.bfloat16)
    policy = wrap.ModuleWrapPolicy({nn.Linear})
    model = wrapped(torch, model, mixed_precision=precision, auto_wrap_policy=policy)
    output = model(batch(torch, 0, rank))
    return seen, str(output.dtype).rpartition(".")[2], (output.float() * 8).round()


@case
def scaled(torch, dist, rank, size):
    """All ranks skip a step where one has an infinite gradient."""
    scaler = part(torch, "distributed.fsdp.sharded_grad_scaler").ShardedGradScaler(
        device="cpu", init_scale=4.0, growth_interval=2
    )
    model = wrapped(torch, network(torch))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    found = []
    for step in range(4):
        optimizer.zero_grad()
        loss = loss_of(model(batch(torch, step, rank)))
        if step == 1 and rank == 0:
            loss = loss * float("inf")
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        found.append(scaler.get_scale())
    return found, full(torch, model)


@case
def recomputed(torch, dist, rank, size):
    helpers = part(torch, "distributed.algorithms._checkpoint.checkpoint_wrapper")
    model = network(torch)
    helpers.apply_activation_checkpointing(model, check_fn=lambda m: isinstance(m, torch.nn.Linear))
    kinds = [type(m).__name__ for m in model]
    model = wrapped(torch, model)
    return kinds, [name for name, _ in model.named_parameters()], trained(torch, rank, model)


@case
def through_helpers(torch, dist, rank, size):
    """State dicts of `distributed.checkpoint` have the same names."""
    helpers = part(torch, "distributed.checkpoint.state_dict")
    model = wrapped(torch, network(torch))
    optimizer = torch.optim.AdamW(model.parameters(), 0.05)
    train(torch, rank, model, optimizer)
    options = helpers.StateDictOptions(full_state_dict=True)
    of_model, of_optimizer = helpers.get_state_dict(model, optimizer, options=options)
    frozen = network(torch)
    frozen[0].requires_grad_(False)
    frozen = wrapped(torch, frozen)
    options = helpers.StateDictOptions(full_state_dict=True, ignore_frozen_params=True)
    trainable = sorted(helpers.get_model_state_dict(frozen, options=options))
    return dict(of_model), sorted(of_optimizer["state"]), trainable


@own
def one_process_with_the_whole_batch(torch, dist, rank, size):
    found = []
    for make in (network, deep, convolutions):
        model = make(torch)
        alone = copy.deepcopy(model)
        both = wrapped(torch, model), alone
        optimizers = [torch.optim.SGD(m.parameters(), 0.05, momentum=0.9) for m in both]
        for step in range(50):
            parts = [batch(torch, step, r) for r in range(size)]
            given = parts[rank], torch.cat(parts)
            for each, optimizer, x in zip(both, optimizers, given, strict=True):
                optimizer.zero_grad()
                loss_of(each(x)).backward()
                optimizer.step()
        whole = full(torch, both[0])
        found.append(max((whole[n] - p).abs().max().item() for n, p in alone.named_parameters()))
    return found


def deep(torch):
    """Residual blocks."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.inner = nn.LayerNorm(6), nn.Linear(6, 7)
            self.outer = nn.Linear(7, 6)

        def forward(self, x):
            return x + self.outer(torch.tanh(self.inner(self.norm(x))))

    return base.filled(torch, nn.Sequential(Block(), Block(), nn.Linear(6, 2)))


def convolutions(torch):
    """Kernels of one dimension, and shared units."""
    nn = torch.nn
    layers = nn.Unflatten(1, (2, 3)), nn.Conv1d(2, 5, 2), nn.ReLU(), nn.Flatten(), nn.Linear(10, 3)
    return base.filled(torch, nn.Sequential(*layers))


@own
def on_one_rank(torch, dist, rank, size):
    """`rank0_only`, which ends PyTorch 2.13's process by a segmentation fault on the CPU."""
    fsdp = part(torch, "distributed.fsdp")
    kind, types = fsdp.FullyShardedDataParallel, fsdp.StateDictType
    model = wrapped(torch, network(torch))
    optimizer = torch.optim.AdamW(model.parameters(), 0.05)
    train(torch, rank, model, optimizer)
    configs = (
        fsdp.FullStateDictConfig(offload_to_cpu=True, rank0_only=True),
        fsdp.FullOptimStateDictConfig(rank0_only=True),
    )
    with kind.state_dict_type(model, types.FULL_STATE_DICT, *configs):
        found = [sorted(model.state_dict()), sorted(kind.optim_state_dict(model, optimizer))]
    whole = kind.full_optim_state_dict(model, optimizer)
    other = wrapped(torch, network(torch))
    other.load_state_dict(full(torch, model))
    another = torch.optim.AdamW(other.parameters(), 0.5)
    given = whole if rank == 0 else None
    another.load_state_dict(kind.scatter_full_optim_state_dict(given, other, optim=another))
    for each, one in ((model, optimizer), (other, another)):
        train(torch, rank, each, one, start=3)
    a, b = full(torch, model), full(torch, other)
    return found, max((a[key] - b[key]).abs().max().item() for key in a)


@own
def memory(torch, dist, rank, size):
    """The bytes that stay on a rank, as a part of one process's."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 64), nn.Linear(64, 8))
    whole = sum(p.numel() * 4 for p in model.parameters())
    model = wrapped(torch, model)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    loss_of(model(torch.ones(2, 64))).backward()
    optimizer.step()
    units = type(model).fsdp_modules(model)
    parameters = [each for unit in units for each in unit._sharded.parameters]
    shards = sum(each.padded.nbytes for each in parameters)
    left = sum(each.whole._array.nbytes for each in parameters)
    states = sum(v.to_local().numel() * 4 for s in optimizer.state.values()
                 for v in s.values() if hasattr(v, "to_local"))  # fmt: skip
    grads = sum(p.grad.to_local().numel() * 4 for p in model.parameters())
    return left, shards / whole, (shards + states + grads) / (4 * whole)
