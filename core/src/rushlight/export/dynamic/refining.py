"""From the fixes that an error of the export suggests to another `dynamic_shapes`."""

from __future__ import annotations

import re
from typing import Any

from rushlight._dynamo.exc import UserError
from rushlight.export.dynamic.dims import Dim
from rushlight.export.dynamic.fixes import HEAD
from rushlight.utils import _pytree as pytree

_DIM = re.compile(r"(\w+) = Dim\('(\w+)'(?:, min=(\d+))?(?:, max=(\d+|oo))?\)")
_LINE = re.compile(r"(\w+) = (?:(?:(\d+)\*)?([A-Za-z_]\w*)(?: ([+-]) (\d+))?|(\d+))")


def refine_dynamic_shapes_from_suggested_fixes(
    msg: str, dynamic_shapes: dict[str, Any] | tuple[Any, ...] | list[Any]
) -> dict[str, Any] | tuple[Any, ...] | list[Any]:
    """The `dynamic_shapes` that an error of :func:`rushlight.export.export`, or of PyTorch's,
    suggests: sizes in another range, fixed, or following another size.

    Args:
        msg: the text of the error.
        dynamic_shapes: what the export was given; sizes of other names stay as they are.

    Raises:
        UserError: the text suggests nothing.
        AssertionError: a fix is for a size that `dynamic_shapes` does not have.

    Example:
        >>> import rushlight
        >>> from rushlight.export.dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes
        >>> class Add(rushlight.nn.Module):
        ...     def forward(self, x, y):
        ...         return x + y[1:]
        >>> args = rushlight.ones(4), rushlight.ones(5)
        >>> shapes = {0: rushlight.export.Dim("a")}, {0: rushlight.export.Dim("b")}
        >>> try:
        ...     rushlight.export.export(Add(), args, dynamic_shapes=shapes)
        ... except RuntimeError as error:
        ...     shapes = refine_dynamic_shapes_from_suggested_fixes(str(error), shapes)
        >>> shapes
        ({0: Dim('a', min=0)}, {0: a + 1})
    """
    found = _fixes(msg)
    leaves = [leaf for leaf in pytree.tree_leaves(dynamic_shapes) if isinstance(leaf, Dim)]
    dims = {dim.root.__name__: dim.root for dim in leaves} | {d.__name__: d for d in leaves}
    roots = {fix[1] for fix in found.values() if isinstance(fix, tuple)}
    unknown = [name for name in found if name not in dims and name not in roots]
    if unknown:
        raise AssertionError(
            f"refine_dynamic_shapes_from_suggested_fixes(): there is a fix for {unknown}, but "
            f"dynamic_shapes has {sorted(dims)}"
        )
    sizes = _Sizes(found, dims)
    return pytree.tree_map(
        lambda leaf: sizes.refined(leaf) if isinstance(leaf, Dim) else leaf, dynamic_shapes
    )


def _fixes(msg):
    """By name a Dim, a number, or factor, name and offset of a size that is followed."""
    _, head, rest = msg.partition(HEAD)
    if not head:
        raise UserError(
            "Suggested fixes not found in error message given to "
            "refine_dynamic_shapes_from_suggested_fixes()"
        )
    found: dict[str, Any] = {}
    for line in rest.strip().partition("\n\n")[0].splitlines():
        if (dim := _DIM.fullmatch(line.strip())) is not None:
            name, known, low, high = dim.groups()
            limits = [None if n in (None, "oo") else int(n) for n in (low, high)]
            found[name] = Dim(known, min=limits[0], max=limits[1])
            continue
        if (fix := _LINE.fullmatch(line.strip())) is None:
            raise UserError(
                f"refine_dynamic_shapes_from_suggested_fixes(): {line.strip()!r} is no fix"
            )
        name, factor, root, sign, offset, number = fix.groups()
        shift = int(f"{sign or ''}{offset or 0}")
        found[name] = int(number) if number else (int(factor or 1), root, shift)
    return found


class _Sizes:
    """Sizes after the fixes; every size is one object."""

    def __init__(self, fixes, dims):
        self.fixes, self.dims = fixes, dims
        self.known: dict[str, Any] = {}

    def refined(self, dim):
        """What is said of a size instead."""
        name = dim.__name__
        if name in self.fixes:
            return self.named(name)
        if dim.root is dim or dim.root.__name__ not in self.fixes:
            return dim
        if name not in self.known:
            _, factor, offset = dim.expression.line()
            self.known[name] = factor * self.named(dim.root.__name__) + offset
        return self.known[name]

    def named(self, name):
        """The size of a name."""
        fix = self.fixes.get(name, self.dims.get(name))
        if not isinstance(fix, tuple):
            return fix
        if name not in self.known:
            factor, root, offset = fix
            made = self.named(root)
            made = made if factor == 1 else factor * made
            self.known[name] = made if offset == 0 else made + offset
        return self.known[name]
