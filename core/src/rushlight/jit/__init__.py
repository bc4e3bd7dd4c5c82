"""TorchScript: programs that run without the Python they were written in.

:func:`load` reads archives of PyTorch. The compiler and everything behind it are imported when
they are first used.
"""

from __future__ import annotations

import importlib
from typing import Final

from rushlight.jit.marks import (
    Attribute,
    _overload,
    _overload_method,
    _unwrap_optional,  # noqa: F401 - PyTorch's name
    annotate,
    export,
    ignore,
    is_scripting,
    isinstance,
    unused,
)
from rushlight.refusals import lookup

_LAZY = {
    "Error": "runtime",
    "_get_trace_graph": "trace_graph",
    "Future": "futures",
    "RecursiveScriptModule": "modules",
    "ScriptFunction": "callables",
    "ScriptModule": "modules",
    "TopLevelTracedModule": "modules",
    "TracedModule": "modules",
    "TracerWarning": "tracer.trace_state",
    "TracingCheckError": "tracer.trace_state",
    "enable_onednn_fusion": "execution_settings",
    "fork": "futures",
    "freeze": "freezing",
    "fuser": "execution_settings",
    "interface": "scripting",
    "is_tracing": "tracer.trace_state",
    "load": "reading",
    "onednn_fusion_enabled": "execution_settings",
    "optimize_for_inference": "freezing",
    "optimized_execution": "execution_settings",
    "save": "saving",
    "script": "scripting",
    "script_if_tracing": "scripting",
    "set_fusion_strategy": "execution_settings",
    "trace": "tracer.tracing",
    "trace_module": "tracer.tracing",
    "wait": "futures",
}
_REFUSED = frozenset(
    "CompilationUnit Iterator ONNXTracedModule RecursiveScriptClass ScriptWarning "
    "export_opnames jit_module_from_flatbuffer last_executed_optimized_graph "
    "run_frozen_optimizations save_jit_module_to_flatbuffer script_method strict_fusion".split()
)


def __getattr__(name):
    home = _LAZY.get(name)
    if home is not None:
        found = globals()[name] = getattr(importlib.import_module("rushlight.jit." + home), name)
        return found
    if name in _REFUSED:
        return lookup("jit", name)
    raise AttributeError(f"module 'rushlight.jit' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *_LAZY})


__all__ = [
    "Attribute",
    "Error",
    "Final",
    "Future",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "TracerWarning",
    "TracingCheckError",
    "_overload",
    "_overload_method",
    "annotate",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "optimize_for_inference",
    "save",
    "script",
    "script_if_tracing",
    "trace",
    "trace_module",
    "unused",
    "wait",
]
