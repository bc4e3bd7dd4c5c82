"""Small public parts of `utils.checkpoint`."""

from __future__ import annotations

import pytest

import rushlight
from rushlight.utils import checkpoint as module


def test_the_function_of_reentrant_checkpoints():
    x = rushlight.ones(3, requires_grad=True)
    module.CheckpointFunction.apply(lambda v: v * v, True, x).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_debugging_is_refused_where_it_is_switched_on():
    x = rushlight.ones(3, requires_grad=True)
    with (
        module.set_checkpoint_debug_enabled(True),
        pytest.raises(NotImplementedError, match="debug"),
    ):
        module.checkpoint(rushlight.sin, x, use_reentrant=False)
    with module.set_checkpoint_debug_enabled(False):
        module.checkpoint(rushlight.sin, x, use_reentrant=False, debug=True)


def test_states_of_devices():
    kind = module.DefaultDeviceType
    assert kind.get_device_type() == "cuda"
    kind.set_device_type("xpu")
    assert kind.get_device_type() == "xpu"
    kind.set_device_type("cuda")
    devices, states = module.get_device_states(rushlight.ones(1), [1, {"a": rushlight.ones(2)}])
    assert devices == states == []
    module.set_device_states(devices, states)
    with pytest.raises(NotImplementedError, match="xpu"):
        module.set_device_states([0], [None], device_type="xpu")
