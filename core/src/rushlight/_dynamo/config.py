"""Settings of PyTorch's graph capture, with its defaults. `recompile_limit`, `error_on_recompile`
and `disable` mean what they do there; the others can be set, and change nothing."""

from __future__ import annotations

import contextlib
import sys
import types

from rushlight.compiler import config as switches

allow_rnn = False
assume_static_by_default = True
automatic_dynamic_shapes = True
capture_dynamic_output_shape_ops = False
capture_scalar_outputs = False
compiled_autograd = False
disable = False
dynamic_shapes = True
error_on_recompile = False
force_parameter_static_shapes = True
guard_nn_modules = True
inline_inbuilt_nn_modules = True
optimize_ddp = True
skip_fsdp_hooks = True
specialize_float = False
specialize_int = False
suppress_errors = False
verbose = False


@contextlib.contextmanager
def patch(changes=None, **more):
    """Settings that hold inside of ``with``: ``patch(name=value)`` or ``patch({"name": value})``.

    Raises AttributeError for a name that is no setting.
    """
    module = sys.modules[__name__]
    wanted = {**({} if changes is None else changes), **more}
    before = {name: getattr(module, name) for name in wanted}
    try:
        for name, value in wanted.items():
            setattr(module, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def _limit(name):
    """A limit of :mod:`rushlight.compiler.config` as an attribute of this module."""
    return property(
        lambda module: getattr(switches, name),
        lambda module, value: setattr(switches, name, value),
    )


class _Settings(types.ModuleType):
    """This module, with the limits under the names of both PyTorch's old and new versions."""

    recompile_limit = cache_size_limit = _limit("recompile_limit")
    accumulated_recompile_limit = accumulated_cache_size_limit = _limit(
        "accumulated_recompile_limit"
    )


sys.modules[__name__].__class__ = _Settings
