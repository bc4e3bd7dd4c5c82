"""Embeddings with sparse gradients, and the optimizers that take them, are PyTorch's."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import rushlight

sys.path.insert(0, str(Path(__file__).parent))
from comparison import compare, torch

WORDS = [[1, 3], [1, 0]]


def table(L, kind="Embedding", **options):
    made = getattr(L.nn, kind)(5, 2, sparse=True, **options)
    with L.no_grad():
        made.weight.copy_(L.arange(10.0).reshape(5, 2) / 3)
    return made


def test_gradients_of_embeddings():
    for padding in (None, 3):

        def gradient(L, padding=padding):
            made = table(L, padding_idx=padding)
            (made(L.tensor(WORDS)) ** 2).sum().backward()
            (made(L.tensor([2])) ** 2).sum().backward()
            return made.weight.grad, made.weight.grad.coalesce()

        compare(gradient)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_gradients_of_bags(mode):
    def gradient(L):
        made = table(L, "EmbeddingBag", mode=mode, padding_idx=3)
        weights = L.arange(4.0).requires_grad_() if mode == "sum" else None
        out = made(L.tensor([1, 3, 1, 0]), L.tensor([0, 3]), weights)
        (out**2).sum().backward()
        return made.weight.grad.coalesce(), None if weights is None else weights.grad

    compare(gradient)


def test_weights_of_padding_have_no_gradient():
    def gradient(L):
        weight = L.arange(10.0).reshape(5, 2).requires_grad_()
        samples = L.arange(4.0).reshape(2, 2).requires_grad_()
        out = L.nn.functional.embedding_bag(
            L.tensor(WORDS), weight, mode="sum", per_sample_weights=samples, padding_idx=3
        )
        (out**2).sum().backward()
        return weight.grad, samples.grad

    compare(gradient)


def test_refusals():
    with pytest.raises(RuntimeError, match="scale_grad_by_freq"):
        table(rushlight, scale_grad_by_freq=True)(rushlight.tensor([1]))
    with pytest.raises(ValueError, match="max mode"):
        table(rushlight, "EmbeddingBag", mode="max")(rushlight.tensor([1]), rushlight.tensor([0]))


def test_dense_and_sparse_gradients_of_one_weight():
    def one_pass(L):
        made = table(L)
        (made(L.tensor([1, 1])).sum() + made.weight.sum()).backward()
        return made.weight.grad

    def several(L):
        made = table(L)
        made(L.tensor([1, 1])).sum().backward()
        made.weight.sum().backward()
        made(L.tensor([1, 1])).sum().backward()
        return made.weight.grad

    compare(one_pass)
    compare(several)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"lr": 0.1}),
        ("SGD", {"lr": 0.1, "momentum": 0.9}),
        ("SGD", {"lr": 0.1, "momentum": 0.5, "nesterov": True, "maximize": True}),
        ("SGD", {"lr": 0.1, "momentum": 0.5, "dampening": 0.2}),
        ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}),
        ("SparseAdam", {"lr": 0.1}),
        ("SparseAdam", {"lr": 0.1, "maximize": True, "betas": (0.5, 0.9)}),
    ],
)
def test_optimizers(name, options):
    def train(L):
        made = table(L)
        optimizer = getattr(L.optim, name)(made.parameters(), **options)
        for words in (WORDS, [[1, 2], [2, 2]], WORDS):
            optimizer.zero_grad()
            (made(L.tensor(words)) ** 2).sum().backward()
            optimizer.step()
        return made.weight

    compare(train)


@pytest.mark.parametrize(
    "name", ["Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam"]
)
def test_optimizers_that_take_none(name):
    for L in (torch, rushlight):
        made = table(L)
        made(L.tensor(WORDS)).sum().backward()
        optimizer = getattr(L.optim, name)(made.parameters())
        with pytest.raises(RuntimeError, match="does not support sparse gradients"):
            optimizer.step()


def test_loss_scaling_and_saved_states():
    def train(L):
        made = table(L)
        optimizer = L.optim.SGD(made.parameters(), lr=0.1, momentum=0.9)
        scaler = L.amp.GradScaler("cpu", init_scale=4.0)
        for _ in range(2):
            optimizer.zero_grad()
            scaler.scale((made(L.tensor(WORDS)) ** 2).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
        other = L.optim.SGD(made.parameters(), lr=0.1, momentum=0.9)
        other.load_state_dict(optimizer.state_dict())
        other.step()
        return made.weight

    compare(train)


def test_adding_sparse_rows_is_seen_by_autograd():
    table = rushlight.ones(3, 2)
    x = rushlight.ones(3, 2, requires_grad=True)
    product = x * table
    rows = rushlight.sparse_coo_tensor([[2, 0, 2]], rushlight.ones(3, 2), (3, 2))
    table.add_(rows, alpha=2)
    assert table.tolist() == [[3.0, 3.0], [1.0, 1.0], [5.0, 5.0]]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()
    with pytest.raises(RuntimeError, match="leaf"):
        x.add_(rows)
    y = x * 1
    y.add_(rows)  # recorded
    y.sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0]] * 3
    with pytest.raises(RuntimeError, match="inconsistent"):
        table.add_(rushlight.sparse_coo_tensor([[7]], rushlight.ones(1, 2), (3, 2)))


def test_zeroed_gradients_stay_sparse():
    made = table(rushlight)
    made(rushlight.tensor(WORDS)).sum().backward()
    rushlight.optim.SparseAdam(made.parameters()).zero_grad(set_to_none=False)
    assert made.weight.grad.is_sparse and made.weight.grad._nnz() == 0


def test_dense_and_sparse_parameters_in_one_optimizer():
    made, linear = table(rushlight), rushlight.nn.Linear(2, 1)
    optimizer = rushlight.optim.SGD([*made.parameters(), *linear.parameters()], lr=0.1)
    before = made.weight.detach().clone(), linear.weight.detach().clone()
    linear(made(rushlight.tensor([1, 1]))).sum().backward()
    row = made.weight.grad.to_dense()[1].clone()
    step = linear.weight.grad.clone()
    optimizer.step()
    np.testing.assert_allclose(made.weight[1].detach(), before[0][1] - 0.1 * row, rtol=1e-6)
    np.testing.assert_array_equal(made.weight[2].detach(), before[0][2])
    np.testing.assert_allclose(linear.weight.detach(), before[1] - 0.1 * step, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_the_first_of_equal_extremes_has_the_gradient(reduce, dtype):
    nan = float("nan")
    rows = [[1.0, 0, 1, 1], [0, 2, 2, 0], [0, 0, 0, 0], [1, nan, 3, nan]]

    def run(L):
        matrix = L.tensor(rows, dtype=getattr(L, dtype)).to_sparse_csr().requires_grad_()
        x = L.ones(4, 2, dtype=getattr(L, dtype), requires_grad=True)
        out = L.sparse.mm(matrix, x, reduce)
        out.backward(L.tensor([[1, 10], [2, 20], [3, 30], [4, 40]], dtype=out.dtype))
        return tuple(t.detach().float() for t in (out, matrix.grad.values(), x.grad))

    compare(run)
