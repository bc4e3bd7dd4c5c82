"""Training with DistributedDataParallel and its kin; the same text runs under PyTorch and gloo."""

from __future__ import annotations

import copy
import importlib

CASES = {}
OURS = set()  # what gloo on the CPU has not
# Fifty steps of these take minutes on emulated GPUs; samplers draw on the CPU.
NOT_ON_GPUS = {
    f"whole_batch_{n}" for n in ("mlp", "convolution", "recurrent", "attention", "normalized")
}
NOT_ON_GPUS.add("samplers")


def fits(name, size):
    """Whether a job of so many ranks can run a case."""
    return size > 1


def case(function):
    """Note a case by its name."""
    CASES[function.__name__] = function
    return function


def part(torch, name):
    """A module of a framework by its path."""
    return importlib.import_module(f"{torch.__name__}.{name}")


def ddp(torch, module, **options):
    """The module in DistributedDataParallel."""
    return part(torch, "nn.parallel").DistributedDataParallel(module, **options)


def filled(torch, module, shift=0.0):
    """A module with the same parameters in every framework."""
    with torch.no_grad():
        for number, parameter in enumerate(module.parameters()):
            values = torch.arange(float(parameter.numel())) * 0.7 + number + shift
            parameter.copy_((values.sin() * 0.3).reshape(parameter.shape))
    return module


def mlp(torch):
    """A small network."""
    nn = torch.nn
    return filled(torch, nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)))


def batch(torch, step, rank, rows=4, columns=6):
    """The part of a batch that one rank has."""
    values = torch.arange(float(rows * columns)) + 31 * step + 1000 * rank
    return (values * 0.37).sin().reshape(rows, columns)


def loss_of(output):
    """A loss that is a mean over the batch."""
    return (output**2).mean()


def trained(torch, rank, model, steps=4, rate=0.1):
    """The parameters after some steps."""
    optimizer = torch.optim.SGD(model.parameters(), rate, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(model(batch(torch, step, rank))).backward()
        optimizer.step()
    return [parameter.detach() for parameter in model.parameters()]


@case
def plain(torch, dist, rank, size):
    model = filled(torch, mlp(torch), shift=float(rank))  # rank 0's are taken over
    return trained(torch, rank, ddp(torch, model))


@case
def small_buckets(torch, dist, rank, size):
    return trained(torch, rank, ddp(torch, mlp(torch), bucket_cap_mb=0.0001))


@case
def bucket_views(torch, dist, rank, size):
    model = ddp(torch, mlp(torch), gradient_as_bucket_view=True)
    return trained(torch, rank, model), [p.grad for p in model.parameters()]


@case
def gradients_are_averages(torch, dist, rank, size):
    model = ddp(torch, mlp(torch))
    loss_of(model(batch(torch, 0, rank))).backward()
    first = [p.grad.clone() for p in model.parameters()]
    loss_of(model(batch(torch, 1, rank))).backward()  # added to the first
    return first, [p.grad for p in model.parameters()]


@case
def no_sync(torch, dist, rank, size):
    model = ddp(torch, mlp(torch))
    with model.no_sync():
        loss_of(model(batch(torch, 0, rank))).backward()
        own = [p.grad.clone() for p in model.parameters()]
    loss_of(model(batch(torch, 1, rank))).backward()
    return own, [p.grad for p in model.parameters()]


def branches(torch):
    """A network with a branch for each rank, and one for none."""
    nn = torch.nn

    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(6, 4)
            self.branches = nn.ModuleList([nn.Linear(4, 2) for _ in range(3)])

        def forward(self, x, which):
            return self.branches[which](self.first(x))

    return filled(torch, Branches())


@case
def unused_parameters(torch, dist, rank, size):
    model = ddp(torch, branches(torch), find_unused_parameters=True)
    found = []
    for step in range(2):
        model.zero_grad()
        loss_of(model(batch(torch, step, rank), rank % 2)).backward()
        found.append([None if p.grad is None else p.grad.clone() for p in model.parameters()])
    return found


@case
def unused_parameters_without_being_asked(torch, dist, rank, size):
    model = ddp(torch, branches(torch))
    loss_of(model(batch(torch, 0, rank), 0)).backward()
    try:
        model(batch(torch, 1, rank), 0)
    except RuntimeError as error:
        text = str(error)
        return "finished reduction in the prior iteration" in text, "find_unused" in text
    return None


@case
def static_graph(torch, dist, rank, size):
    checkpoint = part(torch, "utils.checkpoint").checkpoint

    class Repeated(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(6, 6)
            self.unused = torch.nn.Linear(2, 2)

        def forward(self, x):
            x = x.requires_grad_()
            for _ in range(2):
                x = checkpoint(self.layer, x, use_reentrant=True).tanh()
            return x

    model = ddp(torch, filled(torch, Repeated()), static_graph=True)
    found = []
    for step in range(3):
        model.zero_grad()
        loss_of(model(batch(torch, step, rank))).backward()
        found.append([None if p.grad is None else p.grad.clone() for p in model.parameters()])
    return found


@case
def buffers(torch, dist, rank, size):
    nn = torch.nn
    model = filled(torch, nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)))
    model = ddp(torch, model)
    for step in range(3):
        loss_of(model(batch(torch, step, rank))).backward()
    before = [b.clone() for b in model.buffers()]
    model(batch(torch, 9, rank))
    return before, list(model.buffers())


@case
def state_dict(torch, dist, rank, size):
    model = ddp(torch, mlp(torch))
    other = ddp(torch, mlp(torch))
    other.load_state_dict(model.state_dict())
    names = list(model.state_dict())
    return names, model.training, other.eval().training


def hooked(hook_of, tolerance=None):
    """The case of one communication hook."""

    def run(torch, dist, rank, size):
        model = ddp(torch, mlp(torch))
        hooks = part(torch, "distributed.algorithms.ddp_comm_hooks.default_hooks")
        model.register_comm_hook(None, hook_of(torch, hooks))
        return trained(torch, rank, model, steps=2)

    return run


CASES["hook_allreduce"] = hooked(lambda torch, hooks: hooks.allreduce_hook)
CASES["hook_fp16"] = hooked(lambda torch, hooks: hooks.fp16_compress_hook)
CASES["hook_bf16"] = hooked(lambda torch, hooks: hooks.bf16_compress_hook)
OURS.add("hook_bf16")
CASES["hook_wrapped"] = hooked(
    lambda torch, hooks: hooks.fp16_compress_wrapper(hooks.allreduce_hook)
)


@case
def hook_of_ones_own(torch, dist, rank, size):
    seen = []

    def hook(state, bucket):
        seen.append((state, bucket.index(), bucket.is_last(), len(bucket.gradients())))
        work = dist.all_reduce(bucket.buffer(), async_op=True)
        return work.get_future().then(lambda done: done.value()[0] / size)

    model = ddp(torch, mlp(torch))
    model.register_comm_hook("state", hook)
    return trained(torch, rank, model, steps=2), seen


@case
def hook_without_communication(torch, dist, rank, size):
    model = ddp(torch, mlp(torch))
    hooks = part(torch, "distributed.algorithms.ddp_comm_hooks.debugging_hooks")
    model.register_comm_hook(None, hooks.noop_hook)
    loss_of(model(batch(torch, 0, rank))).backward()
    return [p.grad for p in model.parameters()]


@case
def uneven_batches(torch, dist, rank, size):
    found = []
    for by_all in (True, False):
        model = ddp(torch, mlp(torch))
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        with model.join(divide_by_initial_world_size=by_all):
            for step in range(2 + rank):
                optimizer.zero_grad()
                loss_of(model(batch(torch, step, rank))).backward()
                optimizer.step()
        found.append([p.detach() for p in model.parameters()])
    return found


@case
def uneven_batches_end_early(torch, dist, rank, size):
    model = ddp(torch, mlp(torch))
    try:
        with model.join(throw_on_early_termination=True):
            for step in range(2 + rank):
                loss_of(model(batch(torch, step, rank))).backward()
    except RuntimeError as error:
        return str(error)
    return None


@case
def zero_redundancy(torch, dist, rank, size):
    Zero = part(torch, "distributed.optim").ZeroRedundancyOptimizer
    model = ddp(torch, mlp(torch))
    optimizer = Zero(model.parameters(), optimizer_class=torch.optim.Adam, lr=0.01)
    for step in range(4):
        optimizer.zero_grad()
        loss_of(model(batch(torch, step, rank))).backward()
        optimizer.step()
    own = sorted(p.numel() for p in optimizer.optim.state)
    optimizer.consolidate_state_dict(to=0)
    state = None
    if rank == 0:
        saved = copy.deepcopy(optimizer.state_dict())
        state = {
            str(number): {name: value for name, value in each.items() if name != "step"}
            for number, each in saved["state"].items()
        }
    whole = [optimizer.state_dict() if rank == 0 else None]
    dist.broadcast_object_list(whole, src=0)
    other = Zero(model.parameters(), optimizer_class=torch.optim.Adam, lr=0.5)
    other.load_state_dict(whole[0])
    other.zero_grad()
    loss_of(model(batch(torch, 9, rank))).backward()
    other.step()
    return own, state, other.param_groups[0]["lr"], [p.detach() for p in model.parameters()]


@case
def different_models(torch, dist, rank, size):
    if torch.__name__ == "torch":
        return "RuntimeError"  # so it is, and gloo's next barrier fails
    try:
        ddp(torch, torch.nn.Linear(2 + rank, 1))
    except RuntimeError as error:
        return type(error).__name__
    return None


@case
def no_parameters(torch, dist, rank, size):
    try:
        ddp(torch, torch.nn.ReLU())
    except RuntimeError as error:
        return str(error)
    return None


@case
def samplers(torch, dist, rank, size):
    Sampler = part(torch, "utils.data.distributed").DistributedSampler
    rows = torch.arange(11)
    found = []
    for options in ({}, {"drop_last": True}, {"shuffle": False}):
        sampler = Sampler(rows, **options)
        sampler.set_epoch(3)
        found.append((len(sampler), sorted(sampler) if options else len(list(sampler))))
    return found


def models(torch):
    """Networks with an input of four rows for a rank, by name."""
    nn = torch.nn

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.cells, self.last = nn.LSTM(3, 5, batch_first=True), nn.Linear(5, 2)

        def forward(self, x):
            return self.last(self.cells(x.reshape(4, -1, 3)[:, :2])[0][:, -1])

    class Attending(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(7, 8)
            self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
            self.last = nn.Linear(8, 7)

        def forward(self, x):
            return self.last(self.layer(self.words((x * 100).abs().long() % 7)))

    return {
        "mlp": mlp(torch),
        "convolution": nn.Sequential(
            nn.Unflatten(1, (1, 2, 3)), nn.Conv2d(1, 4, 2), nn.Tanh(), nn.Flatten(),
            nn.Linear(8, 2),
        ),
        "recurrent": Recurrent(),
        "attention": Attending(),
        "normalized": nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 2)),
        "synchronized": nn.Sequential(nn.Linear(6, 8), nn.SyncBatchNorm(8), nn.Linear(8, 2)),
    }  # fmt: skip


def whole_batch(name):
    """The case that training by all ranks is that of one process with the whole batch."""

    def run(torch, dist, rank, size):
        model = filled(torch, models(torch)[name])
        alone = copy.deepcopy(model)
        if name == "synchronized":
            alone = torch.nn.Sequential(alone[0], torch.nn.BatchNorm1d(8), alone[2])
            filled(torch, alone)
        both = [ddp(torch, model), alone]
        optimizers = [torch.optim.SGD(m.parameters(), 0.05, momentum=0.9) for m in both]
        for step in range(50):
            parts = [batch(torch, step, r) for r in range(size)]
            inputs = parts[rank], torch.cat(parts)
            for each, optimizer, x in zip(both, optimizers, inputs, strict=True):
                optimizer.zero_grad()
                outputs = (
                    torch.cat([each(p) for p in parts])
                    if name == "recurrent" and each is alone
                    else each(x)
                )
                loss_of(outputs).backward()
                optimizer.step()
        ours = [*model.parameters(), *model.buffers()]
        theirs = [*alone.parameters(), *alone.buffers()]
        pairs = zip(ours, theirs, strict=True)
        return max((a - b).abs().max().item() for a, b in pairs)

    return run


for _name in ("mlp", "convolution", "recurrent", "attention", "normalized", "synchronized"):
    CASES["whole_batch_" + _name] = whole_batch(_name)
    OURS.add("whole_batch_" + _name)
