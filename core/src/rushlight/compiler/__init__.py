"""Elementwise programs: bodies in array language, traced, compiled for the CPU, or run by NumPy.

``xp`` is the vocabulary of bodies, :func:`compile_kernel` makes a kernel of one, :func:`reference`
an executor that uses NumPy only. Nothing heavy is imported before the first kernel runs.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from rushlight import refusals
from rushlight.compiler.backends import (
    get_default_backend,
    list_backends,
    set_default_backend,
)
from rushlight.compiler.compilation import compile_kernel, reference
from rushlight.compiler.eager import (
    allow_in_graph,
    assume_constant_result,
    cudagraph_mark_step_begin,
    disable,
    is_compiling,
    is_dynamo_compiling,
    is_exporting,
    nested_compile_region,
    reset,
    set_enable_guard_collectives,
)
from rushlight.compiler.functions import composites as _composites  # noqa: F401 - adds words to xp
from rushlight.compiler.graph import Expr
from rushlight.compiler.guard_filters import (
    keep_portable_guards_unsafe,
    keep_tensor_guards_unsafe,
    skip_all_guards_unsafe,
    skip_guard_on_all_nn_modules_unsafe,
    skip_guard_on_globals_unsafe,
    skip_guard_on_inbuilt_nn_modules_unsafe,
)
from rushlight.compiler.kernel import Kernel, ReferenceKernel
from rushlight.compiler.stances import set_stance
from rushlight.compiler.substitutes import substitute_in_graph
from rushlight.compiler.vocabulary import is_traced, xp

if TYPE_CHECKING:
    from rushlight.capture.compiling import compile
    from rushlight.compiler import config
    from rushlight.compiler.array_functions import wrap_numpy
    from rushlight.compiler.artifacts import load_cache_artifacts, save_cache_artifacts

__all__ = [
    "Expr",
    "Kernel",
    "ReferenceKernel",
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "compile_kernel",
    "config",
    "cudagraph_mark_step_begin",
    "disable",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "is_traced",
    "keep_portable_guards_unsafe",
    "keep_tensor_guards_unsafe",
    "list_backends",
    "load_cache_artifacts",
    "nested_compile_region",
    "reference",
    "reset",
    "save_cache_artifacts",
    "set_default_backend",
    "set_enable_guard_collectives",
    "set_stance",
    "skip_all_guards_unsafe",
    "skip_guard_on_all_nn_modules_unsafe",
    "skip_guard_on_globals_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe",
    "substitute_in_graph",
    "wrap_numpy",
    "xp",
]

# Imported at first use: they need more modules than the rest.
_LATER = {
    "config": "config",
    "load_cache_artifacts": "artifacts",
    "save_cache_artifacts": "artifacts",
    "wrap_numpy": "array_functions",
}


def __getattr__(name):
    if name == "load_compiled_function":
        return refusals.lookup("compiler", name)
    if name == "compile":  # PyTorch's second name of the package's own
        return sys.modules["rushlight"].compile
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_LATER[name]}")
    found = module if name == "config" else getattr(module, name)
    globals()[name] = found
    return found


def __dir__():
    return sorted({*globals(), *__all__})
