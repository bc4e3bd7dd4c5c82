"""Nested tensors with gaps between their sequences, and parts of any, compared with PyTorch."""

from __future__ import annotations

import copy
import pickle
import sys
from pathlib import Path

import pytest

import rushlight

sys.path.insert(0, str(Path(__file__).parent))
from alike import assert_same, compare, numbers, plain, sequences


def gaps(L, values=None):
    values = numbers(L, 12, 4) + 1 if values is None else values
    return L.nested.nested_tensor_from_jagged(
        values, L.tensor([0, 3, 8, 12]), lengths=L.tensor([2, 3, 1])
    )


EVERYWHERE = {
    "itself": lambda L, x: [x, x.values(), x.offsets(), x.numel(), x.is_contiguous(), len(x)],
    "lengths": lambda L, x: [x._get_min_seqlen(), x._get_max_seqlen()],
    "contiguous": lambda L, x: [x.contiguous(), x.contiguous().values()],
    "arithmetic": lambda L, x: [x + x, 2 * x, x / (x + 1), x > 1, x + L.arange(4.0)],
    "functions": lambda L, x: [x.sin(), x.exp(), L.nn.functional.gelu(x), x.double()],
    "layer_norm": lambda L, x: L.nn.functional.layer_norm(x * x, (4,)),
    "softmax": lambda L, x: x.softmax(-1),
    "along the last dimension": lambda L, x: [x.sum(-1), x.mean(-1), x.amax(-1), x.argmax(-1)],
    "largest": lambda L, x: list(x.max(-1)) + list(x.min(-1)),
    "all elements": lambda L, x: [x.sum(), x.mean(), x.max()],
    "matmul": lambda L, x: x @ L.ones(4, 2),
    "unflatten": lambda L, x: x.unflatten(-1, [2, 2]),
    "cat and stack": lambda L, x: [L.cat([x, x], -1), L.stack([x, x], -1), L.stack([x, x], 2)],
    "transpose": lambda L, x: x.transpose(1, 2),
    "one sequence": lambda L, x: [x[1], x[-1], x[1, 0], x.select(0, 2)],
    "a new dimension": lambda L, x: [x[..., None], x.unsqueeze(1)],
    "repeat_interleave": lambda L, x: x.repeat_interleave(2, -1),
    "filled": lambda L, x: [L.ones_like(x), L.zeros_like(x).fill_(2.0), x.clone().zero_()],
    "copied": lambda L, x: [L.zeros_like(x).copy_(x), x.clone(), x.detach()],
    "isclose": lambda L, x: [L.isclose(x, x), x.isreal(), +x],
    "drawn": lambda L, x: [
        draw() for draw in (
            lambda: (L.manual_seed(3), L.rand_like(x))[1],
            lambda: (L.manual_seed(3), L.randint_like(x, 5))[1],
        )
    ],
}  # fmt: skip
WITHOUT_GAPS = {
    "indices": lambda L, x: [x[..., 0], x[..., :1], x[..., 1:3]],
    "chunk of sequences": lambda L, x: [*x.chunk(3), *x.chunk(2, 0)],
    "tensor_split": lambda L, x: x.tensor_split(2, -1),
    "permute": lambda L, x: [x.permute(0, 2, 1), x.movedim(1, 2)],
    "sum over sequences and elements": lambda L, x: [x.sum((0, 1)), x.sum((0, 1, 2))],
    "along the sequences": lambda L, x: [*x.max(1), *x.min(1), x.argmax(1)],
    "padded operand": lambda L, x: x + numbers(L, 3, 3, 4),
}


@pytest.mark.parametrize("name", EVERYWHERE)
@pytest.mark.parametrize("made", ["gaps", "dense"])
def test_like_torch(name, made):
    make = gaps if made == "gaps" else lambda L: sequences(L, "jagged")
    compare(lambda L: EVERYWHERE[name](L, make(L)))


@pytest.mark.parametrize("name", WITHOUT_GAPS)
def test_like_torch_without_gaps(name):
    compare(lambda L: WITHOUT_GAPS[name](L, sequences(L, "jagged")))


@pytest.mark.parametrize("name", ["arithmetic", "functions"])
def test_gradients_leave_gaps_alone(name):
    def found(L):
        values = (numbers(L, 12, 4) + 1).requires_grad_()
        results = EVERYWHERE[name](L, gaps(L, values))
        nested = [r for r in results if r.is_nested and r.is_floating_point()]
        sum((p.double() ** 2).sum() for r in nested for p in r.unbind()).backward()
        return values.grad

    compare(found)


@pytest.mark.parametrize(
    "make",
    [
        lambda L, t: L.nested.narrow(t, 1, L.tensor([0, 1, 2]), L.tensor([2, 3, 1]), L.jagged),
        lambda L, t: L.nested.narrow(t, 1, 1, 3, layout=L.jagged),
        lambda L, t: L.nested.narrow(t, 1, 0, L.tensor([2, 5, 1]), layout=L.jagged),
        lambda L, t: L.nested.narrow(t, 1, 0, 5, layout=L.jagged),
    ],
)
def test_narrow_shares_memory(make):
    def found(L):
        dense = numbers(L, 3, 5, 2)
        x = make(L, dense)
        x.values().mul_(2)
        return [x, x * 2, x.offsets(), x.is_contiguous(), x.contiguous(), dense]

    compare(found)


def test_gradients_through_contiguous_and_reductions():
    values = (numbers(rushlight, 12, 4) + 1).requires_grad_()
    x = gaps(rushlight, values)
    (x.contiguous().sum(1) ** 2).sum().backward()
    found, values.grad = values.grad, None
    sum((values[a:b].sum(0) ** 2).sum() for a, b in ((0, 2), (3, 6), (8, 9))).backward()
    assert_same(plain(found), plain(values.grad))


def test_ragged_later_with_gaps():
    values = numbers(rushlight, 2, 6)
    x = rushlight.nested.nested_tensor_from_jagged(
        values,
        rushlight.tensor([0, 2, 6]),
        lengths=rushlight.tensor([1, 3]),
        jagged_dim=2,
    )
    for made in (x, x.contiguous()):
        assert_same(plain(made)[1:], plain([values[:, 0:1], values[:, 2:5]]))


@pytest.mark.parametrize("made", [gaps, lambda L: sequences(L, "jagged")])
def test_copies_of_the_whole(made):
    x = made(rushlight)
    for again in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert_same(plain(again), plain(x))
        assert (again.lengths() is None) == (x.lengths() is None)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.to_padded_tensor(0.0),
        lambda x: x.sum(1),
        lambda x: x.softmax(1),
        lambda x: x * rushlight.ones(3, 1, 4),
        lambda x: x + rushlight.ones(3, 3, 4),
        lambda x: x @ rushlight.ones(3, 4, 2),
    ],
)
def test_what_needs_no_gaps(call):
    x = gaps(rushlight)
    with pytest.raises(NotImplementedError, match="contiguous"):
        call(x)
    call(x.contiguous())


def test_refusals():
    x, dense = gaps(rushlight), sequences(rushlight, "jagged")
    with pytest.raises(RuntimeError, match="lie between"):
        rushlight.nested.nested_tensor_from_jagged(
            rushlight.ones(6), rushlight.tensor([0, 2, 6]), lengths=rushlight.tensor([3, 1])
        )
    with pytest.raises(RuntimeError, match="lengths"):
        x + dense
    with pytest.raises(RuntimeError, match="exceeds"):
        rushlight.nested.narrow(rushlight.ones(2, 3), 1, 1, 3, layout=rushlight.jagged)
    for call in (
        lambda: dense[:, 0],
        lambda: dense[0:1],
        lambda: dense[..., [0, 1]],
        lambda: rushlight.stack([dense, dense]),
        lambda: dense.permute(1, 0, 2),
        lambda: dense.broadcast_to((3, 3, 4)),
    ):
        with pytest.raises(NotImplementedError):
            call()
    assert_same(plain(dense[:, :, 1]), plain(dense.select(-1, 1)))
    with pytest.raises(IndexError, match="too many"):
        dense[:, :, 0, 0]
