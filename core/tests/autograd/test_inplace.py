"""In-place writes and views: history, versions, refusals."""

import os
import subprocess
import sys

import numpy as np
import pytest

import rushlight
from rushlight.autograd import gradcheck, gradgradcheck


def leaf(*shape):
    values = np.random.default_rng(0).uniform(0.5, 2.0, shape)
    return rushlight.tensor(values, requires_grad=True)


def test_inplace_write_invalidates_a_saved_input():
    x = leaf(3)
    y = x * 1
    z = y * y
    y.add_(1)
    with pytest.raises(
        RuntimeError, match="mul saved other, a .* at version 0; it is at version 1"
    ):
        z.sum().backward()


def test_inplace_write_invalidates_a_saved_output():
    x = leaf(3)
    y = x.exp()
    y.mul_(2)
    with pytest.raises(
        RuntimeError, match="modified by an inplace operation: exp saved its output"
    ):
        y.sum().backward()


def test_ops_that_save_nothing_do_not_mind():
    x = leaf(3)
    y = x * 1
    z = y + 1
    y.add_(1)
    z.sum().backward()
    assert x.grad.tolist() == [1.0] * 3


def test_write_through_detach_is_seen():
    x = leaf(3)
    y = x * 1
    z = y * y
    y.detach().zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        z.sum().backward()


def test_data_has_a_version_counter_of_its_own():
    x = leaf(3)
    y = x * 1
    y.data.mul_(2)
    assert y._version == 0


def in_place_on_value(x):
    y = x * 1
    y.add_(x.exp())
    y.mul_(2)
    y.sigmoid_()
    return y


def write_into_view(x):
    base = x * 2
    row = base[1]
    row.add_(x[0].exp())
    return base * base


def write_into_base_then_use_view(x):
    base = x * 2
    row = base[0]
    base.add_(x.exp())
    return row * row


def view_of_view(x):
    base = (x * 3).reshape(-1)
    part = base[1:5]
    inner = part.view(2, 2)[:, 1]
    inner.copy_(x[0, :2] ** 2)
    other = base[::2]
    return (other * part[:1]).sum() + (base**2).sum()


def masked_and_indexed_assignment(x):
    base = x * 2
    base[x.detach() > 1.2] = 3.0
    base[:, 0] = x[:, 1] * x[:, 1]
    base[rushlight.tensor([0, 1]), rushlight.tensor([1, 2])] = x[0, :2]
    return base * x


def transposed_write(x):
    base = x * 1
    base.t().unsqueeze(0).add_(x.t().exp())
    return base * base


def base_without_gradient(x):
    base = rushlight.zeros(2, 3, dtype=rushlight.float64)
    row = base[0]
    base.add_(x)
    return row * base[1]


CASES = [
    in_place_on_value,
    write_into_view,
    write_into_base_then_use_view,
    view_of_view,
    masked_and_indexed_assignment,
    transposed_write,
    base_without_gradient,
]


@pytest.mark.parametrize("function", CASES)
def test_histories_of_writes_through_views(function):
    gradcheck(function, (leaf(2, 3),))
    gradgradcheck(function, (leaf(2, 3),))


@pytest.mark.parametrize("function", CASES)
def test_histories_agree_with_torch(function):
    torch = pytest.importorskip("torch")
    values = np.random.default_rng(0).uniform(0.5, 2.0, (2, 3))
    found = []
    for library in (rushlight, torch):
        x = library.tensor(values, requires_grad=True)
        scope = {**function.__globals__, "rushlight": library}
        call = type(function)(function.__code__, scope)
        call(x).sum().backward()
        found.append(x.grad.numpy())
    np.testing.assert_allclose(*found, rtol=1e-12)


def test_leaves_and_their_views_refuse_writes():
    x = leaf(3)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        x[0].add_(1)
    with rushlight.no_grad():
        x.add_(1)
    assert x._version == 1


def test_outputs_of_split_refuse_writes():
    x = leaf(4)
    first, _ = (x * 1).split(2)
    with pytest.raises(RuntimeError, match="is the output of a function that returns multiple"):
        first.add_(1)


def test_expanded_tensors_refuse_writes():
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        rushlight.ones(1).expand(3).add_(1)


def test_results_that_do_not_fit_are_refused():
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        rushlight.ones(2, dtype=rushlight.int64).add_(0.5)
    with pytest.raises(RuntimeError, match=r"output with shape \[2\] doesn't match"):
        rushlight.ones(2).add_(rushlight.ones(3, 2))


def test_views_share_memory_and_versions():
    x = rushlight.zeros(2, 3)
    view = x.t()[1]
    view.fill_(7)
    assert x[:, 1].tolist() == [7.0, 7.0]
    assert x._version == view._version == 1
    assert view._base is x and view._is_view()
    assert x.untyped_storage() is view.untyped_storage()


def test_out_argument():
    out = rushlight.empty(0)
    assert rushlight.add(rushlight.ones(2), 1, out=out) is out and out.tolist() == [2.0, 2.0]
    with pytest.warns(UserWarning, match="was resized"):
        rushlight.add(rushlight.ones(3), 1, out=out)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        rushlight.add(leaf(2), 1, out=out)


@pytest.mark.parametrize("kernels", ["compiled", "reference"])
def test_the_first_views_of_a_layout_know_their_base(kernels):
    """In a process of its own: later views of a layout come another way."""
    program = """
import rushlight
views = [
    lambda x: x.t().unsqueeze(0),
    lambda x: x.t().unsqueeze(2),
    lambda x: x.t().unsqueeze(1).unsqueeze(0),
    lambda x: x[:, ::2].unsqueeze(0),
    lambda x: x.t().unsqueeze(0)[:, 1:],
    lambda x: x.t().unfold(0, 2, 2),
    lambda x: x.t().diagonal(),
    lambda x: x.t().as_strided((2, 2), (1, 3)),
    lambda x: x.t().unsqueeze(0).transpose(0, 1),
]
for view in views:
    x = rushlight.arange(6.0).view(2, 3).requires_grad_()
    base = x * 1
    of, version = view(base), base._version
    assert of._base is base
    of.mul_(3)
    assert base._version > version
    expected = rushlight.ones(2, 3)
    view(expected).add_(2)
    base.sum().backward()
    assert x.grad.tolist() == expected.tolist(), x.grad
"""
    environment = {**os.environ, "RUSHLIGHT_KERNELS": kernels}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, timeout=120)
