"""What the parts of the interpreter know of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rushlight.capture.lookups import Lookups


class Parts:
    """Names that one part of the interpreter gives and the others use."""

    lookups: Lookups
    frames: list  # calls in progress, the innermost last
    iterators: dict  # id -> what is used up by looking at it, and was made by the program
    made: dict  # id -> objects that the program made
    line: int | None  # of the program
    steps: int
    refuse: Any
    is_external: Any
    attribute: Any
    variable: Any
    parent: Any
    check_name: Any
    comprehension: Any
    run: Any
    run_made: Any
    call: Any
    iterate: Any
    iterator: Any
    truth: Any
    item: Any
    contains: Any
    binary: Any
    made_function: Any
    assign: Any
    value: Any
