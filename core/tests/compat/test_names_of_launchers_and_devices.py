"""Inner modules that libraries import: devices of new tensors, free ports, TorchScript's switch."""

import socket

import pytest

import rushlight
from rushlight.distributed.elastic import utils as elastic
from rushlight.distributed.elastic.utils.distributed import get_free_port
from rushlight.jit import _state
from rushlight.utils import _device

torch = pytest.importorskip("torch")


def test_devices_of_new_tensors():
    def program(lib):
        inner = lib.utils._device
        seen = [inner.CURRENT_DEVICE]
        with inner.DeviceContext("meta"):
            seen += [inner.CURRENT_DEVICE, lib.ones(1).device]
        made = inner.set_device("meta")(lambda: lib.zeros(1))()
        seen += [made.device, inner.CURRENT_DEVICE, lib.zeros(1).device]
        lib.set_default_device("meta")
        seen.append(inner.CURRENT_DEVICE)
        lib.set_default_device(None)
        return [str(device) for device in (*seen, inner.CURRENT_DEVICE)]

    import torch.utils._device  # noqa: F401 - PyTorch loads it at first use

    assert _device.CURRENT_DEVICE is None
    assert program(rushlight) == program(torch)


def test_a_free_port_can_be_listened_at():
    with elastic.get_socket_with_port() as held:
        taken, port = held.getsockname()[1], get_free_port()
    assert taken != port
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", port))


def test_variables_of_the_environment(monkeypatch):
    monkeypatch.setenv("RANK_OF_MINE", "3")
    assert elastic.get_env_variable_or_raise("RANK_OF_MINE") == "3"
    monkeypatch.delenv("RANK_OF_MINE")
    with pytest.raises(ValueError, match="RANK_OF_MINE expected, but not set"):
        elastic.get_env_variable_or_raise("RANK_OF_MINE")


def add_one(x):
    """A function that is scripted here."""
    return x + 1


def test_scripts_and_traces_are_turned_off():
    x = rushlight.ones(1)
    assert _state._enabled and rushlight.jit.script(add_one) is not add_one
    _state.disable()
    try:
        assert not _state._enabled
        layer = rushlight.nn.Linear(1, 1)
        assert rushlight.jit.script(layer) is layer
        assert rushlight.jit.trace(add_one, x) is add_one
        assert rushlight.jit.trace_module(layer, {"forward": x}) is layer
        _state.enable()
        assert rushlight.jit.script(add_one)(x).tolist() == [2.0]
    finally:
        _state._enabled.chosen = None


def test_what_the_package_is_built_with():
    names = "_has_mps _has_xpu _has_magma _has_cusparselt _has_kleidiai".split()
    assert [getattr(rushlight._C, n) for n in names] == [getattr(torch._C, n) for n in names]
    assert rushlight.cuda._initialized is rushlight.cuda.is_initialized()


def test_graphs_are_made_as_often_as_asked_inside_of_a_context():
    def program(lib):
        config, utils = lib._dynamo.config, lib._dynamo.utils
        before = config.recompile_limit, config.accumulated_cache_size_limit
        with utils.disable_cache_limit():
            inside = config.cache_size_limit, config.accumulated_recompile_limit
        return before, inside, config.recompile_limit

    import torch._dynamo.utils  # noqa: F401 - a module that is loaded at first use

    import rushlight._dynamo.utils

    assert program(rushlight) == program(torch)
