"""Methods that make new tensors of a tensor's dtype, on its device: ``x.new_zeros(2, 3)``."""

from __future__ import annotations

from rushlight.dtypes import dtype as DType
from rushlight.ops._table.aten import in_aten
from rushlight.ops.creation import aten_forms as forms
from rushlight.ops.creation.tensors import empty, full, ones, plainly_made, tensor, zeros
from rushlight.tensor.dispatch import STATE, captured
from rushlight.tensor.dispatch import stack as transforms
from rushlight.tensor.layout import jagged, strided
from rushlight.tensor.overriding import call_by_override
from rushlight.tensor.subclasses import of_same_class
from rushlight.tensor.tensor import EXACT, Tensor

_PLAIN = {zeros: 0, ones: 1, empty: None}


def _schema(name):
    filled = "Scalar fill_value, " if name == "new_full" else ""
    return forms.sized(name, filled).replace("(", "(Tensor self, ", 1)


def _form(name):
    def call(self, *args, dtype=None, device=None):
        size = args[:1] if name == "new_full" else args
        given = {"self": self, "size": forms.sizes_of_call(size), "dtype": dtype}
        if name == "new_full":
            given["fill_value"] = args[1]
        return name, given | {"pin_memory": False} | ({} if device is None else {"device": device})

    return call


def _named_first(method, first, named):
    """The first argument, given by name."""
    if first not in named:
        raise TypeError(f"{method.__name__}() missing required argument: '{first}' (pos 1)")
    return (named.pop(first),)


def _of_program(method, args, options):
    """A new tensor of a program that is captured; new_tensor copies data, which is no step."""
    return captured(method, args, options) if hasattr(method, "aten_call") else NotImplemented


def _made(function, args, named):
    """What a function makes for its method, which errors name instead."""
    try:
        return function(*args, **named)
    except TypeError as error:
        if not str(error).startswith(function.__name__ + "()"):
            raise
        raise TypeError("new_" + str(error)) from None


def _new_method(function):
    first = None if function is full or function is tensor else "size"
    plain, fill = function in _PLAIN, _PLAIN.get(function)

    def method(
        self, *args, dtype=None, layout=None, device=None, pin_memory=False,
        requires_grad=False, **named,
    ):  # fmt: skip
        if STATE.modes:  # sizes may be stand-ins of a program that is traced
            options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
            options = {k: v for k, v in options.items() if v is not None and v is not False}
            made = call_by_override(method, (self, *args), options | named)
            if made is not NotImplemented:
                return made
        if plain and args and layout is device is None and not requires_grad and not named:
            if type(self) in EXACT and not STATE.levels and (dtype is None or type(dtype) is DType):
                made = plainly_made(args, fill, dtype or self._dtype, self._device)
                if made is not None:
                    return made
        if first is not None and not args:
            args = _named_first(method, first, named)
        if STATE.levels and not requires_grad:
            made = _of_program(method, (self, *args), {"dtype": dtype, "device": device})
            if made is not NotImplemented:
                return made
        layout = self.layout if layout is None else layout
        if layout not in (strided, jagged) and function is not tensor:
            named["layout"] = layout
        named.update(
            dtype=dtype or self._dtype, device=device or self._device, requires_grad=requires_grad
        )
        made = _made(function, args, named)
        if STATE.levels and transforms.levels and getattr(self, "_level", None) is not None:
            return self._made_like(made)
        return made if type(self) in EXACT else of_same_class(Tensor, self, made)

    method.__name__ = "new_" + function.__name__
    if function is not tensor:
        in_aten(_schema(method.__name__), call=_form(method.__name__))(method)
    method.__doc__ = f":func:`{function.__name__}` with this tensor's dtype and device."
    return method


Tensor.new_zeros, Tensor.new_ones = _new_method(zeros), _new_method(ones)
Tensor.new_empty, Tensor.new_full = _new_method(empty), _new_method(full)
Tensor.new_tensor = _new_method(tensor)
