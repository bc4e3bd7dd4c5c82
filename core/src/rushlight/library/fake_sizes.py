"""Sizes that depend on values, of the results of fake kernels: what :func:`get_ctx` gives.

A fake kernel asks for a size and makes results with it. It is called with two numbers for each
size, which tells the dimensions that have it; captures then treat these as those of `nonzero`.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import NamedTuple

from rushlight.tensor.tensor import Tensor

_CURRENT: ContextVar[FakeImplCtx | None] = ContextVar("fake_context", default=None)
_PROBE = 1009  # a size that programs seldom have; any does, as differences alone count


class Asked(NamedTuple):
    """The limits of a size that a fake kernel asks for."""

    least: int
    most: int | None


class FakeImplCtx:
    """What a fake kernel asks for sizes that depend on values; `sizes` are those that it gets, one
    after the other, then others."""

    def __init__(self, sizes=()):
        self._sizes, self._asked = list(sizes), []

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        """A size of a result that is known only when the operator runs.

        Args:
            min: the least that it may be, 0 by default.
            max: the greatest; None, the default, for no limit.

        Raises:
            ValueError: `min` is negative, or `max` less than it.

        Example:
            >>> import rushlight
            >>> @rushlight.library.custom_op("readme::positive", mutates_args=())
            ... def positive(x: rushlight.Tensor) -> rushlight.Tensor:
            ...     return x[x > 0]
            >>> @positive.register_fake
            ... def _(x):
            ...     return x.new_empty(rushlight.library.get_ctx().new_dynamic_size())
            >>> class Positive(rushlight.nn.Module):
            ...     def forward(self, x):
            ...         return positive(x) * 2
            >>> x = rushlight.tensor([1.0, -2.0])
            >>> rushlight.export.export(Positive(), (x,)).module()(x)
            tensor([2.])
        """
        if min < 0:
            raise ValueError(f"new_dynamic_size(): min must not be negative, got {min}")
        if max is not None and max < min:
            raise ValueError(f"new_dynamic_size(): max must not be less than min={min}, got {max}")
        self._asked.append(Asked(min, max))
        turn = len(self._asked)
        return self._sizes[turn - 1] if turn <= len(self._sizes) else _PROBE + turn

    create_unbacked_symint = new_dynamic_size


class NoSizes(FakeImplCtx):
    """Refuses sizes, for tensors on the meta device outside of captures."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        """RuntimeError: tensors on the meta device have fixed sizes."""
        raise RuntimeError(
            "get_ctx(): a size of the result depends on values, which tensors on the meta device "
            "do not have; programs that export() captures can have such operators"
        )


def get_ctx() -> FakeImplCtx | None:
    """What a fake kernel asks for sizes that depend on values; None outside of one. See
    :meth:`~rushlight.library.fake_sizes.FakeImplCtx.new_dynamic_size`."""
    return _CURRENT.get()


def in_context(context, function, *args, **kwargs):
    """``function(*args, **kwargs)`` of a fake kernel that asks `context` for sizes."""
    token = _CURRENT.set(context)
    try:
        return function(*args, **kwargs)
    finally:
        _CURRENT.reset(token)


def sized_by(run):
    """How ``run(*args, **kwargs)``, which calls a fake kernel, sizes its results: see
    :mod:`rushlight.ops._table.value_sized`."""

    def rule(draw, *args, **kwargs):
        context = FakeImplCtx()
        first = in_context(context, run, *args, **kwargs)
        asked = context._asked
        if not asked:
            return first
        probes = [_PROBE + turn for turn in range(1, len(asked) + 1)]
        sizes = []
        for turn, (least, most) in enumerate(asked):
            others = [size + (i == turn) * len(asked) for i, size in enumerate(probes)]
            second = in_context(FakeImplCtx(others), run, *args, **kwargs)
            dims = _differences(first, second, probes[turn])
            sizes.append(draw(least, most, *dims[0], also=dims[1:]) if dims else probes[turn])
        return in_context(FakeImplCtx(sizes), run, *args, **kwargs)

    return rule


def _differences(first, second, size):
    """The dimensions of results that have a size, and with which result."""
    found = []
    for turn, (one, other) in enumerate(zip(_results(first), _results(second), strict=True)):
        if not isinstance(one, Tensor):
            continue
        for dim, (before, after) in enumerate(zip(one.shape, other.shape, strict=True)):
            if before != after and before != size:
                raise NotImplementedError(
                    "new_dynamic_size(): a size of a result is computed of such a size; ask for "
                    "another one"
                )
            if before != after:
                found.append((dim, turn))
    return found


def _results(result):
    return result if isinstance(result, tuple | list) else (result,)
