"""Nested tensors compute what each sequence alone gives, and what PyTorch's jagged layout does."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import rushlight

LENGTHS = (2, 0, 3, 1)


def parts(L, *inner, grad=False):
    """Four sequences (length, *inner) of different numbers."""
    made, start = [], 0
    for length in LENGTHS:
        count = length * int(np.prod(inner, dtype=int))
        values = (L.arange(float(count)) + start) / 7 - 1
        made.append(values.reshape(length, *inner).requires_grad_(grad))
        start += count
    return made


def nest(L, *inner, grad=False):
    return L.nested.as_nested_tensor(parts(L, *inner, grad=grad), layout=L.jagged)


def arrays(value):
    """A result as NumPy arrays: the sequences of a nested tensor."""
    if isinstance(value, tuple | list):
        return [a for v in value for a in arrays(v)]
    if value.is_nested:
        return [t.detach().numpy() for t in value.unbind()]
    return [value.detach().numpy()]


CASES = {
    "padded": lambda L: nest(L, 3).to_padded_tensor(-1.0),
    "padded to a size": lambda L: nest(L, 3).to_padded_tensor(0.0, (4, 5, 3)),
    "padded function": lambda L: L.nested.to_padded_tensor(nest(L), 9.0),
    "parts": lambda L: (nest(L, 3).values(), nest(L, 3).offsets(), nest(L, 3)[2], nest(L, 3)[-1]),
    "from jagged": lambda L: L.nested.nested_tensor_from_jagged(L.ones(5, 2), L.tensor([0, 2, 5])),
    "arithmetic": lambda L: (
        nest(L, 3) * 2 + 1,
        (lambda n: n - n.relu())(nest(L, 3)),
        -nest(L, 3),
        1 / (nest(L, 3).abs() + 1),
        nest(L, 3) > 0,
    ),
    "with dense rows": lambda L: nest(L, 3) + L.arange(3.0),
    "with one row for each sequence": lambda L: nest(L, 3) * L.arange(12.0).reshape(4, 1, 3),
    "functions": lambda L: [
        f(nest(L, 3))
        for f in (
            L.relu,
            L.sin,
            L.exp,
            L.sigmoid,
            L.tanh,
            L.nn.functional.gelu,
            L.nn.functional.silu,
        )
    ],
    "linear": lambda L: L.nn.functional.linear(nest(L, 3), L.ones(2, 3), L.arange(2.0)),
    "matmul": lambda L: nest(L, 3) @ L.ones(3, 2),
    "layer norm": lambda L: L.nn.functional.layer_norm(nest(L, 3), (3,)),
    "softmax": lambda L: nest(L, 3).softmax(-1),
    "sums": lambda L: (
        nest(L, 3).sum(),
        nest(L, 3).sum(1),
        nest(L, 3).sum(-1),
        nest(L, 3).sum(1, keepdim=True),
    ),
    "shapes": lambda L: (
        nest(L, 4).unflatten(-1, [2, 2]),
        nest(L, 2, 2).flatten(-2, -1),
        nest(L, 4).view(4, -1, 2, 2),
        nest(L, 4).unsqueeze(-1),
    ),
    "transposed": lambda L: nest(L, 2, 3).transpose(1, 2),
    "transposed twice": lambda L: nest(L, 2, 3).transpose(1, 2).transpose(1, 2),
    "side by side": lambda L: L.cat([nest(L, 3), nest(L, 3)], -1),
    "chunks": lambda L: nest(L, 4).chunk(2, -1),
    "like": lambda L: (L.zeros_like(nest(L, 3)), L.ones_like(nest(L, 3))),
    "dtypes": lambda L: (nest(L, 3).double(), nest(L, 3).to(L.float64)),
}


@pytest.mark.parametrize("name", CASES)
def test_like_torch(name):
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = arrays(CASES[name](torch))
    found = arrays(CASES[name](rushlight))
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["mean", "amax", "amin", "prod"])
def test_reductions_over_sequences(name):
    full = [p for p in parts(rushlight, 3) if len(p)]
    made = rushlight.nested.as_nested_tensor(full, layout=rushlight.jagged)
    expected = rushlight.stack([getattr(p, name)(0) for p in full])
    rushlight.testing.assert_close(getattr(made, name)(1), expected)
    kept = getattr(made, name)(1, keepdim=True)
    assert tuple(kept.shape) == (3, 1, 3)


def test_softmax_within_sequences():
    made = nest(rushlight, 3).softmax(1)
    for ours, part in zip(made, parts(rushlight, 3), strict=True):
        rushlight.testing.assert_close(ours, part.softmax(0))


@pytest.mark.parametrize("causal", [False, True])
def test_attention_is_that_of_each_sequence(causal):
    rushlight.manual_seed(0)
    sequences = [rushlight.randn(n, 2, 4) for n in (3, 5, 1)]
    made = rushlight.nested.nested_tensor(sequences, layout=rushlight.jagged, requires_grad=True)
    heads = made.transpose(1, 2)
    attend = rushlight.nn.functional.scaled_dot_product_attention
    out = attend(heads, heads, heads, is_causal=causal)
    leaves = [s.clone().requires_grad_() for s in sequences]
    expected = []
    for leaf in leaves:
        h = leaf.transpose(0, 1)
        expected.append(attend(h, h, h, is_causal=causal))
    for ours, theirs in zip(out, expected, strict=True):
        rushlight.testing.assert_close(ours, theirs)
    (out.transpose(1, 2) ** 2).sum().backward()
    sum((e**2).sum() for e in expected).backward()
    for ours, leaf in zip(made.grad, leaves, strict=True):
        rushlight.testing.assert_close(ours, leaf.grad)


def test_gradients_reach_the_sequences():
    leaves = parts(rushlight, 3, grad=True)
    made = rushlight.nested.as_nested_tensor(leaves)
    (made.to_padded_tensor(5.0) * 2).sum().backward()
    assert all((leaf.grad == 2).all() for leaf in leaves)
    made = rushlight.nested.nested_tensor(leaves, requires_grad=True)
    made.sum(1).sum().backward()
    assert made.grad.is_nested and made.is_leaf
    assert [len(g) for g in made.grad] == list(LENGTHS)


def test_a_model_on_sequences():
    rushlight.manual_seed(0)
    nn = rushlight.nn
    words = rushlight.nested.nested_tensor(
        [rushlight.tensor([1, 2]), rushlight.tensor([3]), rushlight.tensor([0, 4, 2])],
        layout=rushlight.jagged,
    )
    embedding, model = (
        nn.Embedding(5, 4),
        nn.Sequential(
            nn.Linear(4, 8), nn.ReLU(), nn.LayerNorm(8), nn.Dropout(0.0), nn.Linear(8, 2)
        ),
    )
    found = model(embedding(words)).mean(1)
    expected = rushlight.stack([model(embedding(w)).mean(0) for w in words])
    rushlight.testing.assert_close(found, expected)
    found.sum().backward()
    assert embedding.weight.grad.abs().sum() > 0


def test_shapes_and_printing():
    made = nest(rushlight, 3)
    assert made.dim() == 3 and len(made) == 4 and made.numel() == 18
    assert made.size(0) == 4 and made.size(-1) == 3
    assert repr(made) == (
        "NestedTensor(size=(4, j1, 3), offsets=tensor([0, 2, 2, 5, 6]), contiguous=True)"
    )
    assert made.view(made.size(0), made.size(1), 3, 1).dim() == 4
    assert made.layout is rushlight.jagged and made.is_nested and not rushlight.ones(1).is_nested
    strided = rushlight.nested.nested_tensor([rushlight.ones(1), rushlight.zeros(2)])
    assert strided.layout is rushlight.strided
    assert repr(strided) == "nested_tensor([\n  tensor([1.]),\n  tensor([0., 0.])\n])"
    with pytest.raises(RuntimeError, match="dimension 1 is irregular"):
        strided.size(1)


def test_narrow_and_masked_select():
    dense = rushlight.arange(12.0).reshape(2, 6)
    made = rushlight.nested.narrow(
        dense, 1, rushlight.tensor([0, 2]), rushlight.tensor([1, 3]), layout=rushlight.jagged
    )
    assert [t.tolist() for t in made] == [[0.0], [8.0, 9.0, 10.0]]
    made = rushlight.nested.masked_select(dense, dense % 3 == 0)
    assert [t.tolist() for t in made] == [[0.0, 3.0], [6.0, 9.0]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda n: n.conv1d(n), AttributeError, "conv1d"),
        (lambda n: rushlight.cumsum(n, 1), NotImplementedError, "to_padded_tensor"),
        (lambda n: n.numpy(), NotImplementedError, "to_padded_tensor"),
        (lambda n: n[:, 0], NotImplementedError, "unbind"),
        (lambda n: n + nest(rushlight, 3)[:2], NotImplementedError, "number of a sequence"),
        (lambda n: n[7], IndexError, "out of bounds"),
        (lambda n: n + rushlight.ones(4, 2, 3), NotImplementedError, "ragged dimension"),
        (lambda n: n.sum(0), NotImplementedError, "batch dimension"),
        (lambda n: n.transpose(0, 1), NotImplementedError, "batch dimension"),
        (lambda n: n.view(-1, 3), NotImplementedError, "ragged dimension"),
        (lambda n: n.to_padded_tensor(0.0, (1, 1, 1)), RuntimeError, "output_size"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(nest(rushlight, 3))


def test_errors_of_construction():
    ones = rushlight.ones
    with pytest.raises(RuntimeError, match="only one dimension"):
        rushlight.nested.nested_tensor([ones(2, 3), ones(3, 4)])
    with pytest.raises(RuntimeError, match="same dim"):
        rushlight.nested.nested_tensor([ones(2, 3), ones(2)])
    with pytest.raises(RuntimeError, match="lengths"):
        nest(rushlight, 3) + rushlight.nested.nested_tensor([ones(6, 3), *[ones(0, 3)] * 3])
    with pytest.raises(RuntimeError, match="rise from 0"):
        rushlight.nested.nested_tensor_from_jagged(ones(5), rushlight.tensor([0, 7]))
