"""Pairs of tensors, arrays and what a tensor can be made of."""

from __future__ import annotations

import rushlight
from rushlight.tensor.tensor import Tensor
from rushlight.testing.errors import UnsupportedInputs
from rushlight.testing.messages import make_scalar_mismatch_msg, make_tensor_mismatch_msg
from rushlight.testing.pairs import Pair
from rushlight.testing.tolerances import get_tolerances

_UNSIGNED = (rushlight.uint16, rushlight.uint32, rushlight.uint64)  # not to be subtracted


_SETTINGS = {
    "equal_nan": False, "check_device": True, "check_dtype": True, "check_layout": True,
    "check_stride": False,
}  # fmt: skip


class TensorLikePair(Pair):
    """Two tensors, arrays or the like of one kind: nothing is made a tensor to fit the other.

    Further arguments are `equal_nan`, `check_device`, `check_dtype`, `check_layout` and
    `check_stride`, as in :func:`rushlight.testing.assert_close`.
    """

    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool

    def __init__(
        self, actual, expected, *, id: tuple = (), allow_subclasses=True, rtol=None, atol=None,
        **others,
    ):  # fmt: skip
        pair = self._process_inputs(actual, expected, id=id, allow_subclasses=allow_subclasses)
        settings = {name: others.pop(name, usual) for name, usual in _SETTINGS.items()}
        super().__init__(*pair, id=id, **others)
        self.rtol, self.atol = get_tolerances(*pair, rtol=rtol, atol=atol, id=id)
        vars(self).update(settings)

    def _process_inputs(self, actual, expected, *, id, allow_subclasses):
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if not related or not allow_subclasses and type(actual) is not type(expected):
            self._inputs_not_supported()
        return self._to_tensor(actual), self._to_tensor(expected)

    def _to_tensor(self, value) -> Tensor:
        if isinstance(value, Tensor):
            return value
        try:
            return rushlight.as_tensor(value)
        except (TypeError, ValueError, RuntimeError) as error:
            raise UnsupportedInputs from error

    def compare(self) -> None:
        """Raise an `ErrorMeta` unless the values are equal or close."""
        self._compare_attributes(self.actual, self.expected)
        pair = self._equalize_attributes(self.actual.detach(), self.expected.detach())
        self._compare_values(*pair)

    def _compare_attributes(self, actual, expected) -> None:
        pairs = [("shape", actual.shape, expected.shape)]
        if self.check_layout:
            pairs.append(("layout", actual.layout, expected.layout))
        if self.check_device:
            pairs.append(("device", actual.device, expected.device))
        if self.check_dtype:
            pairs.append(("dtype", actual.dtype, expected.dtype))
        if self.check_stride and actual.layout == expected.layout == rushlight.strided:
            pairs.append(("stride()", tuple(actual.stride()), tuple(expected.stride())))
        for name, ours, theirs in pairs:
            if ours != theirs:
                text = f"The values for attribute '{name}' do not match: {ours} != {theirs}."
                self._fail(AssertionError, text)

    def _equalize_attributes(self, actual, expected):
        """Both on one device, in one dtype and layout; those that are alike stay as they are."""
        if actual.device != expected.device:
            actual, expected = actual.cpu(), expected.cpu()
        if actual.dtype is not expected.dtype:
            both = _common_dtype(actual.dtype, expected.dtype)
            actual, expected = actual.to(both), expected.to(both)
        if actual.layout != expected.layout:
            actual, expected = (t if t.layout == rushlight.strided else t.to_dense()
                                for t in (actual, expected))  # fmt: skip
        return actual, expected

    def _compare_values(self, actual, expected) -> None:
        if actual.layout == rushlight.strided:
            self._compare_regular_values_close(actual, expected)
        elif actual.is_sparse:
            self._compare_sparse_coo_values(actual, expected)
        else:
            self._compare_sparse_compressed_values(actual, expected)

    def _compare_sparse_coo_values(self, actual, expected) -> None:
        actual, expected = actual.coalesce(), expected.coalesce()
        self._compare_parts(actual, expected, "COO", ("indices",))

    def _compare_sparse_compressed_values(self, actual, expected) -> None:
        kind = str(actual.layout).rpartition("sparse_")[2].upper()
        by_row = kind in ("CSR", "BSR")
        names = ("crow_indices", "col_indices") if by_row else ("ccol_indices", "row_indices")
        self._compare_parts(actual, expected, kind, names)

    def _compare_parts(self, actual, expected, kind, names) -> None:
        """The indices of sparse tensors of one layout, which are equal, and their values."""
        if actual._nnz() != expected._nnz():
            text = f"The number of specified values in sparse {kind} tensors does not match: "
            self._fail(AssertionError, f"{text}{actual._nnz()} != {expected._nnz()}")
        for name in names:
            parts = getattr(actual, name)(), getattr(expected, name)()
            self._compare_regular_values_equal(*parts, identifier=f"Sparse {kind} {name}")
        self._compare_regular_values_close(
            actual.values(), expected.values(), identifier=f"Sparse {kind} values"
        )

    def _compare_regular_values_equal(self, actual, expected, *, identifier=None) -> None:
        pair = actual.to(rushlight.int64), expected.to(rushlight.int64)
        self._compare_regular_values_close(*pair, rtol=0, atol=0, identifier=identifier)

    def _compare_regular_values_close(
        self, actual, expected, *, rtol=None, atol=None, equal_nan=None, identifier=None
    ) -> None:
        rtol, atol = self.rtol if rtol is None else rtol, self.atol if atol is None else atol
        equal_nan = self.equal_nan if equal_nan is None else equal_nan
        # Differences of floats in their own dtype would be rounded, and may overflow.
        kind = _computed_in(actual.dtype, exact=rtol == atol == 0)
        pair = actual.to(kind), expected.to(kind)
        close = rushlight.isclose(*pair, rtol, atol, equal_nan)
        if bool(close.all()):
            return
        if close.ndim:
            text = make_tensor_mismatch_msg(
                actual, expected, close, rtol=rtol, atol=atol, identifier=identifier
            )
        else:
            numbers = actual.item(), expected.item()
            text = make_scalar_mismatch_msg(*numbers, rtol=rtol, atol=atol, identifier=identifier)
        self._fail(AssertionError, text)

    def extra_repr(self):
        """Names of the settings."""
        return "rtol", "atol", *_SETTINGS


def _common_dtype(first, second):
    """The dtype to compare in; whole numbers that no common dtype holds meet in int64."""
    kinds = (rushlight.int64 if d in _UNSIGNED else d for d in (first, second))
    return rushlight.promote_types(*kinds)


def _computed_in(both, exact):
    """The dtype that values of one dtype are compared in."""
    if both.is_floating_point:
        return rushlight.float64
    if both.is_complex:
        return rushlight.complex128
    return rushlight.int64 if both is rushlight.bool or not exact else both
