"""Which modules become units of :class:`FullyShardedDataParallel` of their own.

A policy is a :class:`ModuleWrapPolicy`, a :class:`CustomPolicy`, or a function
``policy(module, recurse, nonwrapped_numel)``: asked with `recurse` whether to look at a module's
children, else whether to wrap it.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from typing import Any

from rushlight import nn

__all__ = [
    "CustomPolicy", "ModuleWrapPolicy", "always_wrap_policy", "enable_wrap",
    "lambda_auto_wrap_policy", "size_based_auto_wrap_policy", "transformer_auto_wrap_policy",
    "wrap",
]  # fmt: skip


def always_wrap_policy(*args, **kwargs) -> bool:
    """The policy to wrap every module."""
    return True


class _Policy(ABC):
    """A policy that chooses among all modules at once."""

    @abstractmethod
    def _run_policy(self, root_module, ignored_modules, root_kwargs) -> dict:
        """The chosen modules, with the arguments that each is wrapped with."""


class ModuleWrapPolicy(_Policy):
    """Wrap the modules of some classes.

    >>> policy = ModuleWrapPolicy({rushlight.nn.TransformerEncoderLayer})
    """

    def __init__(self, module_classes):
        self._module_classes = tuple(set(module_classes))
        self._module_classes_str = str(set(module_classes))

    def _run_policy(self, root_module, ignored_modules, root_kwargs):
        return {
            module: dict(root_kwargs)
            for module in root_module.modules()
            if module not in ignored_modules and isinstance(module, self._module_classes)
        }

    def __call__(self, module, recurse, *args, **kwargs):
        """The same as a function."""
        return recurse or isinstance(module, self._module_classes)

    def __repr__(self):
        return f"{super().__repr__()}({self._module_classes_str})"


class CustomPolicy(_Policy):
    """Wrap where a function of the module gives True, or a dict of other arguments."""

    def __init__(self, lambda_fn):
        self._lambda_fn = lambda_fn

    def _run_policy(self, root_module, ignored_modules, root_kwargs):
        found = {}
        for module in root_module.modules():
            if module in ignored_modules:
                continue
            answer = self._lambda_fn(module)
            if not isinstance(answer, (dict, bool)):
                raise ValueError(
                    "The lambda_fn passed to CustomPolicy should return False/True or a kwarg "
                    f"dict, but it returned {answer}"
                )
            if answer or isinstance(answer, dict) and answer != {}:
                found[module] = {**root_kwargs, **(answer if isinstance(answer, dict) else {})}
        return found


def lambda_auto_wrap_policy(module, recurse, nonwrapped_numel, lambda_fn) -> bool:
    """Wrap where a function of the module gives True."""
    return recurse or lambda_fn(module)


def transformer_auto_wrap_policy(module, recurse, nonwrapped_numel, transformer_layer_cls) -> bool:
    """Wrap the layers of some classes."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def _wrap_module_cls_individually(module, module_classes, recurse, *args, **kwargs) -> bool:
    return recurse or isinstance(module, tuple(module_classes))


def _or_policy(module, recurse, nonwrapped_numel, policies) -> bool:
    """Wrap where one of several policies does."""
    asked = {"module": module, "recurse": recurse, "nonwrapped_numel": nonwrapped_numel}
    return any([policy(**asked) for policy in policies])


_EXCLUDED = frozenset((nn.ModuleList, nn.ModuleDict))
_LEAVES = frozenset((nn.MultiheadAttention,))


def size_based_auto_wrap_policy(
    module, recurse, nonwrapped_numel, min_num_params=int(1e8), force_leaf_modules=None,
    exclude_wrap_modules=None,
) -> bool:  # fmt: skip
    """Wrap modules of at least `min_num_params` parameters that no inner one has taken. Nothing
    inside of `force_leaf_modules` is wrapped, nor are `exclude_wrap_modules` themselves."""
    leaves = _LEAVES if force_leaf_modules is None else force_leaf_modules
    excluded = _EXCLUDED if exclude_wrap_modules is None else exclude_wrap_modules
    is_large = nonwrapped_numel >= min_num_params
    if recurse:
        return is_large and not isinstance(module, tuple(leaves))
    return is_large and not isinstance(module, tuple(excluded))


vars(size_based_auto_wrap_policy).update(EXCLUDE_WRAP_MODULES=_EXCLUDED, FORCE_LEAF_MODULES=_LEAVES)


class _Wrapping:
    """What :func:`wrap` wraps with, inside of :func:`enable_wrap`."""

    chosen: Any = None


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls, **wrapper_kwargs):
    """Let :func:`wrap` wrap with a class and arguments inside."""
    before, _Wrapping.chosen = _Wrapping.chosen, (wrapper_cls, wrapper_kwargs)
    try:
        yield
    finally:
        _Wrapping.chosen = before


def wrap(module, **wrap_overrides):
    """The module, wrapped inside of :func:`enable_wrap`; `wrap_overrides` replace arguments."""
    if _Wrapping.chosen is None:
        return module
    wrapper, given = _Wrapping.chosen
    return wrapper(module, **{**given, **wrap_overrides})


def wrap_inside(root, policy, wrapper, given, ignored_modules, ignored_params) -> None:
    """Wrap the chosen modules inside of `root`, inner ones first."""
    if isinstance(policy, _Policy):
        chosen = policy._run_policy(root, ignored_modules, given)
        chosen.pop(root, None)
        _wrap_chosen(root, chosen, wrapper, set())
    else:
        _wrap_asked(root, policy, wrapper, given, (ignored_modules, ignored_params), True)


def _wrap_chosen(module, chosen, wrapper, seen):
    for name, child in list(module.named_children()):
        if child in seen:
            continue
        seen.add(child)
        _wrap_chosen(child, chosen, wrapper, seen)
        if child in chosen:
            setattr(module, name, wrapper(child, **chosen[child]))


def _wrap_asked(module, policy, wrapper, given, ignored, is_root=False):
    """A module, wrapped where the policy says so, and how many parameters are in wrapped ones."""
    modules, parameters = ignored
    numel = sum(p.numel() for p in module.parameters() if p not in parameters)
    if not policy(module=module, recurse=True, nonwrapped_numel=numel):
        return module, 0
    total = 0
    for name, child in list(module.named_children()):
        if child in modules:
            continue
        found, count = _wrap_asked(child, policy, wrapper, given, ignored)
        if found is not child:
            setattr(module, name, found)
        total += count
    rest = numel - total
    if not is_root and policy(module=module, recurse=False, nonwrapped_numel=rest):
        return wrapper(module, **given), numel
    return module, total
