"""Pruning: parameters multiplied by masks, by several criteria.

A pruned parameter ``<name>`` becomes ``<name>_orig`` with a buffer ``<name>_mask``; their product
is formed before every forward.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod

from rushlight.ops.creation.tensors import ones_like, zeros, zeros_like
from rushlight.ops.random.random_alike import rand_like
from rushlight.ops.shape.joining import cat


class BasePruningMethod(ABC):
    """A criterion: what it prunes is said by :meth:`compute_mask`.

    ``PRUNING_TYPE`` is ``"unstructured"``, ``"structured"`` or ``"global"``.
    """

    PRUNING_TYPE = "unstructured"

    def __call__(self, module, inputs):
        """The forward pre-hook: form the pruned tensor."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t, default_mask):
        """The mask of `t`: `default_mask` with more zeros."""

    def apply_mask(self, module):
        """The product of the original parameter and its mask."""
        name = getattr(self, "_tensor_name", None)
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        original = getattr(module, name + "_orig")
        return getattr(module, name + "_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prune a parameter of a module, on top of what was pruned before."""
        method = cls(*args, **kwargs)
        method._tensor_name = name
        old, key = None, None
        for found, hook in module._forward_pre_hooks.items():
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
                old, key = hook, found
        if old is not None:
            del module._forward_pre_hooks[key]
            container = PruningContainer(old) if not isinstance(old, PruningContainer) else old
            container.add_pruning_method(method)
            method = container
        original = getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}"
            )
        if old is None:
            module.register_parameter(name + "_orig", getattr(module, name))
            del module._parameters[name]
            default = ones_like(original.detach())
        else:
            default = getattr(module, name + "_mask").detach().clone()
        try:
            mask = method.compute_mask(scores.detach(), default_mask=default)
            module.register_buffer(name + "_mask", mask)
            setattr(module, name, method.apply_mask(module))
        except Exception:
            if old is None:
                module.register_parameter(name, module._parameters.pop(name + "_orig"))
            raise
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """`t` pruned, without a module."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        default = ones_like(t.detach()) if default_mask is None else default_mask
        return t * self.compute_mask(scores.detach(), default_mask=default).to(t.dtype)

    def remove(self, module):
        """Make the pruned values the parameter."""
        name = self._tensor_name
        weight = self.apply_mask(module).detach()
        delattr(module, name) if name in module.__dict__ else None
        original = module._parameters.pop(name + "_orig")
        original.data = weight
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several criteria of one parameter, one after the other."""

    def __init__(self, *args):
        self._pruning_methods = ()
        if len(args) == 1 and isinstance(args[0], BasePruningMethod):
            self._tensor_name = args[0]._tensor_name
            self._pruning_methods = (args[0],)
            return
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Add a criterion for the same parameter."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None:
            own = getattr(self, "_tensor_name", method._tensor_name)
            if own != method._tensor_name:
                raise ValueError(
                    "Can only add pruning methods acting on the parameter named "
                    f"'{own}' to PruningContainer {self}. Found '{method._tensor_name}'"
                )
            self._tensor_name = own
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, index):
        return self._pruning_methods[index]

    def compute_mask(self, t, default_mask):
        """The mask of the newest criterion, over what the others left."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype).clone()
        if method.PRUNING_TYPE == "unstructured":
            places = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.dim()
            others = [d for d in range(t.dim()) if d != dim]
            keep = (mask.sum(others) != 0).nonzero().squeeze(1)
            partial = method.compute_mask(t.index_select(dim, keep), mask.index_select(dim, keep))
            return mask.index_copy(dim, keep, partial.to(mask.dtype))
        elif method.PRUNING_TYPE == "global":
            return method.compute_mask(t, mask)
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        mask[places] = method.compute_mask(t[places], mask[places]).to(mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing, but makes the masks."""

    def compute_mask(self, t, default_mask):
        """`default_mask`."""
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes elements at random."""

    def __init__(self, amount):
        _check_amount(amount)
        self.amount = amount

    def compute_mask(self, t, default_mask):
        """The mask."""
        count = _number(self.amount, t.numel())
        mask = default_mask.clone()
        if count:
            lowest = rand_like(t).reshape(-1).topk(count).indices
            mask.view(-1)[lowest] = 0
        return mask


class L1Unstructured(BasePruningMethod):
    """Prunes the elements of least absolute value."""

    def __init__(self, amount):
        _check_amount(amount)
        self.amount = amount

    def compute_mask(self, t, default_mask):
        """The mask."""
        count = _number(self.amount, t.numel())
        mask = default_mask.clone()
        if count:
            lowest = t.abs().reshape(-1).topk(count, largest=False).indices
            mask.view(-1)[lowest] = 0
        return mask


class RandomStructured(BasePruningMethod):
    """Prunes whole slices along `dim` at random."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        _check_amount(amount)
        self.amount, self.dim = amount, dim

    def compute_mask(self, t, default_mask):
        """The mask."""
        _check_structured(t)
        size = t.shape[self.dim]
        count = _number(self.amount, size)
        if not count:
            return default_mask
        from rushlight.ops.random.sampling import rand

        chances = rand(size)
        threshold = chances.kthvalue(count).values
        return _slices(t, self.dim, chances > threshold) * default_mask.to(t.dtype)


class LnStructured(BasePruningMethod):
    """Prunes the slices along `dim` of least norm of order `n`."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount, n, dim=-1):
        _check_amount(amount)
        self.amount, self.n, self.dim = amount, n, dim

    def compute_mask(self, t, default_mask):
        """The mask."""
        _check_structured(t)
        size = t.shape[self.dim]
        count = _number(self.amount, size)
        if not count:
            return default_mask
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        norms = t.norm(self.n, others)
        keep = zeros(size)
        keep[norms.topk(size - count).indices] = 1
        return _slices(t, self.dim, keep) * default_mask.to(t.dtype)


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        """The mask."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError("default_mask and mask must have the same shape")
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def _slices(t, dim, keep):
    shape = [1] * t.dim()
    shape[dim] = -1
    return zeros_like(t) + keep.to(t.dtype).reshape(shape)


def _check_structured(t):
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of "
            f"shape {list(t.shape)} with {t.dim()} dims"
        )


def _check_amount(amount):
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if (isinstance(amount, numbers.Integral) and amount < 0) or (
        not isinstance(amount, numbers.Integral) and not 0.0 <= amount <= 1.0
    ):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
            "integer"
        )


def _number(amount, size):
    """How many of `size` elements an amount stands for."""
    if isinstance(amount, numbers.Integral):
        if amount > size:
            raise ValueError(
                f"amount={amount} should be smaller than the number of parameters to prune={size}"
            )
        return int(amount)
    return round(amount * size)


def identity(module, name):
    """Make the masks of a parameter without pruning it."""
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prune a number or share of elements at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prune the elements of least absolute value (or score)."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prune whole slices along `dim` at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prune the slices along `dim` of least norm of order `n`."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    """Prune a parameter by a mask."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prune several ``(module, name)`` together, by comparing all their elements."""
    if not isinstance(parameters, (list, tuple)):
        parameters = list(parameters)
    scores = {} if importance_scores is None else importance_scores
    tensors = [getattr(module, name) for module, name in parameters]
    ranked = [scores.get(pair, t).detach() for pair, t in zip(parameters, tensors, strict=True)]
    masks = [
        getattr(module, name + "_mask", ones_like(t.detach()))
        for (module, name), t in zip(parameters, tensors, strict=True)
    ]
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    container.add_pruning_method(method)
    flat = cat([t.reshape(-1) for t in ranked])
    mask = container.compute_mask(flat, cat([m.reshape(-1) for m in masks]))
    at = 0
    for (module, name), tensor in zip(parameters, tensors, strict=True):
        count = tensor.numel()
        custom_from_mask(module, name, mask[at : at + count].reshape(tuple(tensor.shape)))
        at += count


def remove(module, name):
    """Make pruning permanent: the parameter holds the pruned values, the mask goes."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
    )


def is_pruned(module):
    """Whether a module, or one below it, is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for part in module.modules()
        for hook in part._forward_pre_hooks.values()
    )
