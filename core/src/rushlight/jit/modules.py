"""Modules that run compiled code: parameters, buffers and children as any module has them."""

from __future__ import annotations

from rushlight.jit.kinds import ClassType
from rushlight.nn.module import Module
from rushlight.nn.parameter import Parameter
from rushlight.tensor.tensor import Tensor


class ScriptModule(Module):
    """A module whose ``forward`` is compiled: what :func:`script` and :func:`load` give."""

    original_name = "ScriptModule"
    _script_type: ClassType  # its class in the program

    def extra_repr(self):
        """The name of the class that was compiled."""
        return f"original_name={self.original_name}"

    def _get_name(self):
        return "RecursiveScriptModule"

    @property
    def code(self) -> str:
        """The TorchScript source of ``forward``."""
        return self._method("forward").code

    @property
    def code_with_constants(self) -> tuple:
        """The source of ``forward``, and an object with its tensors: see :attr:`code`."""
        return self._method("forward").code_with_constants

    def _method(self, name):
        """A method with its code, whether it runs compiled or is a layer's own."""
        from rushlight.jit.callables import ScriptMethod

        kind = type(self)._script_type
        return ScriptMethod(self, kind.scope[0].method(kind, name))

    @property
    def graph(self):
        """The operations of ``forward``; `str` gives the text."""
        return self._method("forward").graph

    @property
    def inlined_graph(self):
        """The operations of ``forward`` with those of the children."""
        return self._method("forward").inlined_graph

    def save(self, f, _extra_files=None) -> None:
        """Write an archive: see :func:`rushlight.jit.save`."""
        from rushlight.jit.saving import save

        save(self, f, _extra_files)

    def save_to_buffer(self, _extra_files=None) -> bytes:
        """The bytes of an archive: see :func:`rushlight.jit.save`."""
        from rushlight.jit.saving import save_to_buffer

        return save_to_buffer(self, _extra_files)

    def get_debug_state(self):
        """Refused: there are no execution plans."""
        raise NotImplementedError("get_debug_state: code runs as Python; use .code to read it")


class RecursiveScriptModule(ScriptModule):
    """A compiled module. `_script_type` is its class in the program."""

    def __init__(self):
        super().__init__()

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __getitem__(self, key):
        if isinstance(key, slice):
            raise NotImplementedError(
                "slices of compiled containers cannot be taken: take them before compiling"
            )
        if isinstance(key, str):
            return self._modules[key]
        return list(self._modules.values())[key]

    def __contains__(self, key):
        return key in self._modules

    def __bool__(self):
        return True

    def keys(self):
        """The names of the children."""
        return self._modules.keys()

    def values(self):
        """The children."""
        return self._modules.values()

    def items(self):
        """The children with their names."""
        return self._modules.items()


class TracedModule(RecursiveScriptModule):
    """A part of a module that was traced."""

    def _get_name(self):
        return self.original_name


class TopLevelTracedModule(TracedModule):
    """What :func:`trace` and :func:`trace_module` make of a module."""


def fill(module, state, part):
    """Give a new module its attributes; `part` turns a value of a file into one of the program."""
    kind = type(module)._script_type
    parameters = kind.constants.get("__parameters__", ())
    buffers = kind.constants.get("__buffers__", ())
    for name, value in state.items():
        value = part(value)
        if name in parameters and (value is None or isinstance(value, Tensor)):
            if value is not None:
                value = Parameter(value.detach(), requires_grad=value.requires_grad)
            module._parameters[name] = value
        elif name in buffers and (value is None or isinstance(value, Tensor)):
            module._buffers[name] = value
        elif isinstance(value, Module):
            module._modules[name] = value
        else:
            module.__dict__[name] = value
    return module


__all__ = [
    "RecursiveScriptModule",
    "ScriptModule",
    "TopLevelTracedModule",
    "TracedModule",
    "fill",
]
