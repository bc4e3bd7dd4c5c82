"""Who watches the backward pass: a profiler, while it runs.

`around_node`, unless it is None, is called as ``around_node(node, grads, create, run)`` instead of
``run(node, grads, create)``, and gives what that gives. The engine looks once a pass.
"""

from __future__ import annotations

from collections.abc import Callable

around_node: Callable | None = None
