"""Small public parts of `utils.checkpoint`."""

from __future__ import annotations

import pytest

import rushlight
from rushlight.utils import checkpoint as module


def test_the_function_of_reentrant_checkpoints():
    x = rushlight.ones(3, requires_grad=True)
    module.CheckpointFunction.apply(lambda v: v * v, True, x).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_debugging_names_the_operations_of_both_runs():
    x, runs = rushlight.ones(3, requires_grad=True), []

    def part(v):
        runs.append(1)
        return v.sin().exp() if len(runs) == 1 else v.cos()

    with module.set_checkpoint_debug_enabled(True):
        out = module.checkpoint(part, x, use_reentrant=False)
    with pytest.raises(module.CheckpointError, match="called: sin, exp\nThe second .*: cos"):
        out.sum().backward()
    with module.set_checkpoint_debug_enabled(False):
        module.checkpoint(rushlight.sin, x, use_reentrant=False, debug=True).sum().backward()
    with pytest.raises(ValueError, match="context_fn"):
        module.checkpoint(
            rushlight.sin, x, use_reentrant=False, debug=True, context_fn=lambda: (None, None)
        )


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
