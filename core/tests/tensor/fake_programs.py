"""Programs on tensors that pretend to have elements: ``PROGRAMS[name](library, mode)``."""

from __future__ import annotations

import copy

import numpy as np


def factories(p, mode):
    with mode:
        return [
            p.zeros(2), p.empty(3, device="cuda"), p.randn(2, 2), p.arange(5), p.full((2,), 1.0),
            p.eye(3), p.linspace(0, 1, 4), p.rand(2, device="cuda:1"), p.randint(0, 3, (2,)),
            p.randperm(4), p.tensor([1.0, 2.0]), p.tensor(3, device="cuda"),
            p.ones(2, device="meta"), p.from_numpy(np.ones(3)),
        ]  # fmt: skip


def after_the_mode(p, mode):
    with mode:
        x, y = p.ones(2, 3), p.ones(2, device="cuda")
    return [x + 1, x.sum(), x[0], p.cat([x, x]), x.double(), y * 2]


def training(p, mode):
    nn = p.nn
    with mode:
        net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten())
        net.append(nn.Linear(288, 5))
        optimizer = p.optim.Adam(net.parameters())
        for _ in range(2):
            optimizer.zero_grad()
            wanted = p.zeros(2, dtype=p.long)
            loss = nn.functional.cross_entropy(net(p.randn(2, 3, 8, 8)), wanted)
            loss.backward()
            optimizer.step()
        return [loss, *[tuple(q.grad.shape) for q in net.parameters()], *net.buffers()]


def _one_step(make):
    def program(p, mode):
        with mode:
            layer = p.nn.Linear(3, 4)
            optimizer = make(p, layer.parameters())
            layer(p.ones(2, 3)).sum().backward()
            optimizer.step()
            return tuple(layer.weight.grad.shape), layer.weight.grad.dtype == p.float32

    return program


def from_tensors(p, mode):
    x = p.ones(2, 3).t()
    fake = mode.from_tensor(x)
    parameter = mode.from_tensor(p.nn.Parameter(p.ones(2)))
    return [fake, fake is mode.from_tensor(x), fake + 1, parameter]


def real_tensors(p, mode):
    with mode:
        return mode.from_tensor(REAL[p.__name__]) + REAL[p.__name__]


def real_tensors_later(p, mode):
    return mode.from_tensor(REAL[p.__name__]) + REAL[p.__name__]


def asked(make):
    def program(p, mode):
        with mode:
            return make(p)

    return program


def writes_to_known(p, mode):
    with mode:
        x = p.tensor(3.0)
        view = x.view(1)
        view.add_(1)
        return [x.item(), view.item()]


def forgotten(p, mode):
    with mode:
        x = p.tensor(3.0)
        x.add_(p.ones(1).sum())
        return x.item()


def masked_write(p, mode):
    with mode:
        x = p.ones(3)
        x[x > 0] = 2
        return x


def copied(p, mode):
    with mode:
        layer = p.nn.Linear(2, 2)
    found = copy.deepcopy(layer)
    return [found.weight, found.weight is layer.weight]


def changed_shapes(p, mode):
    with mode:
        x, y = p.ones(2, 3), p.ones(1, 2)
        x.t_()
        y.squeeze_()
        return [x, y, x + 1]


def in_place(p, mode):
    with mode:
        x = p.ones(2, 3)
        return [x.add_(1) is x, x.mul_(2), x.zero_(), x.fill_(2.0), x.copy_(p.zeros(3))]


def out(p, mode):
    with mode:
        x = p.empty(2, 3)
        return [p.add(p.ones(2, 3), 1, out=x) is x, x]


def views(p, mode):
    with mode:
        x = p.ones(2, 3, 4)
        return [
            x.transpose(0, 1), x[:, 1], x.reshape(6, 4), x.permute(2, 0, 1), x.expand(2, 3, 4),
            x.unsqueeze(0), x.view(-1), *x.chunk(2, 1),
        ]  # fmt: skip


def loaded(p, mode):
    with mode:
        layer = p.nn.Linear(2, 3)
        layer.load_state_dict(p.nn.Linear(2, 3).state_dict())
        return layer.weight


def numbers(p, mode):
    with mode:
        x = p.ones(3, dtype=p.int32)
        return [
            x / 2, x + 1.5, x > 1, x.float().mean(), x.any(), p.where(x > 1, x, 0),
            x.new_zeros(2), p.zeros_like(x), p.ones_like(x, dtype=p.float),
            p.ones(2, device="cuda") + p.tensor(2.0), p.tensor(2.0) * p.ones(2, device="cuda"),
        ]  # fmt: skip


def gradients(p, mode):
    with mode:
        x = p.ones(3, requires_grad=True)
        return [*p.autograd.grad((x**2).sum(), x), p.func.vmap(lambda a: a.sum())(p.ones(3, 4))]


REAL: dict = {}  # name of a library -> a tensor with elements
PROGRAMS = {
    "factories": factories, "after the mode": after_the_mode, "training": training,
    "AdamW one by one": _one_step(lambda p, q: p.optim.AdamW(q, foreach=False)),
    "momentum": _one_step(lambda p, q: p.optim.SGD(q, lr=0.1, momentum=0.9)),
    "from_tensor": from_tensors, "real tensors": real_tensors,
    "real tensors later": real_tensors_later,
    "item": asked(lambda p: p.ones(2).sum().item()), "bool": asked(lambda p: bool(p.ones(1))),
    "known": asked(lambda p: [p.tensor(3.0).item(), (p.tensor(3.0) + 1).item(),
                              bool(p.tensor(3) > 2), int(p.tensor(2) * 3)]),
    "writes to known": writes_to_known, "forgotten": forgotten,
    "nonzero": asked(lambda p: p.ones(3).nonzero()), "unique": asked(lambda p: p.ones(3).unique()),
    "a mask": asked(lambda p: p.ones(3)[p.ones(3) > 0]), "masked write": masked_write,
    "numpy": asked(lambda p: p.ones(2).numpy()), "tolist": asked(lambda p: p.ones(2).tolist()),
    "deepcopy": copied, "two devices": asked(lambda p: p.ones(2, device="cuda") + p.ones(2)),
    "views": views, "changed shapes": changed_shapes, "in place": in_place, "out": out,
    "lstm": asked(lambda p: [*p.nn.LSTM(3, 4)(p.ones(5, 2, 3))[1]]),
    "transformer": asked(
        lambda p: p.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)(p.ones(2, 5, 8))),
    "embedding": asked(lambda p: p.nn.Embedding(10, 4)(p.zeros(2, 3, dtype=p.long))),
    "matrices": asked(lambda p: [p.linalg.inv(p.ones(3, 3)), p.linalg.eigh(p.ones(3, 3))[0],
                                 p.ones(3, 3) @ p.ones(3, 3), p.svd(p.ones(3, 3))[1],
                                 p.einsum("ij,jk->ik", p.ones(2, 3), p.ones(3, 4))]),
    "fourier": asked(lambda p: p.fft.rfft(p.ones(2, 8))),
    "sorting": asked(lambda p: [*p.ones(4, 5).sort(), *p.ones(4, 5).topk(2), p.ones(4).argmax(0),
                                *p.ones(4, 5).max(0), p.ones(4, 5).cumsum(0)]),
    "draws": asked(lambda p: [p.nn.Dropout()(p.ones(2)), p.bernoulli(p.ones(2)),
                              p.multinomial(p.ones(3), 2)]),
    "attention": asked(lambda p: p.nn.functional.scaled_dot_product_attention(
        *[p.ones(1, 2, 5, 8)] * 3)),
    "loading": loaded, "numbers": numbers, "gradients": gradients,
    "repr": asked(lambda p: [repr(p.ones(2, 3)), repr(p.ones(2, device="cuda", dtype=p.half)),
                             repr(p.ones(2, requires_grad=True) * 2)]),
}  # fmt: skip


def shown(value):
    """What is compared of a result."""
    if hasattr(value, "storage_offset"):
        dtype = str(value.dtype).rpartition(".")[2]
        grads = value.requires_grad, value.grad_fn is not None
        return [tuple(value.shape), value.stride(), dtype, str(value.device), *grads]
    if isinstance(value, list | tuple):
        return [shown(each) for each in value]
    return value.replace("torch.", "rushlight.") if isinstance(value, str) else value


def run(library, mode, program):
    """What is compared of a program, or the class of its error."""
    REAL[library.__name__] = library.ones(2)
    try:
        return shown(program(library, mode))
    except Exception as error:
        return type(error).__name__
