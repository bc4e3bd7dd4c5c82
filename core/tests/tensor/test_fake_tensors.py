"""Tensors that pretend to have elements, beside PyTorch's."""

from __future__ import annotations

import pathlib
import pickle
import sys

import pytest

import rushlight
from rushlight import nn
from rushlight._guards import active_fake_mode, detect_fake_mode
from rushlight._subclasses import FakeTensor, FakeTensorMode
from rushlight._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorDeviceMismatchError,
    UnsupportedFakeTensorException,
    is_fake,
    maybe_get_fake_mode,
    unset_fake_temporarily,
)
from rushlight.fx.passes.fake_tensor_prop import FakeTensorProp

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from fake_programs import PROGRAMS, run


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_pytorch_s(name):
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("torch._subclasses").FakeTensorMode()
    assert run(rushlight, FakeTensorMode(), PROGRAMS[name]) == run(torch, theirs, PROGRAMS[name])


def test_a_model_that_is_too_large_on_a_device_that_is_not_there():
    with FakeTensorMode() as mode:
        net = nn.Sequential(nn.Linear(60_000, 900_000), nn.ReLU(), nn.Linear(900_000, 10)).cuda()
        loss = net(rushlight.randn(8, 60_000, device="cuda")).square().mean()
        loss.backward()
    gradient = net[0].weight.grad
    assert type(gradient) is FakeTensor and gradient.fake_mode is mode
    assert gradient.shape == (900_000, 60_000) and str(gradient.device) == "cuda:0"
    with pytest.raises(RuntimeError, match="not available|CUDA"):
        rushlight.ones(2, device="cuda:7")


def test_memory_is_shared_by_views():
    with FakeTensorMode():
        x = rushlight.ones(2, 3)
    assert x.t().untyped_storage() is x.untyped_storage()
    assert (x + 1).untyped_storage() is not x.untyped_storage()


def test_errors_name_what_was_asked():
    with FakeTensorMode() as mode:
        x, y = rushlight.ones(3), rushlight.ones(3, device="cuda")
        with pytest.raises(DataDependentOutputException, match="_local_scalar_dense") as caught:
            x.sum().item()
        assert str(caught.value.func) == "aten._local_scalar_dense.default"
        with pytest.raises(DynamicOutputShapeException, match="aten.nonzero.default"):
            x.nonzero()
        with pytest.raises(FakeTensorDeviceMismatchError, match="cpu and cuda:0.*aten.add.Tensor"):
            x + y
    with pytest.raises(AssertionError, match="allow_non_fake_inputs'. Found in aten.mul.Tensor"):
        x * rushlight.ones(3)
    with pytest.raises(AssertionError, match="Mixing fake modes"):
        x * FakeTensorMode().from_tensor(rushlight.ones(3))
    with pytest.raises(UnsupportedFakeTensorException, match="sparse_coo"):
        mode.from_tensor(rushlight.eye(3).to_sparse())
    with pytest.raises(NotImplementedError, match="shape_env"):
        FakeTensorMode(static_shapes=False)
    loose = FakeTensorMode(allow_non_fake_inputs=True)
    assert type(loose.from_tensor(rushlight.ones(3)) * rushlight.ones(3)) is FakeTensor


def test_which_mode():
    mode, x = FakeTensorMode(), rushlight.ones(2)
    assert active_fake_mode() is None and detect_fake_mode([x]) is None
    fake = mode.from_tensor(x)
    assert detect_fake_mode([x, fake]) is mode and maybe_get_fake_mode(fake) is mode
    assert is_fake(fake) and not is_fake(x) and maybe_get_fake_mode(x) is None
    with mode:
        assert active_fake_mode() is mode
        with unset_fake_temporarily() as before:
            assert before is mode and type(rushlight.ones(2)) is rushlight.Tensor
        assert type(rushlight.ones(2)) is FakeTensor
    with pytest.raises(AssertionError, match="fake mode"):
        detect_fake_mode([fake, FakeTensorMode().from_tensor(x)])


def test_the_same_tensor_until_it_is_gone():
    mode, x = FakeTensorMode(), rushlight.ones(2)
    parameter = nn.Parameter(rushlight.ones(2, 3))
    parameter.grad = rushlight.zeros(2, 3)
    fake = mode.from_tensor(parameter)
    assert isinstance(fake, nn.Parameter) and fake.requires_grad and fake.is_leaf
    assert type(fake.grad) is FakeTensor
    assert mode.from_tensor(x) is mode.from_tensor(x)
    count = len(mode._made)
    del x
    assert len(mode._made) == count - 1


def test_known_elements_are_those_of_small_results():
    with FakeTensorMode():
        x = rushlight.tensor([1.0, 2.0])
        assert x.tolist() == [1.0, 2.0]
        with pytest.raises(DataDependentOutputException):
            (x * 2).tolist()
        assert x.mul_(2) is x and x.add_(1).tolist() == [3.0, 5.0]
        y = rushlight.tensor(4)
        part = y[None]
        y.mul_(3)
        assert (int(y), int(part)) == (12, 12)
        y.random_()
        with pytest.raises(DataDependentOutputException):
            int(part)


def test_shapes_of_graphs_in_a_mode():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 4)

        def forward(self, x):
            return rushlight.relu(self.linear(x)).sum(0)

    traced, mode = rushlight.fx.symbolic_trace(Net()), FakeTensorMode()
    result = FakeTensorProp(traced, mode).propagate(rushlight.ones(2, 3))
    values = [node.meta["val"] for node in traced.graph.nodes]
    assert all(type(v) is FakeTensor and v.fake_mode is mode for v in values)
    assert [tuple(v.shape) for v in values] == [(2, 3), (2, 4), (2, 4), (4,), (4,)]
    assert type(result) is FakeTensor and result.shape == (4,)
    again = FakeTensorProp(traced, mode).propagate_dont_convert_inputs(values[0])
    assert again.shape == (4,)
    assert type(traced.linear.weight) is nn.Parameter


def test_nothing_is_left_behind():
    with pytest.raises(ZeroDivisionError), FakeTensorMode():
        raise ZeroDivisionError
    assert rushlight.devices.current.imagining == 0
    assert pickle.loads(pickle.dumps(rushlight.ones(2))).tolist() == [1, 1]
