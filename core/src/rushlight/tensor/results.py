"""Types of what ops with several results return: ``rushlight.return_types.topk`` and the like."""

from __future__ import annotations

from collections import namedtuple

_MODULE = __name__.partition(".")[0] + ".return_types"  # where they are found and pickled
NAMED: dict = {}  # what `named` made, by the ATen name of the op


def named(name, fields):
    """The type of an op's named results, for example ``linalg_svd(U=..., S=..., Vh=...)``."""
    made = namedtuple(name, fields, module=_MODULE)  # noqa: PYI024 - by its name
    by_parts, count = made.__new__, len(made._fields)

    def new(cls, *parts, **named):
        """The results one by one, or all in one sequence."""
        if len(parts) == 1 < count and not named:
            (parts,) = parts
        return by_parts(cls, *parts, **named)

    made.__new__ = new
    made.__repr__ = _text
    made.__doc__ = f"The results of :func:`rushlight.{name.replace('linalg_', 'linalg.', 1)}`."
    NAMED[name] = made
    return made


def _text(self):
    """As PyTorch prints them: a field a line."""
    fields = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"{_MODULE}.{type(self).__name__}(\n{fields})"
