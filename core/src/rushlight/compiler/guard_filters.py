"""Functions for ``compile(options={"guard_filter_fn": ...})``: which guards of a graph are kept.

All are unsafe: a change that no guard looks at goes unnoticed, and a graph gives the numbers of
before. They spare the time of the checks, and captures after changes that do not matter.
"""

from __future__ import annotations

__all__ = [
    "keep_portable_guards_unsafe",
    "keep_tensor_guards_unsafe",
    "skip_all_guards_unsafe",
    "skip_guard_on_all_nn_modules_unsafe",
    "skip_guard_on_globals_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe",
]


def skip_guard_on_inbuilt_nn_modules_unsafe(guard_entries) -> list[bool]:
    """Keep the guards that are not about layers of `rushlight.nn`.

    Args:
        guard_entries: the guards, as compile() gives them to the filter.

    Returns:
        A bool for each: whether it is kept.

    >>> import rushlight
    >>> skip = rushlight.compiler.skip_guard_on_inbuilt_nn_modules_unsafe
    >>> net = rushlight.compile(rushlight.nn.Linear(2, 1), options={"guard_filter_fn": skip})
    >>> net(rushlight.ones(3, 2)).shape
    rushlight.Size([3, 1])
    """
    return [
        not entry.orig_guard.source.is_unspecialized_builtin_nn_module() for entry in guard_entries
    ]


def skip_guard_on_all_nn_modules_unsafe(guard_entries) -> list[bool]:
    """Keep the guards that are not about modules, whoever wrote their classes; otherwise as
    :func:`skip_guard_on_inbuilt_nn_modules_unsafe`."""
    return [not entry.orig_guard.source.is_unspecialized_nn_module() for entry in guard_entries]


def keep_tensor_guards_unsafe(guard_entries, keep_parameters: bool = False) -> list[bool]:
    """Keep the guards on tensors; those on parameters if `keep_parameters` says so."""
    return [
        entry.guard_type == "TENSOR_MATCH" and (keep_parameters or not entry.is_parameter)
        for entry in guard_entries
    ]


def keep_portable_guards_unsafe(guard_entries) -> list[bool]:
    """Keep the guards that programs in other languages could check: on tensors that are no global
    variables. Those on shapes and modes are always kept."""
    return [
        entry.guard_type in ("GLOBAL_STATE", "SHAPE_ENV")
        or entry.guard_type == "TENSOR_MATCH"
        and not entry.is_global
        for entry in guard_entries
    ]


def skip_guard_on_globals_unsafe(guard_entries) -> list[bool]:
    """Keep the guards that are not on global variables."""
    return [not entry.is_global for entry in guard_entries]


def skip_all_guards_unsafe(guard_entries) -> list[bool]:
    """Keep no guard but those that are always kept: kinds of arguments, modes, memory."""
    return [False for _ in guard_entries]
