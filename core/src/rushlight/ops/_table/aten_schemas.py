"""Schemas that families of declarations share, by name."""

from __future__ import annotations


def conv_schemas(n):
    """A convolution over `n` dimensions, padded by numbers or by a word."""
    head = f"(Tensor input, Tensor weight, Tensor? bias=None, SymInt[{n}] stride=1, "
    tail = f", SymInt[{n}] dilation=1, SymInt groups=1) -> Tensor"
    return (
        f"conv{n}d{head}SymInt[{n}] padding=0{tail}",
        f'conv{n}d.padding{head}str padding="valid"{tail}',
    )


def conv_transpose_schemas(n):
    """A transposed convolution over `n` dimensions."""
    overload = "" if n == 1 else ".input"
    return (
        f"conv_transpose{n}d{overload}(Tensor input, Tensor weight, Tensor? bias=None, "
        f"SymInt[{n}] stride=1, SymInt[{n}] padding=0, SymInt[{n}] output_padding=0, "
        f"SymInt groups=1, SymInt[{n}] dilation=1) -> Tensor",
    )


def max_pool_schemas(n):
    """Maxima of windows, alone or with their indices."""
    arguments = (
        f"(Tensor self, int[{n}] kernel_size, int[{n}] stride=[], int[{n}] padding=0, "
        f"int[{n}] dilation=1, bool ceil_mode=False) -> "
    )
    return (
        f"max_pool{n}d{arguments}Tensor",
        f"max_pool{n}d_with_indices{arguments}(Tensor, Tensor)",
    )


def avg_pool_schemas(n):
    """Means of windows."""
    divisor = "" if n == 1 else ", int? divisor_override=None"
    return (
        f"avg_pool{n}d(Tensor self, int[{n}] kernel_size, int[{n}] stride=[], int[{n}] padding=0, "
        f"bool ceil_mode=False, bool count_include_pad=True{divisor}) -> Tensor",
    )


def reduction_schemas(name, overload, dim):
    """A reduction over all dimensions or some, in a dtype."""
    return (
        f"{name}(Tensor self, *, ScalarType? dtype=None) -> Tensor",
        f"{name}.{overload}(Tensor self, {dim} dim, bool keepdim=False, *, "
        "ScalarType? dtype=None) -> Tensor",
    )


def truth_schemas(name):
    """``all`` and ``any``."""
    return (
        f"{name}(Tensor self) -> Tensor",
        f"{name}.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
        f"{name}.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    )


def spread_schemas(name):
    """Variance and its relatives."""
    result = "(Tensor, Tensor)" if name.endswith("_mean") else "Tensor"
    return (
        f"{name}(Tensor self, bool unbiased=True) -> {result}",
        f"{name}.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> {result}",
        f"{name}.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
        f"bool keepdim=False) -> {result}",
    )


def of_two(name, tail="", scalar_tail=None):
    """An op of a tensor and another, or a number."""
    scalar = tail if scalar_tail is None else scalar_tail
    return (
        f"{name}.Tensor(Tensor self, Tensor other{tail}) -> Tensor",
        f"{name}.Scalar(Tensor self, Scalar other{scalar}) -> Tensor",
    )
