"""Parameters in lists and dicts."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from rushlight.nn.module import Module
from rushlight.nn.parameter import Parameter
from rushlight.tensor.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def _as_parameter(value):
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value, requires_grad=value.requires_grad or value.is_floating_point())
    return value


def _line(name, value, typed):
    """How a container prints one of its values."""
    if not isinstance(value, Tensor):
        return f"    ({name}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(str(n) for n in value.shape)
    place = f" ({value.device})" if value.device.type != "cpu" else ""
    return f"    ({name}): {kind} containing: [{typed(value)} of size {size}{place}]"


def _printed(container, pairs, typed):
    lines = [_line(name, value, typed) for name, value in pairs]
    if not lines:
        return container._get_name() + "()"
    return container._get_name() + "(\n" + "\n".join(lines) + "\n)"


class ParameterList(Module):
    """A list whose tensors are registered as parameters."""

    def __init__(self, values: Iterable[Any] | None = None):
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _name_at(self, index):
        index = operator.index(index)
        if not -self._size <= index < self._size:
            raise IndexError(f"index {index} is out of range")
        return str(index % self._size)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)([self[i] for i in range(*index.indices(self._size))])
        return getattr(self, self._name_at(index))

    def __setitem__(self, index, value):
        setattr(self, self._name_at(index), _as_parameter(value))

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter(self[i] for i in range(self._size))

    def __iadd__(self, values):
        return self.extend(values)

    def append(self, value):
        """Add a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values):
        """Add several values at the end."""
        if not hasattr(values, "__iter__") or isinstance(values, Tensor):
            raise TypeError(
                f"ParameterList.extend should be called with an iterable, but got "
                f"{type(values).__name__}"
            )
        for value in values:
            self.append(value)
        return self

    def __repr__(self):
        return _printed(self, enumerate(self), lambda value: value.dtype)

    def __call__(self, *args, **kwargs):
        """Refused: a list computes nothing."""
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict whose tensors are registered as parameters."""

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key):
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key, value):
        if not isinstance(key, str):
            raise TypeError(
                f"Index given to ParameterDict cannot be used as a key as it is not a string (type "
                f"is '{type(key).__name__}')."
            )
        self._keys[key] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, key)

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def __or__(self, other):
        found = self.copy()
        found.update(other)
        return found

    def __ror__(self, other):
        found = type(self)(other)
        found.update(self)
        return found

    def __ior__(self, other):
        self.update(other)
        return self

    def keys(self):
        """The names."""
        return self._keys.keys()

    def values(self):
        """The parameters."""
        return (self[key] for key in self._keys)

    def items(self):
        """Names and parameters."""
        return ((key, self[key]) for key in self._keys)

    def update(self, parameters):
        """Add parameters from a dict or from pairs."""
        pairs = parameters.items() if hasattr(parameters, "items") else parameters
        for name, value in list(pairs):
            self[name] = value

    def copy(self):
        """Another dict of the same parameters."""
        return type(self)(dict(self.items()))

    def get(self, key, default=None):
        """The parameter of a name, or `default`."""
        return self[key] if key in self._keys else default

    def setdefault(self, key, default=None):
        """The parameter of a name; `default` is stored if there is none."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def pop(self, key):
        """Remove and return the parameter of a name."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Remove and return the last name and parameter."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def clear(self):
        """Remove everything."""
        for key in list(self._keys):
            del self[key]

    def fromkeys(self, keys, default=None):
        """A new dict with one value for all names."""
        return type(self)({key: default for key in keys})

    def __repr__(self):
        return _printed(self, self.items(), lambda value: value.type())

    def __call__(self, *args, **kwargs):
        """Refused: a dict computes nothing."""
        raise RuntimeError("ParameterDict should not be called.")
