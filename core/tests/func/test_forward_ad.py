"""Dual tensors by hand: `autograd.forward_ad`."""

import pytest

import rushlight
import rushlight.autograd.forward_ad as fwAD


def test_tangents_go_through_a_program():
    x, t = rushlight.tensor([1.0, 2.0]), rushlight.tensor([0.5, 1.0])
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, t)
        assert fwAD.unpack_dual(dual).primal.tolist() == x.tolist()
        assert fwAD.unpack_dual(dual).tangent is t
        found = fwAD.unpack_dual((dual.exp() * dual).sum())
        assert rushlight.allclose(found.tangent, (x.exp() * (1 + x) * t).sum())
        assert fwAD.unpack_dual(x).tangent is None
        assert fwAD.unpack_dual(dual.detach()).tangent is None
    assert fwAD.unpack_dual(dual).tangent is None
    assert (dual + 1).tolist() == [2.0, 3.0]


def test_modules_with_dual_parameters():
    layer = rushlight.nn.Linear(3, 2)
    x, move = rushlight.randn(4, 3), rushlight.randn(2, 3)
    with fwAD.dual_level():
        weight = fwAD.make_dual(layer.weight.detach(), move)
        out = rushlight.func.functional_call(layer, {"weight": weight}, (x,))
        tangent = fwAD.unpack_dual(out).tangent
    assert rushlight.allclose(tangent, x @ move.T, atol=1e-6)


def test_reverse_over_forward():
    x = rushlight.tensor([1.0, 2.0], requires_grad=True)
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, rushlight.tensor([1.0, 1.0]))
        value = (dual**3).sum()
        (slope,) = rushlight.autograd.grad(value, x)
        assert fwAD.unpack_dual(slope).primal.tolist() == [3.0, 12.0]
        assert fwAD.unpack_dual(slope).tangent.tolist() == [6.0, 12.0]
        (second,) = rushlight.autograd.grad(fwAD.unpack_dual((dual**3).sum()).tangent, x)
        assert second.tolist() == [6.0, 12.0]


def test_levels():
    number = fwAD.enter_dual_level()
    assert number == 0
    with pytest.raises(RuntimeError, match="Nested forward mode AD"):
        fwAD.enter_dual_level()
    fwAD.exit_dual_level()
    with pytest.raises(RuntimeError, match="exit a forward AD level"):
        fwAD.exit_dual_level()
    with pytest.raises(RuntimeError, match="no level exists"):
        fwAD.make_dual(rushlight.ones(2), rushlight.ones(2))


def test_wrong_duals_are_refused():
    with fwAD.dual_level():
        with pytest.raises(ValueError, match="floating point or complex"):
            fwAD.make_dual(rushlight.arange(2), rushlight.ones(2))
        with pytest.raises(RuntimeError, match="different size"):
            fwAD.make_dual(rushlight.ones(2), rushlight.ones(3))
        with pytest.raises(TypeError, match="tangent must be a Tensor"):
            fwAD.make_dual(rushlight.ones(2), 1.0)


def test_jvp_inside_of_a_level():
    x = rushlight.tensor(0.7)
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, rushlight.tensor(1.0))
        _, slope = rushlight.func.jvp(rushlight.sin, (dual,), (rushlight.tensor(1.0),))
        assert rushlight.allclose(fwAD.unpack_dual(slope).tangent, -x.sin())


def test_in_place_writes_carry_tangents():
    x = rushlight.tensor([1.0, 2.0])
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, rushlight.tensor([1.0, 0.0]))
        out = rushlight.zeros(3)
        out[1:] = dual * 2
        out.mul_(3)
        assert fwAD.unpack_dual(out).tangent.tolist() == [0.0, 6.0, 0.0]
        assert fwAD.unpack_dual(out).primal.tolist() == [0.0, 6.0, 12.0]
