"""Inputs of a linear layer's node in PyTorch's order, the weight by way of its transpose."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBRARIES = (rushlight, torch)
_ROWS, _WEIGHT, _BIAS = (
    np.random.default_rng(0).normal(size=shape).astype("f") for shape in ((4, 3), (2, 3), (2,))
)
FROZEN = {
    "nothing": "", "the input": "x", "the weight": "w", "the bias": "b",
    "all but the weight": "xb",
}  # fmt: skip


def _layer(lib, frozen="", bias=True):
    """Input, weight, bias and result."""
    x, w, b = (
        lib.tensor(array.tolist(), requires_grad=name not in frozen)
        for name, array in (("x", _ROWS), ("w", _WEIGHT), ("b", _BIAS))
    )
    return x, w, b, lib.nn.functional.linear(x, w, b if bias else None)


def _ends(node, leaves):
    """What is below a node: names, and which of the leaves."""
    found = []
    for below, number in node.next_functions:
        if below is None:
            found.append(None)
        elif hasattr(below, "variable"):
            found.append((number, [below.variable is leaf for leaf in leaves].index(True)))
        else:
            found.append((number, type(below).__name__, below.name(), _ends(below, leaves)))
    return found


def _numbers(values):
    return [None if v is None else v.detach().numpy().round(4).tolist() for v in values]


@pytest.mark.parametrize("bias", (True, False), ids=("with bias", "without"))
@pytest.mark.parametrize("frozen", FROZEN.values(), ids=FROZEN)
def test_the_graph_below_is_pytorchs(frozen, bias):
    ours, theirs = (
        _ends(y.grad_fn, leaves) for *leaves, y in (_layer(lib, frozen, bias) for lib in LIBRARIES)
    )
    assert ours == theirs


@pytest.mark.parametrize("bias", (True, False), ids=("with bias", "without"))
def test_calls_and_hooks_see_gradients_in_this_order(bias):
    """And what a hook returns comes to the leaves that it is of."""

    def program(lib):
        x, w, b, y = _layer(lib, bias=bias)
        called = list(y.grad_fn(lib.ones(4, 2)))
        if bias:
            called[0] = called[0].sum_to_size(2)  # PyTorch leaves that to who asked
        seen = []

        def hook(inputs, outputs):
            seen.append(_numbers([*inputs, *outputs]))
            return tuple((i + 2) * grad for i, grad in enumerate(inputs))

        y.grad_fn.register_hook(hook)
        (y * y).sum().backward()
        return _numbers(called), seen, _numbers([x.grad, w.grad, b.grad])

    (called, seen, grads), (other_called, other_seen, other_grads) = map(program, LIBRARIES)
    for ours, theirs in ((called, other_called), (seen[0], other_seen[0]), (grads, other_grads)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            assert (a is None) == (b is None)
            if b is not None:
                np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


def test_the_transpose_is_one_node_that_shows_and_takes_no_hook():
    x, w, _, y = _layer(rushlight)
    part = y.grad_fn.next_functions[2][0]
    assert part is y.grad_fn.next_functions[2][0] and part.next_functions[0][0].variable is w
    grad = rushlight.ones(3, 2)
    assert part(grad).equal(grad.t())
    for register in (part.register_hook, part.register_prehook):
        with pytest.raises(NotImplementedError, match="TBackward0 is part of the call after it"):
            register(lambda *given: None)
    y.sum().backward()
    assert w.grad.equal(x.detach().sum(0).expand(2, 3))
