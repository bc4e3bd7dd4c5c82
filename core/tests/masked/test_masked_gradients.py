"""Gradients of masked tensors: masked tensors, equal to PyTorch's."""

import sys
from pathlib import Path

import pytest

import rushlight

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from carrying import DATA, MASK, both, carrying  # noqa: E402

PROGRAMS = {
    "sum": lambda lib, x: x.sum(),
    "mean": lambda lib, x: x.mean(),
    "mean of columns": lambda lib, x: x.mean(0).sum(),
    "kept": lambda lib, x: x.pow(3).sum(1, True).sum(),
    "prod": lambda lib, x: x.prod(),
    "prod of rows": lambda lib, x: x.prod(1).sum(),
    "amax": lambda lib, x: x.amax(),
    "amin of rows": lambda lib, x: x.amin(1).sum(),
    "std": lambda lib, x: x.std(),
    "var of rows": lambda lib, x: x.var(1).sum(),
    "softmax": lambda lib, x: (x.softmax(1) * x.detach()).sum(),
    "exp": lambda lib, x: x.exp().sum(),
    "sin": lambda lib, x: x.sin().cos().square().sum(),
    "log": lambda lib, x: x.abs().log().sqrt().sum(),
    "product": lambda lib, x: (x * x).sum(0).sum(),
    "quotient": lambda lib, x: (x / (x + 10)).mean(1).sum(),
    "without mask": lambda lib, x: (x * lib.tensor(DATA) - lib.tensor(DATA)).sum(),
    "broadcast": lambda lib, x: (x * lib.tensor([1.0, 2.0, 3.0])).sum(0).amax(),
    "data": lambda lib, x: x.get_data().sum(),
    "filled": lambda lib, x: x.to_tensor(0).pow(2).sum(),
    "row": lambda lib, x: x[0].sum(),
    "slice": lambda lib, x: x[:, 1:].exp().sum(),
    "cat": lambda lib, x: lib.cat([x, x]).sum(),
    "stack": lambda lib, x: lib.stack([x, x * 2]).sum(),
    "expand": lambda lib, x: x.expand(2, 2, 3).sum(),
    "view": lambda lib, x: x.view(3, 2).sum(0).prod(),
    "contiguous": lambda lib, x: x.t().contiguous().sum(),
    "double": lambda lib, x: x.double().sum(),
    "written": lambda lib, x: (x * 1).add_(1).mul_(2).sum(),
    "negative": lambda lib, x: (-x).sum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_pytorch(name):
    def program(lib):
        x = carrying(lib, requires_grad=True)
        PROGRAMS[name](lib, x).backward()
        assert x.is_leaf
        return x.grad

    both(program)


def test_function_that_takes_gradients():
    def program(lib):
        x = carrying(lib, requires_grad=True)
        return lib.autograd.grad(x.exp().sum(), x)

    both(program)


@pytest.mark.parametrize("masked", [False, True])
def test_given_gradients(masked):
    def program(lib):
        x = carrying(lib, requires_grad=True)
        given = lib.ones(2, 3)
        x.sin().backward(carrying(lib, [[1.0] * 3] * 2) if masked else given)
        return x.grad

    both(program)


def test_gradients_add_up():
    def program(lib):
        x = carrying(lib, requires_grad=True)
        for _ in range(2):
            (x * 3).sum().backward()
        return x.grad

    both(program)


def test_history_of_data():
    def program(lib):
        data = lib.tensor(DATA, requires_grad=True)
        x = lib.masked.as_masked_tensor(data, lib.tensor(MASK))
        assert (x.requires_grad, x.is_leaf) == (True, False)
        x.exp().mean(0).sum().backward()
        return data.grad

    both(program)


def test_gradients_of_gradients():
    def program(lib):
        x = carrying(lib, requires_grad=True)
        (first,) = lib.autograd.grad(x.exp().sum(), x, create_graph=True)
        (first * first).sum().backward()
        return x.grad

    both(program)


def test_hooks_see_masked_gradients():
    x = carrying(rushlight, requires_grad=True)
    x.register_hook(lambda grad: grad * 2)
    x.sum().backward()
    assert x.grad.to_tensor(0).tolist() == [[2.0, 0.0, 2.0], [0.0, 2.0, 2.0]]


def test_nothing_is_recorded_without_grad():
    x = carrying(rushlight, requires_grad=True)
    with rushlight.no_grad():
        assert not (x * 2).requires_grad
        assert not x.sum().requires_grad
        assert not rushlight.where(rushlight.tensor(MASK), x, 0).requires_grad


BEFORE = {
    "quotient": lambda lib, x: x / lib.tensor([[0.0, 1.0, 2.0], [0.0, 4.0, 0.5]]),
    "product": lambda lib, x: x * 2 * lib.tensor(DATA),
    "functions": lambda lib, x: (x + 7).log().sin(),
    "root": lambda lib, x: x**0.5,
    "chosen": lambda lib, x: lib.where(x > 0, x, 0.0),
    "rows": lambda lib, x: x.exp()[1:],
    "sums": lambda lib, x: x.expand(2, 2, 3).sum(0),
    "means": lambda lib, x: x.expand(2, 2, 3).mean(0),
}


@pytest.mark.parametrize("name", BEFORE)
def test_history_before_the_mask(name):
    """Also the gradients of what came before are masked tensors: no nan where nothing counts."""

    def program(lib):
        x = lib.tensor(DATA, requires_grad=True)
        data = BEFORE[name](lib, x)
        lib.masked.as_masked_tensor(data, lib.isfinite(data)).sum().backward()
        return x.grad

    both(program)


def test_where_is_safe_from_nan():
    def program(lib):
        x = lib.tensor([-2.0, 0.0, 3.0])
        below = x < 1
        left = lib.masked.masked_tensor(x, below, requires_grad=True)
        right = lib.masked.masked_tensor(x, ~below, requires_grad=True)
        chosen = lib.where(below, lib.exp(left), lib.log(right))
        chosen.sum().backward()
        return chosen, left.grad, right.grad

    both(program)


def test_where_of_a_dense_operand():
    x = carrying(rushlight, requires_grad=True)
    dense = rushlight.tensor(DATA, requires_grad=True)
    (rushlight.where(dense.detach() > 0, x * 2, dense * 3)).sum().backward()
    assert dense.grad.tolist() == [[0.0, 3.0, 0.0], [0.0, 0.0, 3.0]]
    assert x.grad.to_tensor(0).tolist() == [[2.0, 0.0, 2.0], [0.0, 2.0, 0.0]]


def test_functions_whose_gradients_pytorch_refuses():
    mask = torch.tensor(MASK)

    def expected(function):
        x = torch.tensor(DATA, requires_grad=True, dtype=torch.float64)
        function(x).masked_fill(~mask, 0).sum().backward()
        return x.grad.masked_fill(~mask, 0).flatten().tolist()

    for function in (
        lambda x: x.tanh(), lambda x: x.sigmoid(), lambda x: x.clamp(-1, 1), lambda x: 1 - x,
        lambda x: x.maximum(x * 2), lambda x: x.relu(),
    ):  # fmt: skip
        x = carrying(rushlight, requires_grad=True, dtype=rushlight.float64)
        function(x).sum().backward()
        assert x.grad.to_tensor(0).flatten().tolist() == pytest.approx(
            expected(function), rel=1e-12
        )


def test_parts_of_a_split():
    x = carrying(rushlight, requires_grad=True)
    for parts in (x.split(1), x.chunk(2), x.unbind(), x.split([1, 1]), x.tensor_split(2)):
        (parts[0].sum() * 2).backward()
        assert x.grad.to_tensor(0).tolist() == [[2.0, 0.0, 2.0], [0.0] * 3]
        assert x.grad.get_mask().tolist() == [MASK[0], [False] * 3]
        x.grad = None


def test_leaves_may_not_be_written_to():
    with pytest.raises(RuntimeError, match="leaf"):
        carrying(rushlight, requires_grad=True).add_(1)


def test_an_optimizer_step():
    x = rushlight.nn.Parameter(carrying(rushlight))
    optimizer = rushlight.optim.SGD([x], lr=0.5)
    (x * x).sum().backward()
    optimizer.step()
    assert x.detach().to_tensor(7).tolist() == [[0.0, 7.0, 0.0], [7.0, 0.0, 0.0]]
