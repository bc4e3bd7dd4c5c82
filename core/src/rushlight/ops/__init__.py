"""The op table. Importing it declares every op and binds the methods of Tensor."""

from rushlight.ops import (  # noqa: F401 - in the order their declarations build on each other
    activation,
    arithmetic,
    comparison,
    conversion,
    creation,
    exponential,
    indexing,
    joining,
    matrix,
    random,
    reduction,
    rounding,
    scan,
    shape,
    sorting,
    trigonometric,
)
