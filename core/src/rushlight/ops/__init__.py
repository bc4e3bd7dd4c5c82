"""The op table. Importing it declares every op and binds the methods of Tensor."""

from rushlight.ops import (  # noqa: F401 - in the order their declarations build on each other
    _deferred,
    activation,
    arithmetic,
    comparison,
    conversion,
    convolution,
    creation,
    dropout,
    einsum,
    embedding,
    exponential,
    indexing,
    joining,
    losses,
    matrix,
    normalization,
    padding,
    pooling,
    random,
    reduction,
    rounding,
    scan,
    shape,
    slicing,
    softmax,
    sorting,
    triangular,
    trigonometric,
)

_deferred.defer()
