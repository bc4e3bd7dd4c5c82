"""`functionalize`: a function without in-place writes."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from rushlight.func.trees import map_tensors
from rushlight.ops._transforms.tracking import TrackingLevel, lifted
from rushlight.ops._transforms.wrappers import shed

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["functionalize"]


def functionalize(func: Callable[..., Any], *, remove="mutations") -> Callable[..., Any]:
    """`func` with every write inside of it computed as a new value, views included; what it writes
    to its arguments is copied into them at the end, once.

    `remove` is "mutations" or "mutations_and_views"; the results are the same.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            "functionalize(f, remove='mutations'): Valid options for inner argument are: "
            f"'mutations' and 'mutations_and_views'. Got {remove!r}"
        )

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        given = []
        with TrackingLevel() as level:

            def enter(tensor):
                wrapped = lifted(tensor, level)
                given.append((tensor, wrapped))
                return wrapped

            result = func(*map_tensors(args, enter), **map_tensors(kwargs, enter))
            result = map_tensors(result, lambda t: shed(t, level))
        for tensor, wrapped in given:
            if wrapped._inner is not tensor:
                tensor.copy_(wrapped._inner)
        return result

    return wrapper
