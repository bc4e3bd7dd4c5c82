"""First gradients under ``create_graph`` have PyTorch's history: also that by which their
derivative is zero."""

from __future__ import annotations

import pytest

import rushlight
from rushlight.ops._table import deferred as _deferred
from rushlight.ops._table.op import TABLE
from rushlight.testing.samples import samples_of

_deferred.load_all()
OPTIONS = ("second_zero", "second_none")
NAMED = sorted(
    name
    for name, op in TABLE.items()
    if set(OPTIONS) & set(op.options) and samples_of(op, rushlight.float64)
)


def test_ops_are_declared():
    assert {"relu", "_convolution", "_max_pool", "_layer_norm", "_continued"} <= set(NAMED)


@pytest.mark.parametrize("name", NAMED)
def test_declared_history(name):
    """Every gradient requires grad; its derivative by the named arguments is there, zeros where
    nothing else is known, or is missing."""
    op, tried = TABLE[name], 0
    for args, keywords in samples_of(op, rushlight.float64, True)[:4]:
        if op.options.get("second_if", lambda *_: True)(*args) is False:
            continue
        named = dict(zip(op.names, args, strict=False))
        leaves = {k: v for k, v in named.items() if getattr(v, "requires_grad", False)}
        out = op.function(*args, **keywords)
        out = out[0] if isinstance(out, tuple) else out
        first = rushlight.autograd.grad(
            out.sum(), tuple(leaves.values()), create_graph=True, allow_unused=True
        )
        for argument, gradient in zip(leaves, first, strict=True):
            if gradient is None:
                continue
            assert gradient.requires_grad, f"{name}: the gradient of {argument}"
            second = rushlight.autograd.grad(
                gradient.sum(), tuple(leaves.values()), retain_graph=True, allow_unused=True
            )
            found = dict(zip(leaves, second, strict=True))
            for history in op.options.get("second_zero", ()):
                assert found[history] is not None, f"{name}: {argument} by {history}"
                assert found[history].shape == leaves[history].shape
                if len(leaves) == 1:
                    assert not found[history].any()
            tried += 1
    assert tried


def _composites():
    functional = rushlight.nn.functional
    image = (2, 4, 5, 6)
    return {
        "pad": (lambda F, x: F.pad(x, (1, 2), mode="reflect"), (2, 3, 5)),
        "pad_empty": (lambda F, x: F.pad(x, (1, 2), mode="replicate"), (0, 3, 5)),
        "pad_circular": (lambda F, x: F.pad(x, (1, 2), mode="circular"), (2, 3, 5)),
        "mean": (lambda F, x: F.adaptive_avg_pool2d(x, 1), image),
        "parts": (lambda F, x: F.adaptive_avg_pool2d(x, 2), image),
        "parts_of_nothing": (lambda F, x: F.adaptive_avg_pool1d(x, 5), (0, 2, 4)),
        "area": (lambda F, x: F.interpolate(x, size=(2, 3), mode="area"), image),
        "rrelu": (lambda F, x: F.rrelu(x, training=True), image),
        "nll": (lambda F, x: F.nll_loss(x, _targets(F), reduction="sum"), (3, 4)),
        "nll_mean": (lambda F, x: F.nll_loss(x, _targets(F)), (3, 4)),
        "fractional": (lambda F, x: F.fractional_max_pool2d(x, 2, output_size=2), image),
        "transposed": (
            lambda F, x: F.conv_transpose2d(x.detach(), _ones(F, 4, 2, 2, 2), x[0, 0, 0, :2]),
            image,
        ),
        "transposed_bias": (
            lambda F, x: F.conv_transpose2d(x, _ones(F, 4, 2, 2, 2), x[0, 0, 0, :2]), image,
        ),
        "instance_norm": (lambda F, x: F.instance_norm(x, weight=_ones(F, 4), bias=x[0, :, 0, 0]),
                          image),
        "group_norm": (lambda F, x: F.group_norm(x, 2, _ones(F, 4), x[0, :, 0, 0]), image),
        "relu_": (lambda F, x: F.relu(x * 1, inplace=True), image),
        "hardtanh_": (lambda F, x: F.hardtanh(x * 1, inplace=True), image),
        "linear": (lambda F, x: F.linear(x, _ones(F, 3, 6)), image),
    }, functional  # fmt: skip


def _home(F):
    return rushlight if F is rushlight.nn.functional else pytest.importorskip("torch")


def _ones(F, *shape):
    return _home(F).ones(shape, dtype=_home(F).float64)


def _targets(F):
    return _home(F).tensor([0, 2, 1])


COMPOSITES, FUNCTIONAL = _composites()


def _state(F, call, shape):
    """Whether the first gradient requires grad; whether the second is there, is all zero."""
    home = _home(F)
    count = 1
    for size in shape:
        count *= size
    x = (home.arange(count, dtype=home.float64).reshape(shape) * 0.37).sin().requires_grad_()
    (first,) = home.autograd.grad(call(F, x).sum(), x, create_graph=True)
    if not first.requires_grad:
        return False, None, None
    (second,) = home.autograd.grad(first.sum(), x, allow_unused=True)
    return True, second is not None, second is not None and not bool((second.abs() > 1e-12).any())


@pytest.mark.parametrize("name", COMPOSITES)
def test_composites(name):
    torch = pytest.importorskip("torch")
    call, shape = COMPOSITES[name]
    assert _state(FUNCTIONAL, call, shape) == _state(torch.nn.functional, call, shape)


@pytest.mark.parametrize(
    ("name", "shape", "labels"),
    [
        ("multi_margin_loss", (), ()),
        ("multi_margin_loss", (3,), ()),
        ("multi_margin_loss", (3, 4), (3,)),
        ("multilabel_margin_loss", (), ()),
        ("multilabel_margin_loss", (3,), (3,)),
        ("multilabel_margin_loss", (3, 4), (3, 4)),
    ],
)
def test_losses_of_margins(name, shape, labels):
    """Their gradients are constant between the corners: PyTorch's require grad and refuse to be
    differentiated, ours have a derivative of zero."""
    torch = pytest.importorskip("torch")

    def call(F, x):
        return getattr(F, name)(x, _home(F).zeros(labels, dtype=_home(F).int64))

    x = torch.full(shape, 0.3, requires_grad=True)
    (first,) = torch.autograd.grad(call(torch.nn.functional, x), x, create_graph=True)
    assert first.requires_grad
    assert _state(FUNCTIONAL, call, shape) == (True, True, True)


def test_history_of_a_weight():
    """The gradient by the bias is linear in that of the result, and no more."""
    conv = rushlight.nn.Conv1d(2, 3, 2)
    x = rushlight.randn(1, 2, 5, requires_grad=True)
    (first,) = rushlight.autograd.grad(conv(x).sum(), conv.bias, create_graph=True)
    assert first.requires_grad
    assert rushlight.autograd.grad(first.sum(), x, allow_unused=True) == (None,)
    with pytest.raises(RuntimeError, match="not have been used in the graph"):
        (first,) = rushlight.autograd.grad(conv(x).sum(), conv.bias, create_graph=True)
        rushlight.autograd.grad(first.sum(), x)


def test_zeros_and_more_add_up():
    x = rushlight.tensor([-1.0, 2.0], requires_grad=True)
    w = rushlight.tensor([3.0, 4.0], requires_grad=True)
    (first,) = rushlight.autograd.grad((rushlight.relu(x) * w).sum(), x, create_graph=True)
    of_x, of_w = rushlight.autograd.grad(first.sum(), (x, w))
    assert of_x.tolist() == [0.0, 0.0]
    assert of_w.tolist() == [0.0, 1.0]
    (first,) = rushlight.autograd.grad(rushlight.relu(x).pow(3).sum(), x, create_graph=True)
    (second,) = rushlight.autograd.grad(first.sum(), x, create_graph=True)
    assert second.tolist() == [0.0, 12.0]
    (third,) = rushlight.autograd.grad(second.sum(), x)
    assert third.tolist() == [0.0, 6.0]


def test_without_create_graph_nothing_is_recorded():
    x = rushlight.randn(3, requires_grad=True)
    (first,) = rushlight.autograd.grad(rushlight.relu(x).sum(), x)
    assert not first.requires_grad
