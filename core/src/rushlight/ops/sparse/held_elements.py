"""Tensors whose elements another, dense tensor holds: the base of sparse and nested tensors.

Autograd knows the elements only; gradients of the whole have its positions.
"""

from __future__ import annotations

from rushlight.dtypes import FLOAT
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE
from rushlight.tensor.tensor import Tensor


def _refuse(*args, **kwargs):
    raise NotImplementedError(
        "this operation reads the elements of a whole tensor, which is not available for tensors "
        "of sparse or nested layout; call to_dense() or to_padded_tensor() first"
    )


class Hollow(np.ndarray):
    """A shape and a dtype, where the array of a dense tensor would be."""

    __slots__ = ()
    __array_ufunc__ = __array_function__ = __getitem__ = __setitem__ = _refuse
    astype = copy = item = tolist = tobytes = __bool__ = __int__ = __float__ = _refuse
    __index__ = __complex__ = fill = _refuse


def hollow(shape, dtype):
    """An array of a shape and dtype without elements of its own."""
    kind = BY_CODE[dtype.code]
    # Where something reads it nevertheless, a number that shows.
    element = np.full((), np.nan if dtype.category >= FLOAT else 1, kind)
    return np.ndarray.__new__(Hollow, shape, kind, element, 0, (0,) * len(shape))


class ElementsTensor(Tensor):
    """A tensor that keeps its elements in the dense tensor ``_elements``."""

    def with_elements(self, elements):
        """Other elements in the same positions."""
        raise NotImplementedError(f"{type(self).__name__}.with_elements")

    # ------------------------------------------------------------------ autograd
    @property
    def requires_grad(self):
        """Whether operations on the elements are recorded."""
        return self._elements.requires_grad

    @requires_grad.setter
    def requires_grad(self, value):
        self._elements.requires_grad_(value)

    def requires_grad_(self, requires_grad=True):
        """Start or stop recording what is done to the elements."""
        self._elements.requires_grad_(requires_grad)
        return self

    is_leaf = property(lambda self: self._elements.is_leaf, doc="True if nothing was recorded.")
    grad_fn = property(lambda self: self._elements.grad_fn, doc="What made the elements.")

    @property
    def grad(self):
        """The gradient: a tensor of the same pattern; None until a backward pass."""
        found = self._elements._grad
        return None if found is None else self.with_elements(found)

    @grad.setter
    def grad(self, value):
        self._elements.grad = None if value is None else value._elements

    def retain_grad(self):
        """Keep the gradient of a computed tensor."""
        self._elements.retain_grad()

    def register_hook(self, hook):
        """Call ``hook(grad)`` with the gradient; a result replaces it."""

        def call(grad):
            found = hook(self.with_elements(grad))
            return None if found is None else found._elements

        return self._elements.register_hook(call)

    def detach(self):
        """The same elements, outside of the recorded graph."""
        return self.with_elements(self._elements.detach())

    _alias = detach

    def detach_(self):
        """Forget the history."""
        self._elements = self._elements.detach()
        return self

    def __dlpack__(self, **options):
        """There is no array to hand out."""
        raise BufferError(f"Can't export tensors with layout {self.layout}; make it dense first")

    _version = property(lambda self: self._elements._version)
    _writes = property(lambda self: self._elements._writes)
