"""What programs import from ``functorch.compile``."""

from __future__ import annotations

from rushlight._functorch.aot_autograd import (
    aot_function,
    aot_module,
    aot_module_simplified,
    make_boxed_compiler,
    make_boxed_func,
)
from rushlight._functorch.partitioners import (
    default_partition,
    min_cut_rematerialization_partition,
)
from rushlight.refusals import rest_of


def nop(fx_g, _):
    """The compiler that returns the graph module as it is."""
    return fx_g


def print_compile(fx_g, _):
    """The compiler that prints the source of the graph module and returns it."""
    print(fx_g.code)
    return fx_g


compiled_function, compiled_module = aot_function, aot_module
__getattr__ = rest_of(__name__)
__all__ = [
    "aot_function",
    "aot_module",
    "aot_module_simplified",
    "compiled_function",
    "compiled_module",
    "default_partition",
    "make_boxed_compiler",
    "make_boxed_func",
    "min_cut_rematerialization_partition",
    "nop",
    "print_compile",
]
