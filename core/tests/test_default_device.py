"""Ops of tensors on the CPU do not depend on the default device, which is where new tensors are."""

import op_models
import pytest

import rushlight
from rushlight import nn
from rushlight.ops._table.op import TABLE
from rushlight.ops.neural.epilogues import epilogue_of
from rushlight.testing.ops import is_differentiable
from rushlight.testing.samples import samples_of
from rushlight.utils import _pytree as pytree

MAKES = frozenset(
    "bartlett_window blackman_window hamming_window hann_window kaiser_window range tril_indices "
    "triu_indices".split()
)


def tensors_of(results):
    return [each for each in pytree.tree_leaves(results) if rushlight.is_tensor(each)]


def results_and_gradients(name, args, kwargs):
    """What a call gives, and the gradients of the sum of its first result."""
    rushlight.manual_seed(0)
    leaves, spec = pytree.tree_flatten((args, kwargs))
    leaves = [
        v.detach().clone().requires_grad_(v.requires_grad) if rushlight.is_tensor(v) else v
        for v in leaves
    ]
    args, kwargs = pytree.tree_unflatten(leaves, spec)
    found = tensors_of(TABLE[name].function(*args, **kwargs))
    if found and found[0].requires_grad and found[0].is_floating_point():
        found[0].sum().backward()
    return found + [v.grad for v in leaves if rushlight.is_tensor(v) and v.grad is not None]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in op_models.NAMES if name not in MAKES])
def test_op_under_another_default_device(name):
    samples = samples_of(TABLE[name], requires_grad=is_differentiable(TABLE[name]))[:2]
    for args, kwargs in samples:
        expected = results_and_gradients(name, args, kwargs)
        with rushlight.device("meta"):
            found = results_and_gradients(name, args, kwargs)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert one.device.type == "cpu"
            assert one.dtype is other.dtype and one.shape == other.shape
            assert one.equal(other) or rushlight.allclose(one, other, equal_nan=True)


@pytest.mark.parametrize("act", [nn.ReLU(), nn.SiLU(), nn.Hardtanh()], ids=repr)
def test_activation_behind_a_convolution(act):
    net, x = nn.Sequential(nn.Conv2d(3, 4, 3), act).eval(), rushlight.randn(1, 3, 8, 8)
    with rushlight.no_grad():
        epilogue_of.cache_clear()
        with rushlight.device("meta"):
            found = net(x)
        epilogue_of.cache_clear()
        assert found.equal(net(x))


def test_gradient_of_one_of_several_pieces():
    x = rushlight.randn(4, 3, requires_grad=True)
    with rushlight.device("meta"):
        for pieces in (x.unbind(), x.split(2), x.split([1, 3])):
            x.grad = None
            pieces[1].sum().backward()
            assert x.grad.device.type == "cpu" and x.grad[0].abs().sum() == 0


def test_random_slopes_and_padded_sources():
    x, index = rushlight.tensor([-1.0, 2.0, -3.0]), rushlight.tensor([0, 1])
    source = rushlight.ones(3, requires_grad=True)
    with rushlight.device("meta"):
        slopes = nn.functional.rrelu(x, training=True)
        rushlight.zeros(3, device="cpu").scatter_reduce(0, index, source, "sum").sum().backward()
    assert slopes[1] == 2.0 and slopes[0] < 0
    assert source.grad.tolist() == [1.0, 1.0, 0.0]
