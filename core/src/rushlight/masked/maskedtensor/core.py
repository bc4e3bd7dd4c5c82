"""The class of tensors that carry a mask.

A tensor of it is a wrapper without elements of its own; ``_masked_data`` and ``_masked_mask`` hold
them, both in the same layout. Functions with a meaning of their own for masks (reductions, where,
changes of layout) answer ``__torch_function__``; ATen's overloads answer ``__torch_dispatch__``,
above which gradients are recorded with the formula of the call.
"""

from __future__ import annotations

import warnings

from rushlight.autograd.function import Function
from rushlight.dtypes import bool_ as boolean
from rushlight.dtypes import float16, float32, float64, int8, int16, int32, int64
from rushlight.tensor.dispatch import DisableTorchFunction, EnableTorchFunction
from rushlight.tensor.layout import sparse_coo, sparse_csr, strided
from rushlight.tensor.memory_format import contiguous_format
from rushlight.tensor.tensor import Tensor

from .layouts import same_elements, same_pattern, with_pattern_of
from .printing import text_of
from .tables import FUNCTIONS, handler_of

__all__ = ["MaskedTensor", "is_masked_tensor"]

_DTYPES = frozenset({float16, float32, float64, boolean, int8, int16, int32, int64})


def is_masked_tensor(obj: object, /) -> bool:
    """Whether an object is a :class:`MaskedTensor`.

    >>> x = rushlight.ones(2)
    >>> rushlight.masked.is_masked_tensor(rushlight.masked.masked_tensor(x, x > 0))
    True
    """
    return isinstance(obj, MaskedTensor)


class MaskedTensor(Tensor):
    """A tensor and a mask that says which of its elements count; the others print as ``--``.

    Elementwise functions compute on all elements and keep the mask; of two masked tensors the masks
    must be equal, and a tensor without mask takes that of the other. Reductions see only the
    elements that count: a result is masked out where no element did. Functions that move elements
    (views, :func:`rushlight.cat`, indexing) move the mask alike.

    Args:
        data: the elements, a tensor of float16, float32, float64, bool, int8, int16, int32 or
            int64; dense, or sparse in the layouts COO and CSR. It is copied.
        mask: a bool tensor of the same shape and layout, True where an element counts. It is
            copied; where both are sparse, `data` is read at the indices of `mask`.
        requires_grad: whether gradients are computed for it, which are masked tensors, too.

    Raises:
        TypeError: an argument is no tensor or a masked one, the layouts differ, or a dtype is not
            available.
        ValueError: the shapes differ, or the indices of sparse tensors with as many elements do.

    Example:
        >>> x = rushlight.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> masked = rushlight.masked.MaskedTensor(x, x % 2 == 0)
        >>> masked
        MaskedTensor(
          [
            [      --,   2.0000,       --],
            [  4.0000,       --,   6.0000]
          ]
        )
        >>> masked.sum(1)
        MaskedTensor(
          [  2.0000,  10.0000]
        )
    """

    def __new__(cls, data: Tensor, mask: Tensor, requires_grad: bool = False):
        """The wrapper, without parts; ``__init__`` gives it these."""
        _check_plain("data", data)
        _check_plain("mask", mask)
        if data.requires_grad:
            warnings.warn(
                "MaskedTensor: data requires grad, and the copy of it has no history; give "
                "data.detach(), or use as_masked_tensor for gradients of data",
                UserWarning,
                stacklevel=2,
            )
        return cls._wrapper(data, requires_grad)

    def __init__(self, data: Tensor, mask: Tensor, requires_grad: bool = False):
        if data.layout is not mask.layout:
            raise TypeError("data and mask must have the same layout.")
        data, mask = data.detach(), mask.detach()
        if data.layout is not strided:
            data = with_pattern_of(mask, data)
        self._hold(data.clone(), mask.clone())

    @classmethod
    def _wrapper(cls, data, requires_grad=False):
        strides = data.stride() if data.layout is strided else None
        return Tensor._make_wrapper_subclass(
            cls, data.size(), strides=strides, dtype=data.dtype, device=data.device,
            requires_grad=requires_grad,
        )  # fmt: skip

    @classmethod
    def _holding(cls, data, mask):
        """The masked tensor of a result and its mask, which are not copied."""
        out = cls._wrapper(data)
        out._hold(data, mask)
        return out

    def _hold(self, data, mask):
        if data.layout is sparse_coo and mask.layout is sparse_coo:
            data, mask = data.coalesce(), mask.coalesce()
        _check_parts(data, mask)
        self._masked_data, self._masked_mask = data, mask

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        instead = FUNCTIONS.get(function)
        if instead is not None:
            return instead(*args, **kwargs)
        others = [kind for kind in types if not issubclass(cls, kind)]
        if not all(getattr(kind, "_asked_by_ops", False) for kind in others):  # sparse ones are
            return NotImplemented
        with DisableTorchFunction():
            return function(*args, **kwargs)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        name = func.__name__
        handler = handler_of(name)
        if handler is not None:
            with EnableTorchFunction():
                return handler(func, args, kwargs or {})
        warnings.warn(
            f"{name} is not implemented in __torch_dispatch__ for MaskedTensor: compute it of "
            "get_data() and get_mask(), or of to_tensor(value)",
            UserWarning,
            stacklevel=2,
        )
        return NotImplemented

    @classmethod
    def unary(cls, fn, data, mask):
        """The masked tensor of ``fn(data)`` and `mask`.

        >>> x = rushlight.tensor([1.0, 4.0])
        >>> rushlight.masked.MaskedTensor.unary(rushlight.sqrt, x, x > 1)
        MaskedTensor(
          [      --,   2.0000]
        )
        """
        return MaskedTensor(fn(data), mask)

    def get_data(self) -> Tensor:
        """The elements without mask, those that do not count included; shares memory.

        >>> x = rushlight.tensor([1.0, 2.0])
        >>> rushlight.masked.masked_tensor(x, x > 1).get_data()
        tensor([1., 2.])
        """
        return Data.apply(self)

    def get_mask(self) -> Tensor:
        """The mask: a bool tensor, True where an element counts. Results of functions that keep the
        mask share it, so write to none but a copy.

        >>> x = rushlight.tensor([1.0, 2.0])
        >>> rushlight.masked.masked_tensor(x, x > 1).get_mask()
        tensor([False,  True])
        """
        return self._masked_mask

    def to_tensor(self, value) -> Tensor:
        """A dense tensor without mask, with `value` where an element does not count.

        >>> x = rushlight.tensor([1.0, 2.0])
        >>> rushlight.masked.masked_tensor(x, x > 1).to_tensor(0)
        tensor([0., 2.])
        """
        dense = self if self.layout is strided else self.to_dense()
        return dense.get_data().masked_fill(~dense.get_mask(), value)

    def to_dense(self, dtype=None) -> MaskedTensor:
        """The masked tensor with dense data and mask, optionally in another dtype.

        >>> x = rushlight.tensor([0.0, 2.0])
        >>> rushlight.masked.masked_tensor(x, x > 1).to_sparse().to_dense().layout
        rushlight.strided
        """
        dense = self._in_layout(strided)
        return dense if dtype is None else dense.to(dtype)

    def to_sparse(self, *, layout=sparse_coo) -> MaskedTensor:
        """The masked tensor with sparse data and mask, which hold the elements that count.

        Args:
            layout: sparse_coo, the default, or sparse_csr.

        >>> x = rushlight.tensor([0.0, 2.0])
        >>> rushlight.masked.masked_tensor(x, x > 1).to_sparse().get_data().values()
        tensor([2.])
        """
        if layout not in (sparse_coo, sparse_csr):
            raise ValueError(
                f"to_sparse(): layout must be sparse_coo or sparse_csr, got {layout!r}"
            )
        return self._in_layout(layout)

    def to_sparse_coo(self) -> MaskedTensor:
        """The masked tensor with data and mask as sparse COO tensors; see :meth:`to_sparse`."""
        return self._in_layout(sparse_coo)

    def to_sparse_csr(self) -> MaskedTensor:
        """The masked tensor with data and mask as sparse CSR tensors; see :meth:`to_sparse`.

        Raises ValueError unless it is a matrix.
        """
        return self._in_layout(sparse_csr)

    def _in_layout(self, layout):
        from .conversions import to_layout

        if layout is sparse_csr and self.dim() != 2:
            raise ValueError(
                "Only 2D tensors can be converted to the SparseCsr layout but got shape: "
                f"{tuple(self.shape)}"
            )
        return to_layout(self, layout)

    @property
    def layout(self):
        """How data and mask are stored: strided, sparse_coo or sparse_csr."""
        return self._masked_data.layout

    @property
    def is_sparse(self) -> bool:  # type: ignore[override]
        """Whether data and mask are sparse, in either layout."""
        return self.layout is not strided

    def is_contiguous(self, memory_format=contiguous_format) -> bool:
        """Whether data and mask are row-major, or as another memory format has it.

        Raises ValueError where they are sparse.
        """
        if self.layout is not strided:
            raise ValueError("MaskedTensors with sparse data do not have is_contiguous")
        return self._masked_data.is_contiguous(memory_format=memory_format)

    def is_sparse_coo(self) -> bool:
        """Whether data and mask are sparse COO tensors."""
        return self.layout is sparse_coo

    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        """Whether data and mask are sparse CSR tensors."""
        return self.layout is sparse_csr

    def __reduce_ex__(self, protocol):
        return type(self), (self._masked_data, self._masked_mask, self.requires_grad)

    def __repr__(self):
        return text_of(self._masked_data, self._masked_mask)


class Data(Function):
    """The data of a masked tensor."""

    @staticmethod
    def forward(ctx, input):
        """The data, in the memory of the masked tensor."""
        ctx.mask = input._masked_mask
        return input._masked_data.detach()

    @staticmethod
    def backward(ctx, grad):
        """The gradient, with the mask."""
        return grad if is_masked_tensor(grad) else MaskedTensor._holding(grad, ctx.mask)


def _check_plain(name, value):
    if is_masked_tensor(value) or not isinstance(value, Tensor):
        raise TypeError(f"{name} must be a Tensor")


def _check_parts(data, mask):
    """Refuse what makes no masked tensor."""
    if data.layout not in (strided, sparse_coo, sparse_csr):
        raise TypeError(f"data layout of {data.layout!r} is not supported.")
    if mask.dtype is not boolean:
        raise TypeError("mask must have dtype bool.")
    if data.dtype not in _DTYPES:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
    if data.dim() != mask.dim():
        raise ValueError("data.dim() must equal mask.dim()")
    if data.size() != mask.size():
        raise ValueError("data.size() must equal mask.size()")
    if data.layout is not strided and not same_pattern(data, mask):
        raise ValueError(
            f"data and mask have the layout {data.layout!r}, but not the same indices."
        )


def masks_match(a, b) -> bool:
    """Whether two arguments have the same mask; True where one of them has none."""
    if not (is_masked_tensor(a) and is_masked_tensor(b)):
        return True
    return a._masked_mask is b._masked_mask or same_elements(a._masked_mask, b._masked_mask)
