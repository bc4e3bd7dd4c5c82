"""Whole programs with masked tensors, of the kinds that PyTorch's documentation shows."""

import sys
from pathlib import Path

import pytest

import rushlight

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from carrying import both, carrying, same_error, same_text  # noqa: E402

NAN = float("nan")


def test_filled_and_left_out_are_told_apart():
    """A zero that was measured counts in a mean, one that fills a gap does not."""

    def program(lib):
        speeds = lib.tensor([[3.0, 0.0, 5.0], [0.0, 0.0, 4.0]])
        measured = lib.tensor([[True, True, False], [False, True, False]])
        x = lib.masked.masked_tensor(speeds, measured)
        return x, x.mean(1), x.amin(0), x.sum(), (x + 1).prod(1)

    both(program)
    same_text(program)


def test_gaps_of_a_table_are_no_numbers():
    """What nansum and nanmean do for one function each, with gradients."""

    def program(lib):
        table = lib.tensor([[1.0, NAN, 3.0], [NAN, 5.0, 6.0]])
        x = lib.masked.masked_tensor(table, ~table.isnan(), requires_grad=True)
        (x.sum(0).amax() + x.std()).backward()
        return x.sum(), x.mean(0), x.grad

    both(program)


def test_gradient_of_a_branch_that_is_not_taken():
    """PyTorch's own where gives nan here for dense tensors, since 0 times infinity is."""

    def program(lib):
        a = lib.masked.masked_tensor(lib.tensor(0.75), lib.tensor(True), requires_grad=True)
        lib.where(lib.tensor(False), a / 0, lib.ones(())).backward()
        return a.grad

    both(program)


def test_division_by_zero_before_the_mask():
    def program(lib):
        x = lib.tensor([1.0, 1.0], requires_grad=True)
        divisor = lib.tensor([0.0, 1.0])
        quotient = lib.masked.as_masked_tensor(x / divisor, divisor != 0)
        quotient.sum().backward()
        return quotient, x.grad

    both(program)


def test_attention_with_padding():
    """Scores of padded positions take no part in the softmax, nor in gradients."""

    def program(lib):
        scores = lib.tensor([[0.5, 2.0, -1.0], [1.0, 0.0, 3.0]])
        held = lib.tensor([[True, True, False], [True, True, True]])
        x = lib.masked.masked_tensor(scores, held, requires_grad=True)
        weights = x.softmax(1)
        (weights * scores).sum().backward()
        return weights, x.grad

    both(program)


def test_binary_functions_need_equal_masks():
    """As `and` and `or` of the masks are both plausible, neither is chosen."""

    def program(lib):
        x = carrying(lib, [1.0, 2.0, 3.0], [True, False, True])
        return x + carrying(lib, [4.0, 5.0, 6.0], [True, True, True])

    same_error(program, "Input masks must match")

    def chosen(lib):
        left = carrying(lib, [1.0, 2.0, 3.0], [True, False, True])
        right = carrying(lib, [4.0, 5.0, 6.0], [True, True, False])
        mask = left.get_mask() | right.get_mask()
        return lib.masked.masked_tensor(left.to_tensor(0), mask) + lib.masked.masked_tensor(
            right.to_tensor(0), mask
        )

    both(chosen)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
@pytest.mark.parametrize("layout", ["to_sparse_coo", "to_sparse_csr"])
def test_sparse_data_in_a_chain(layout):
    def program(lib):
        values = lib.tensor([[0.0, 0.0, 3.0], [4.0, 0.0, 5.0]])
        mask = lib.tensor([[False, False, True], [False, True, True]])
        data = getattr(values.masked_fill(~mask, 0), layout)()
        x = getattr(lib.masked.masked_tensor(values, mask), layout)()
        assert data._nnz() == 2  # the zero that counts is none of them
        found = (x.sin() + x).square()
        return found, found.sum(), found.to_dense().amax(0)

    both(program)


def _adagrad(lib, sparse, steps=3, rate=0.1):
    """Adagrad on the rows that a sparse gradient holds; state and parameter are dense."""
    masked = lib.masked.masked_tensor
    parameter = lib.arange(8.0).reshape(2, 4)
    total = lib.full((2, 4), 0.5)
    for step in range(steps):
        grad = lib.tensor([[0.0, 3.0, 0.0, 0.0], [4.0, 0.0, 0.5 * (step + 1), 0.0]])
        held = grad != 0
        if sparse:
            grad, held = grad.to_sparse(), held.to_sparse()
        gradient = masked(grad, held)
        total = total + lib.Tensor.to_dense(gradient.pow(2).get_data())
        root = masked(total.sparse_mask(held) if sparse else total, held).sqrt().add(1e-10)
        change = (gradient / root).to_dense().to_tensor(0)
        parameter = parameter.add(change, alpha=-rate)
    return parameter, total


def test_adagrad_of_sparse_gradients():
    both(lambda lib: _adagrad(lib, sparse=True))
    sparse, dense = _adagrad(rushlight, sparse=True), _adagrad(rushlight, sparse=False)
    assert all(map(rushlight.equal, sparse, dense))


def test_a_regression_on_values_that_are_there():
    """Gradient descent on a masked mean of squares, step by step as PyTorch takes it."""

    def program(lib):
        targets = lib.tensor([2.0, NAN, 6.0, 8.0])
        x = lib.tensor([1.0, 2.0, 3.0, 4.0])
        there = ~targets.isnan()
        weight, losses = lib.tensor(0.0), []
        for _ in range(4):
            factor = lib.full((4,), weight.item(), requires_grad=True)
            error = lib.masked.as_masked_tensor(factor * x - targets, there)
            loss = (error * error).mean()
            loss.backward()
            weight = weight - 0.05 * factor.grad.to_tensor(0).sum()
            losses.append(loss.detach())
        return weight, losses

    both(program)
