"""Modules and parameters in lists, dicts and sequences."""

from __future__ import annotations

import math
import operator
import warnings
from collections import OrderedDict
from itertools import islice

from rushlight.autograd.mode import mode
from rushlight.nn.activation import (
    GELU,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    ReLU,
    ReLU6,
    SiLU,
)
from rushlight.nn.convolution import Conv1d, Conv2d, Conv3d
from rushlight.nn.module import Module, has_hooks
from rushlight.nn.normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d
from rushlight.ops.elementwise import activation as ops
from rushlight.ops.neural.epilogues import epilogue_of
from rushlight.tensor.tensor import Tensor


class Container(Module):
    """Modules by keyword, of PyTorch's first days; derive from :class:`Module` instead."""

    def __init__(self, **kwargs):
        super().__init__()
        warnings.warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in "
            "`nn.Module`. Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


_BATCH_NORMS = frozenset((BatchNorm1d, BatchNorm2d, BatchNorm3d))
_CONVOLUTIONS = {Conv1d: BatchNorm1d, Conv2d: BatchNorm2d, Conv3d: BatchNorm3d}
_FIRST = _BATCH_NORMS | frozenset(_CONVOLUTIONS)
_RECTIFIERS = {ReLU: 1, ReLU6: 6}
_EPILOGUES = {
    ReLU: lambda module: epilogue_of(ops.relu),
    ReLU6: lambda module: epilogue_of(ops.relu6),
    LeakyReLU: lambda module: epilogue_of(ops.leaky_relu, module.negative_slope),
    Hardtanh: lambda module: epilogue_of(ops.hardtanh, module.min_val, module.max_val),
    Hardswish: lambda module: epilogue_of(ops.hardswish),
    Hardsigmoid: lambda module: epilogue_of(ops.hardsigmoid),
    SiLU: lambda module: epilogue_of(ops.silu),
    GELU: lambda module: epilogue_of(ops.gelu, approximate=module.approximate),
}


def _is_watched(module):
    """Whether hooks, or a `forward` of its own, see what goes in and out."""
    return has_hooks(module) or "forward" in module.__dict__


def _joined(modules, i, input):
    """What the module at an index and the one or two behind it make of the input in one step, and
    the index behind them; None where they have to go one by one."""
    first, second = modules[i], modules[i + 1]
    if type(first) in _CONVOLUTIONS:
        return _convolved(modules, i, input)
    rectified = _RECTIFIERS.get(type(second))
    if rectified is None or _is_watched(first) or _is_watched(second):
        return None
    return (first._rectified(input, rectified), i + 2) if first._fits_rectified(input) else None


def _convolved(modules, i, input):
    """:func:`_joined` for a convolution: the batch norm behind it is folded into its weights in
    eval mode, the activation behind that is its epilogue."""
    first, end = modules[i], i + 1
    is_normalized = type(modules[end]) is _CONVOLUTIONS[type(first)]
    if _is_watched(first) or is_normalized and _is_watched(modules[end]):
        return None
    if not is_normalized and not _is_epilogue(modules[end]):
        return None
    weight, bias = first.weight, first.bias
    if is_normalized:
        outputs = input._array.size // first.in_channels // math.prod(first.stride)
        if outputs * first.out_channels < 2 * weight._array.size:
            return None  # to scale the weights would cost more than to scale the result
        folded = modules[end]._folded(input, weight, bias)
        if folded is None:
            return None
        weight, bias = folded
        end += 1
    if end < len(modules) and _is_epilogue(modules[end]):
        epilogue = _EPILOGUES[type(modules[end])](modules[end])
        found = first._then(input, weight, bias, epilogue)
        if found is not None:
            return found, end + 1
    return (first._conv_forward(input, weight, bias), end) if is_normalized else None


def _is_epilogue(module):
    """Whether this is an activation, and one that may be an epilogue here."""
    return not mode.recording and type(module) in _EPILOGUES and not _is_watched(module)


class Sequential(Module):
    """Modules applied one after the other; given as arguments or as an ordered dict."""

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def forward(self, input):
        """Apply every module in turn; where nobody could tell, batch norm and the ReLU behind it in
        one step, and so a convolution, the batch norm behind it in eval mode, and the activation
        behind those."""
        modules = list(self._modules.values())
        i, last = 0, len(modules) - 1
        while i <= last:
            module = modules[i]
            if i < last and type(module) in _FIRST and type(input) is Tensor:
                found = _joined(modules, i, input)
                if found is not None:
                    input, i = found
                    continue
            input = module(input)
            i += 1
        return input

    def _name_at(self, index):
        index = operator.index(index)
        size = len(self)
        if not -size <= index < size:
            raise IndexError(f"index {index} is out of range")
        return next(islice(self._modules, index % size, None))

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._name_at(index)]

    def __setitem__(self, index, module):
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index):
        names = list(self._modules)[index] if isinstance(index, slice) else [self._name_at(index)]
        for name in names:
            delattr(self, name)
        self._renumber(list(self._modules.values()))

    def _renumber(self, modules):
        self._modules.clear()
        for i, module in enumerate(modules):
            self._modules[str(i)] = module

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but "
                f"{type(other)} is given."
            )
        return Sequential(*self, *other)

    def __iadd__(self, other):
        return self.extend(other)

    def __mul__(self, count):
        if not isinstance(count, int) or count <= 0:
            raise ValueError(f"Sequential: can only be multiplied by a positive int, not {count}")
        return Sequential(*[module for _ in range(count) for module in self])

    __rmul__ = __mul__

    def append(self, module):
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index, module):
        """Add a module before an index."""
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def extend(self, sequential):
        """Add several modules at the end."""
        for module in sequential:
            self.append(module)
        return self

    def pop(self, key):
        """Remove and return the module at an index."""
        module = self[key]
        del self[key]
        return module


class ModuleList(Module):
    """A list of modules that are registered."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _name_at(self, index):
        index = operator.index(index)
        size = len(self)
        if not -size <= index < size:
            raise IndexError(f"index {index} is out of range")
        return str(index % size)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[self._name_at(index)]

    def __setitem__(self, index, module):
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index):
        modules = list(self._modules.values())
        del modules[index]
        self._renumber(modules)

    _renumber = Sequential._renumber

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return ModuleList([*self, *other])

    def append(self, module):
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    insert = Sequential.insert

    def extend(self, modules):
        """Add several modules at the end."""
        if not hasattr(modules, "__iter__"):
            raise TypeError(
                f"ModuleList.extend should be called with an iterable, but got "
                f"{type(modules).__name__}"
            )
        for module in modules:
            self.append(module)
        return self

    def pop(self, key):
        """Remove and return the module at an index."""
        module = self[key]
        del self[key]
        return module

    def __repr__(self):
        """Runs of equal modules are shown once, with their count."""
        texts = [repr(module) for module in self]
        if not texts:
            return self._get_name() + "()"
        runs = []
        for i, text in enumerate(texts):
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        lines = []
        for first, last, text in runs:
            label = f"({first})" if first == last else f"({first}-{last})"
            count = "" if first == last else f"{last - first + 1} x "
            lines.append(f"{label}: {count}" + text.replace("\n", "\n  "))
        return self._get_name() + "(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dict of modules that are registered."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def keys(self):
        """The names."""
        return self._modules.keys()

    def values(self):
        """The modules."""
        return self._modules.values()

    def items(self):
        """Names and modules."""
        return self._modules.items()

    def clear(self):
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key):
        """Remove and return a module."""
        return self._modules.pop(key)

    def update(self, modules):
        """Add modules from a dict or from pairs."""
        pairs = modules.items() if hasattr(modules, "items") else modules
        for name, module in pairs:
            self[name] = module
