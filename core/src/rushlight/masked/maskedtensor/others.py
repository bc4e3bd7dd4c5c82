"""Functions that are neither elementwise nor move elements: copies, and reading one element."""

from __future__ import annotations

from rushlight.dtypes import bool_ as boolean
from rushlight.ops.creation.program_tensors import _local_scalar_dense, _to_copy
from rushlight.ops.creation.tensors import empty_like, ones_like, zeros_like
from rushlight.tensor.tensor import Tensor

from .core import MaskedTensor, is_masked_tensor, masks_match
from .tables import for_ops


def _copied(func, input, args, kwargs, **mask_options):
    data = func(input._masked_data, *args, **kwargs)
    mask = func(input._masked_mask, *args, **{**kwargs, **mask_options})
    return MaskedTensor._holding(data, mask)


@for_ops(Tensor.clone, Tensor.detach, Tensor.resolve_conj)
def _same(func, args, kwargs):
    return _copied(func, args[0], args[1:], kwargs)


@for_ops(_to_copy)
def _to_other(func, args, kwargs):
    return _copied(func, args[0], args[1:], kwargs, dtype=boolean)


@for_ops(ones_like, zeros_like, empty_like)
def _like(func, args, kwargs):
    data = func(args[0]._masked_data, *args[1:], **kwargs)
    return MaskedTensor._holding(data, args[0]._masked_mask.to(data.device))


@for_ops(_local_scalar_dense)
def _element(func, args, kwargs):
    (input,) = args
    if not input._masked_mask.item():
        raise ValueError("item(): the element of this MaskedTensor is masked out")
    return input._masked_data.item()


@for_ops(Tensor.is_same_size)
def _is_same_size(func, args, kwargs):
    return args[0].shape == args[1].shape


@for_ops(Tensor.fill_, Tensor.zero_)
def _filled(func, args, kwargs):
    func(args[0]._masked_data, *args[1:], **kwargs)
    return args[0]


@for_ops(Tensor.copy_)
def _copy(func, args, kwargs):
    target, source, *rest = args
    if not masks_match(target, source):
        raise ValueError("copy_(): the masks of both MaskedTensors must match")
    inner = source._masked_data if is_masked_tensor(source) else source
    func(target._masked_data, inner, *rest, **kwargs)
    return target
