"""In-place ops whose gradient needs what was there before."""

import pytest

import rushlight

torch = pytest.importorskip("torch")
WRITES = {
    "mul_": lambda x, b: x.mul_(b),
    "pow_": lambda x, b: x.pow_(2),
    "cumprod_": lambda x, b: x.cumprod_(0),
    "sin_": lambda x, b: x.sin_(),
    "of a view": lambda x, b: x[0].mul_(b[0]),
    "one after the other": lambda x, b: x.sin_().pow_(3).mul_(b),
    "scatter_reduce_": lambda x, b: x.scatter_reduce_(0, (b > 6).long(), b, "prod"),
}


@pytest.mark.parametrize("name", WRITES)
def test_the_original_is_kept(name):
    found = []
    for lib in (rushlight, torch):
        a = lib.tensor([2.0, 3.0], requires_grad=True, dtype=lib.float64)
        b = lib.tensor([5.0, 7.0], requires_grad=True, dtype=lib.float64)
        x = a * 1.5
        WRITES[name](x, b)
        (grad,) = lib.autograd.grad((x * x).sum(), a, create_graph=True)
        (second,) = lib.autograd.grad(grad.sum(), a)
        found.append([*grad.tolist(), *second.tolist()])
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_the_other_operand_is_not():
    x = rushlight.tensor([2.0], requires_grad=True) * 1.0
    x.mul_(x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        x.sum().backward()
