"""Random tensors in the shape of others."""

from __future__ import annotations

import importlib

from rushlight.ops._table.aten import in_aten
from rushlight.ops._table.numpy_names import numpy_names
from rushlight.ops.creation import aten_forms as forms
from rushlight.ops.creation.tensors import empty_like
from rushlight.ops.random import compiled_sampling as drawing
from rushlight.ops.random.sampling import randint, whole_bounds
from rushlight.tensor.dispatch import stack
from rushlight.tensor.layout import only_strided
from rushlight.tensor.memory_format import contiguous_format
from rushlight.tensor.tensor import EXACT


def _recorded(function, input, dtype, layout, device, memory_format, generator):
    """A step of the program that is captured or traced; None elsewhere."""
    level = getattr(input, "_level", None)
    if level is None or not (level.kind == "tracing" or type(input).takes(function)):
        return None
    given = {"dtype": dtype, "layout": layout, "device": device, "memory_format": memory_format}
    given["generator"] = generator
    given = {name: value for name, value in given.items() if value is not None}
    return level.process(level, function, (input,), given)


def _empty_like(name, input, layout, dtype, device, memory_format):
    """What a function of this name fills: one for each example of a `vmap` where draws differ."""
    if layout is not None:
        only_strided(name, layout)
    if stack.levels:
        input = importlib.import_module("rushlight.ops._transforms.batching_random").model(input)
    return empty_like(input, dtype=dtype, device=device, memory_format=memory_format)


@in_aten(
    forms.like("rand_like"), forms.drawn(forms.like("rand_like")), call=forms.alike("rand_like")
)
@numpy_names
def rand_like(
    input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False,
    pin_memory=False, memory_format=None,
):  # fmt: skip
    """:func:`rand` in the shape, dtype and strides of `input`."""
    if dtype is layout is device is memory_format is generator is None and type(input) in EXACT:
        made = drawing.alike("uniform", input)
        if made is not None:
            return made.requires_grad_() if requires_grad else made
    made = None
    if stack.levels:
        made = _recorded(rand_like, input, dtype, layout, device, memory_format, generator)
    if made is None:
        made = _empty_like("rand_like", input, layout, dtype, device, memory_format)
        made.uniform_(generator=generator)
    return made.requires_grad_() if requires_grad else made


@in_aten(
    forms.like("randn_like"), forms.drawn(forms.like("randn_like")), call=forms.alike("randn_like")
)
@numpy_names
def randn_like(
    input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False,
    pin_memory=False, memory_format=None,
):  # fmt: skip
    """:func:`randn` in the shape, dtype and strides of `input`."""
    if dtype is layout is device is memory_format is generator is None and type(input) in EXACT:
        made = drawing.alike("normal", input, 0.0, 1.0)
        if made is not None:
            return made.requires_grad_() if requires_grad else made
    made = None
    if stack.levels:
        made = _recorded(randn_like, input, dtype, layout, device, memory_format, generator)
    if made is None:
        made = _empty_like("randn_like", input, layout, dtype, device, memory_format)
        made.normal_(generator=generator)
    return made.requires_grad_() if requires_grad else made


@numpy_names
def randint_like(
    input, low=None, high=None, *, generator=None, dtype=None, layout=None, device=None,
    requires_grad=False, pin_memory=False, memory_format=None,
):  # fmt: skip
    """:func:`randint` in the shape, dtype, strides and device of `input`."""
    only_strided("randint_like", layout)
    if low is None or high is None:
        low, high = 0, low if high is None else high
    low, high = whole_bounds("randint_like", low, high)
    options = {"generator": generator, "dtype": dtype or input._dtype}
    options["device"] = device or input._device
    if input.is_nested:
        made = input.with_elements(randint_like(input._elements, low, high, **options))
    elif stack.levels or input.is_contiguous() and memory_format in (None, contiguous_format):
        made = randint(low, high, tuple(input._array.shape), **options)
    else:
        like = empty_like(input, memory_format=memory_format)
        order = sorted(range(like.dim()), key=lambda d: -like.stride(d))  # that of its memory
        made = randint(low, high, tuple(like.shape[d] for d in order), **options)
        made = made.permute(*[order.index(d) for d in range(like.dim())])
    return made.requires_grad_() if requires_grad else made
