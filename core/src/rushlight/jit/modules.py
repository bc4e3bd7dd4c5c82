"""Modules that run compiled code: parameters, buffers and children as any module has them."""

from __future__ import annotations

from rushlight.jit.kinds import ClassType
from rushlight.nn.module import Module
from rushlight.nn.parameter import Parameter
from rushlight.tensor.tensor import Tensor


class TypeView:
    """The type of a compiled module: its name in the program."""

    def __init__(self, kind):
        self._kind = kind

    def name(self) -> str:
        """The last part of the name."""
        return str(self._kind).rpartition(".")[2]

    def qualified_name(self) -> str:
        """The whole name, ``__torch__.Model``."""
        return str(self._kind)

    def __str__(self):
        return self.qualified_name()


class ModuleView:
    """The attributes and methods of a compiled module by name.

    >>> import rushlight
    >>> view = rushlight.jit.script(rushlight.nn.Linear(2, 3))._c
    >>> view.getattr("in_features"), view.hasattr("weight"), view._has_method("backward")
    (2, True, False)
    """

    def __init__(self, module):
        self._module = module

    def _type(self) -> TypeView:
        """The type of the module."""
        return TypeView(type(self._module)._script_type)

    @property
    def qualified_name(self) -> str:
        """The name of its type in the program."""
        return self._type().qualified_name()

    def hasattr(self, name: str) -> bool:
        """Whether it has an attribute, parameter, buffer or child of a name; methods are none."""
        kind = type(self._module)._script_type
        return name in kind.attributes or name in kind.constants

    def getattr(self, name: str):
        """An attribute, a child as a view; RuntimeError for a name that it does not have."""
        if not self.hasattr(name):
            raise RuntimeError(
                f"Module '{self._type().name()}' has no attribute '{name}' (it has "
                f"{', '.join(sorted(type(self._module)._script_type.attributes))})"
            )
        found = getattr(self._module, name)
        return ModuleView(found) if isinstance(found, Module) else found

    def setattr(self, name: str, value) -> None:
        """Set an attribute; RuntimeError for a name that it does not have."""
        self.getattr(name)
        setattr(self._module, name, value._module if isinstance(value, ModuleView) else value)

    def _method_names(self) -> list[str]:
        """The names of its compiled methods."""
        return sorted(type(self._module)._script_type.methods)

    def _has_method(self, name: str) -> bool:
        """Whether it has a compiled method of a name."""
        return name in type(self._module)._script_type.methods

    def _get_method(self, name: str):
        """A compiled method, with its `graph`, `code` and `schema`."""
        if not self._has_method(name):
            raise RuntimeError(f"Method '{name}' is not defined.")
        return self._module._method(name)


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

    def graph_for(self, *args, **kwargs):
        """The operations of ``forward`` with those of the children, after a call of it with the
        arguments: there is no other graph for one kind of arguments."""
        self(*args, **kwargs)
        return self.inlined_graph

    @property
    def _c(self):
        """The module as PyTorch's programs ask its compiled half: see :class:`ModuleView`."""
        return ModuleView(self)

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
    "ModuleView",
    "RecursiveScriptModule",
    "ScriptModule",
    "TopLevelTracedModule",
    "TracedModule",
    "TypeView",
    "fill",
]
