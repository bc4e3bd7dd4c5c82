"""The operations that programs use most: in `vmap` none runs once for each example, and results,
gradients and tangents are a loop's."""

import warnings

import numpy as np
import pytest

import rushlight
import rushlight as rl
from rushlight.func import fallback_counts, jvp, vjp, vmap

F = rushlight.nn.functional
INDEX = rl.tensor([[0, 2, 1, 3], [3, 1, 0, 2], [1, 3, 2, 0]])
KERNEL = rl.linspace(-1, 1, 9, dtype=rl.float64).reshape(1, 1, 3, 3)


def written(change):
    """A program that changes a copy in place."""

    def run(x):
        y = x.clone() * 1
        change(y, x)
        return y

    return run


# Each takes a matrix (3, 4) of positive and negative numbers.
PROGRAMS = {
    "to": lambda x: x.to(rl.float32),
    "view": lambda x: x.view(4, 3),
    "cat": lambda x: rl.cat([x, x * 2], 1),
    "sum": lambda x: (x.sum(), x.sum(0), x.sum((0, 1), keepdim=True)),
    "unsqueeze": lambda x: x.unsqueeze(1).unsqueeze(-1),
    "mean": lambda x: (x.mean(), x.mean(-1, keepdim=True)),
    "detach": lambda x: x.detach() * x,
    "data": lambda x: x.data * x,
    "reshape": lambda x: x.reshape(2, -1),
    "transpose": lambda x: x.transpose(0, 1),
    "squeeze": lambda x: x[:, :1].squeeze(1),
    "clone": lambda x: x.clone(),
    "stack": lambda x: rl.stack([x, x.exp()], 1),
    "max": lambda x: (x.max(), *x.max(1), rl.max(x, x * x)),
    "min": lambda x: (x.min(), *x.min(0), rl.min(x, x * x)),
    "contiguous": lambda x: x.t().contiguous(),
    "zeros_like": lambda x: rl.zeros_like(x) + x,
    "ones_like": lambda x: rl.ones_like(x) * x,
    "full_like": lambda x: rl.full_like(x, 2.0) * x,
    "empty_like": lambda x: rl.empty_like(x).copy_(x),
    "new_zeros": lambda x: x.new_zeros(3, 4) + x,
    "long": lambda x: x.long(),
    "bool": lambda x: x.bool(),
    "permute": lambda x: x.unsqueeze(0).permute(2, 0, 1),
    "softmax": lambda x: F.softmax(x, -1),
    "log_softmax": lambda x: F.log_softmax(x, 0),
    "relu": lambda x: F.relu(x),
    "repeat": lambda x: x.repeat(2, 1, 1),
    "flatten": lambda x: rl.flatten(x),
    "exp": lambda x: x.exp(),
    "expand": lambda x: x[:, :1].expand(-1, 5),
    "expand_as": lambda x: x[:1].expand_as(x),
    "log": lambda x: x.abs().log(),
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "where": lambda x: rl.where(x > 0, x, x * x),
    "add": lambda x: x.add(x, alpha=2),
    "sub": lambda x: 1 - x.sub(x * x),
    "mul": lambda x: x.mul(x),
    "div": lambda x: x.div(1 + x * x),
    "pow": lambda x: (x**2, x.pow(3)),
    "sqrt": lambda x: x.abs().sqrt(),
    "norm": lambda x: (x.norm(), x.norm(dim=1)),
    "pad": lambda x: F.pad(x, (1, 2)),
    "argmax": lambda x: (x.argmax(), x.argmax(1)),
    "argsort": lambda x: x.argsort(1),
    "sigmoid": lambda x: x.sigmoid(),
    "tanh": lambda x: x.tanh(),
    "abs": lambda x: x.abs(),
    "t": lambda x: x.t() @ x,
    "T": lambda x: x.T,
    "all": lambda x: ((x > -9).all(), (x > 0).all(1)),
    "any": lambda x: ((x > 9).any(), (x > 0).any(0)),
    "split": lambda x: x.split(2, 1),
    "chunk": lambda x: x.chunk(2, 1),
    "unbind": lambda x: x.unbind(1),
    "matmul": lambda x: (x @ x.T, x @ x[0], x[0].matmul(x[1])),
    "mm": lambda x: rl.mm(x, x.T),
    "bmm": lambda x: rl.bmm(x.unsqueeze(0), x.T.unsqueeze(0)),
    "einsum": lambda x: rl.einsum("ij,kj->ik", x, x),
    "linear": lambda x: F.linear(x, x, x[:, 0]),
    "masked_fill": lambda x: x.masked_fill(x > 0, -1.0),
    "std": lambda x: (x.std(), x.std(1)),
    "sin": lambda x: x.sin(),
    "cos": lambda x: x.cos(),
    "cross_entropy": lambda x: F.cross_entropy(x, rl.tensor([0, 3, 1])),
    "mse_loss": lambda x: F.mse_loss(x, x * x),
    "l1_loss": lambda x: F.l1_loss(x, x * x),
    "binary_cross_entropy_with_logits": lambda x: F.binary_cross_entropy_with_logits(x, x.sin()),
    "interpolate": lambda x: F.interpolate(x[None, None], scale_factor=2, mode="bilinear"),
    "topk": lambda x: x.topk(2, 1),
    "sort": lambda x: x.sort(1),
    "cumsum": lambda x: x.cumsum(1),
    "gather": lambda x: x.gather(0, INDEX.clamp(max=2)),
    "index_select": lambda x: x.index_select(1, INDEX[0]),
    "index": lambda x: (x[INDEX[0].clamp(max=2)], x[:, INDEX[1]], x[0, 1:3], x[..., None]),
    "scatter": lambda x: x.scatter(1, INDEX, x * 2),
    "isnan": lambda x: x.isnan(),
    "isfinite": lambda x: x.isfinite(),
    "isclose": lambda x: x.isclose(x + 1e-12),
    "type_as": lambda x: x.type_as(x),
    "flip": lambda x: x.flip(0),
    "eq": lambda x: x.eq(x),
    "softplus": lambda x: F.softplus(x),
    "gelu": lambda x: F.gelu(x),
    "dropout": lambda x: F.dropout(x, 0.5, training=False),
    "view_as": lambda x: x.view_as(x) * 2,
    "repeat_interleave": lambda x: x.repeat_interleave(2, 1),
    "max_pool2d": lambda x: F.max_pool2d(x[None], 2),
    "avg_pool2d": lambda x: F.avg_pool2d(x[None], 2),
    "conv2d": lambda x: F.conv2d(x[None, None], KERNEL),
    "normalize": lambda x: F.normalize(x),
    "triu": lambda x: x.triu(),
    "tril": lambda x: x.tril(),
    "meshgrid": lambda x: rl.meshgrid(x[0], x[1], indexing="ij"),
    "square": lambda x: x.square(),
    "prod": lambda x: (x.prod(), x.prod(1)),
    "round": lambda x: x.round(),
    "floor": lambda x: x.floor(),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x),
    "real": lambda x: rl.complex(x, x).real,
    "narrow": lambda x: x.narrow(1, 1, 2),
    "rsqrt": lambda x: x.square().rsqrt(),
    "layer_norm": lambda x: F.layer_norm(x, (4,)),
    "maximum": lambda x: rl.maximum(x, x * x),
    "dot": lambda x: x[0].dot(x[1]),
    "silu": lambda x: F.silu(x),
    "nll_loss": lambda x: F.nll_loss(x, rl.tensor([0, 3, 1])),
    "diag": lambda x: (rl.diag(x), rl.diag(x[0])),
    "unfold": lambda x: x.unfold(1, 2, 1),
    "var": lambda x: x.var(1),
    "roll": lambda x: x.roll(1, 1),
    "sign": lambda x: x.sign(),
    "one_hot": lambda x: F.one_hot(x.abs().long() % 3, 3) * x.unsqueeze(-1),
    "embedding": lambda x: F.embedding(INDEX.clamp(max=2), x),
    "copy_": written(lambda y, x: y.copy_(x * x)),
    "fill_": written(lambda y, x: y[0].fill_(3.0)),
    "mul_": written(lambda y, x: y.mul_(x)),
    "add_": written(lambda y, x: y.add_(x, alpha=3)),
    "div_": written(lambda y, x: y.div_(1 + x * x)),
    "clamp_": written(lambda y, x: y.clamp_(0, 1)),
    "zero_": written(lambda y, x: y[1].zero_()),
    "masked_fill_": written(lambda y, x: y.masked_fill_(x > 0.5, 0.0)),
    "scatter_": written(lambda y, x: y.scatter_(1, INDEX[:, :1], x * 5)),
    "setitem": written(lambda y, x: y.__setitem__((slice(None), 1), x[:, 0] * 2)),
    "setitem by tensor": written(lambda y, x: y.__setitem__(INDEX[0, :2], x[:2] * 2)),
}


def examples():
    draws = np.random.default_rng(0)
    return rl.tensor(draws.standard_normal((2, 3, 4)))


def run(name, x):
    found = PROGRAMS[name](x)
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_loops_in_vmap(name):
    x = examples()
    fallback_counts(reset=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = vmap(lambda x: run(name, x))(x)
    assert fallback_counts() == {}
    for result, *rows in zip(found, *(run(name, row) for row in x), strict=True):
        np.testing.assert_allclose(result.numpy(), np.stack([r.numpy() for r in rows]), 1e-6)


def floats(name, x):
    return tuple(t for t in run(name, x) if t.is_floating_point())


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name):
    """Per-example gradients and tangents of `vmap` agree with those of single examples."""
    x = examples()
    if not floats(name, x[0]):
        return

    def gradient(x):
        out, pull = vjp(lambda x: floats(name, x), x)
        return pull(tuple(rl.ones_like(o) for o in out))[0]

    def tangent(x):
        return jvp(lambda x: floats(name, x), (x,), (x.cos(),))[1]

    fallback_counts(reset=True)
    each = vmap(gradient)(x)
    moves = vmap(tangent)(x)
    assert fallback_counts() == {}
    for i, row in enumerate(x):
        np.testing.assert_allclose(each[i].numpy(), gradient(row).numpy(), 1e-5, 1e-9)
        forward = tangent(row)
        for a, b in zip(moves, forward, strict=True):
            np.testing.assert_allclose(a[i].numpy(), b.numpy(), 1e-5, 1e-9)
        total = sum(float(t.sum()) for t in forward)
        assert abs(total - float((each[i] * row.cos()).sum())) <= 1e-5 * max(1.0, abs(total))
