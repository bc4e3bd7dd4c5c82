"""PyTorch's path of helpers around graph capture that programs use."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from rushlight._dynamo import config
from rushlight.fx.graph_text import lazy_format_graph_code
from rushlight.refusals import rest_of

__all__ = ["disable_cache_limit", "lazy_format_graph_code"]


@contextlib.contextmanager
def disable_cache_limit() -> Iterator[None]:
    """Inside, functions are captured anew as often as their calls ask for it."""
    with config.patch(recompile_limit=sys.maxsize, accumulated_recompile_limit=sys.maxsize):
        yield


__getattr__ = rest_of(__name__)
