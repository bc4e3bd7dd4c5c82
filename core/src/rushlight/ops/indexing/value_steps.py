"""Steps of captured programs that read values, or check them: ATen has them, tensors as methods."""

from __future__ import annotations

from rushlight.dtypes import bool_, int64, uint8
from rushlight.errors import shape_text
from rushlight.ops._table.aten import in_aten
from rushlight.tensor.overriding import overridable


@in_aten("item(Tensor self) -> Scalar")
def item(self):
    """The one element of a tensor."""
    return self.item()


@in_aten("_assert_scalar(Scalar self, str assert_msg) -> ()")
def assert_scalar(self, assert_msg):
    """RuntimeError with `assert_msg` unless a number is True, or not zero; comparisons of numbers
    that a program reads while it is captured are noted."""
    assume = getattr(self, "assume", None)
    if assume is not None:
        assume()
    elif not self:
        raise RuntimeError(assert_msg)


@in_aten("_assert_async(Tensor self) -> ()", "_assert_async.msg(Tensor self, str assert_msg) -> ()")
@overridable(as_given=True)
def assert_async(self, assert_msg="Expected Tensor with single nonzero value, but got zero"):
    """RuntimeError with `assert_msg` unless the one element of a tensor is True, or not zero; a
    tensor without values passes."""
    if self._device.type != "meta" and not bool(self):
        raise RuntimeError(assert_msg)


def index_rows(draw, input):
    """A row for each element that is not zero."""
    return input.new_empty((draw(most=input.numel()), input.dim()), dtype=int64)


def picked_sizes(draw, self, indices):
    """What masks pick: as many elements as are True, where the first mask is."""
    given = [d for d, index in enumerate(indices) if index is not None]
    masks = [indices[d] for d in given if indices[d]._dtype in (bool_, uint8)]
    if not masks:
        return NotImplemented
    if len(masks) < len(given):
        raise NotImplementedError(
            "a captured program cannot index by masks and numbers at once: index twice"
        )
    shape, dim = [], 0
    for index in indices:
        if index is None:
            shape.append(self.shape[dim])
        else:
            _check_extents(self, index, dim)
        dim += 1 if index is None else index.dim()
    together = given == list(range(given[0], given[-1] + 1))
    at = given[0] if together else 0
    shape.insert(at, draw(most=min(mask.numel() for mask in masks), dim=at))
    return self.new_empty((*shape, *self.shape[dim:]))


def _check_extents(input, mask, dim):
    if tuple(mask.shape) != tuple(input.shape[dim : dim + mask.dim()]):
        raise IndexError(
            f"The shape of the mask {shape_text(mask.shape)} at index {dim} does not match the "
            f"shape of the indexed tensor {shape_text(input.shape)} at index {dim}"
        )
