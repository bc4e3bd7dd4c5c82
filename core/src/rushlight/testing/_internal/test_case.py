"""`TestCase`: unittest's, whose `assertEqual` compares tensors, arrays and what holds them."""

from __future__ import annotations

import contextlib
import random
import re
import unittest
import warnings
from collections.abc import Mapping, Sequence, Set

import rushlight
from rushlight.machine import np
from rushlight.nn import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from rushlight.tensor.tensor import Tensor
from rushlight.testing.nested import not_close_error_metas
from rushlight.testing.pairs import BooleanPair, NonePair, NumberPair, ObjectPair, Pair
from rushlight.testing.tensor_pair import TensorLikePair

SEED = 1234


def set_rng_seed(seed: int | None = None) -> None:
    """Seed the generators of Rushlight, Python and NumPy, by default with `SEED`."""
    seed = SEED if seed is None else seed
    rushlight.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


def _number(value):
    """The number in a tensor or an array of one element; other values as they are."""
    if isinstance(value, Tensor) and value.numel() == 1:
        return value.item()
    is_one = isinstance(value, np.generic) or isinstance(value, np.ndarray) and value.size == 1
    return value.item() if is_one else value


class _Relaxed(Pair):
    """A number beside one, or beside a tensor or an array of one element."""

    def _process_inputs(self, actual, expected, *, id):
        if all(isinstance(value, Tensor | np.ndarray) for value in (actual, expected)):
            self._inputs_not_supported()
        return super()._process_inputs(_number(actual), _number(expected), id=id)


class _RelaxedBooleanPair(_Relaxed, BooleanPair):
    """A boolean beside one, or beside a number, whose truth counts."""

    def _process_inputs(self, actual, expected, *, id):
        pair = [_number(value) for value in (actual, expected)]
        if not any(isinstance(value, self._supported_types) for value in (actual, expected)):
            self._inputs_not_supported()
        self._check_inputs_isinstance(*pair, cls=(bool, int, float, complex))
        return bool(pair[0]), bool(pair[1])


class _RelaxedNumberPair(_Relaxed, NumberPair):
    def __init__(self, actual, expected, *, rtol_override=0.0, atol_override=0.0, **others):
        super().__init__(actual, expected, **{**others, "check_dtype": False})
        self.rtol, self.atol = max(self.rtol, rtol_override), max(self.atol, atol_override)


class _TensorOrArrayPair(TensorLikePair):
    """Tensors and arrays, also one beside the other."""

    def __init__(self, actual, expected, *, rtol_override=0.0, atol_override=0.0, **others):
        super().__init__(actual, expected, **others)
        self.rtol, self.atol = max(self.rtol, rtol_override), max(self.atol, atol_override)

    def _process_inputs(self, actual, expected, *, id, allow_subclasses):
        self._check_inputs_isinstance(actual, expected, cls=(Tensor, np.ndarray))
        return self._to_tensor(actual), self._to_tensor(expected)


class _UnittestPair(Pair):
    """Two sets or two texts, compared by unittest, which shows what differs."""

    def __init__(self, actual, expected, **others):
        both = [kind for kind in (Set, str | bytes) if isinstance(actual, kind)]
        if not both:
            self._inputs_not_supported()
        self._check_inputs_isinstance(actual, expected, cls=both[0])
        super().__init__(actual, expected, **others)

    def compare(self) -> None:
        """Raise an `ErrorMeta` unless they are equal."""
        case = unittest.TestCase()
        case.maxDiff = None
        try:
            case.assertEqual(self.actual, self.expected)
        except AssertionError as error:
            self._fail(AssertionError, f"{_kind(self.actual)} comparison failed: {error}")


def _kind(value):
    return "Set" if isinstance(value, Set) else "String"


# Asked in this order: numbers before tensors, so that tensors of one element beside numbers are
# compared as numbers.
_PAIRS = (
    NonePair, _RelaxedBooleanPair, _RelaxedNumberPair, _TensorOrArrayPair, _UnittestPair,
    ObjectPair,
)  # fmt: skip
_EXACT = {"exact_device", "exact_layout", "exact_stride", "exact_is_coalesced"}
_SEQUENCES = (Sequence, Sequential, ModuleList, ParameterList)
_MAPPINGS = (Mapping, ModuleDict, ParameterDict)


def _as_tensors(x, y):
    """A sequence beside a tensor as a tensor of its dtype."""
    if isinstance(x, Tensor) and isinstance(y, Sequence):
        return x, rushlight.as_tensor(y, dtype=x.dtype, device=x.device)
    if isinstance(y, Tensor) and isinstance(x, Sequence):
        return rushlight.as_tensor(x, dtype=y.dtype, device=y.device), y
    return x, y


class TestCase(unittest.TestCase):
    """A `unittest.TestCase` whose tests start from seeded generators and which compares tensors.

    `precision` and `rel_tol` are tolerances that are at least allowed in :meth:`assertEqual`.
    """

    precision: float = 0.0
    rel_tol: float = 0.0
    maxDiff = None

    def setUp(self) -> None:
        """Seed all generators."""
        super().setUp()
        set_rng_seed(SEED)

    def assertEqual(
        self, x, y, msg=None, *, atol=None, rtol=None, equal_nan=True, exact_dtype=True, **exact
    ):
        """Fail unless two values, or all in two nested ones, are equal up to the rounding of their
        dtypes; a number, a list or an array beside a tensor is taken as one.

        `atol` and `rtol` are given together or not at all; `msg` stands behind the text, or is a
        function of it. Devices, layouts, strides and whether sparse tensors are coalesced are
        compared with ``exact_device=True``, `exact_layout`, `exact_stride`, `exact_is_coalesced`.
        """
        __tracebackhide__ = True
        unknown = exact.keys() - _EXACT
        if unknown:
            raise TypeError(f"assertEqual() got an unexpected keyword argument {min(unknown)!r}")
        x, y = _as_tensors(x, y)
        found = not_close_error_metas(
            x, y, pair_types=_PAIRS, sequence_types=_SEQUENCES, mapping_types=_MAPPINGS,
            rtol=rtol, rtol_override=self.rel_tol, atol=atol, atol_override=self.precision,
            equal_nan=equal_nan, check_dtype=exact_dtype,
            check_device=exact.get("exact_device", False),
            check_layout=exact.get("exact_layout", False),
            check_stride=exact.get("exact_stride", False),
        )  # fmt: skip
        if found:
            behind = isinstance(msg, str) and self.longMessage
            raise found[0].to_error((lambda text: f"{text}\n{msg}") if behind else msg)
        if exact.get("exact_is_coalesced"):
            self._assert_both_coalesced(x, y)

    def _assert_both_coalesced(self, x, y):
        if isinstance(x, Tensor) and x.is_sparse and x.is_coalesced() != y.is_coalesced():
            raise AssertionError(
                f"is_coalesced() do not match: {x.is_coalesced()} != {y.is_coalesced()}"
            )

    def assertNotEqual(self, x, y, msg=None, *, atol=None, rtol=None, **kwargs):
        """Fail where :meth:`assertEqual` passes."""
        with self.assertRaises(AssertionError, msg=msg):
            self.assertEqual(x, y, msg, atol=atol, rtol=rtol, **kwargs)

    def assertEqualIgnoreType(self, *args, **kwargs) -> None:
        """:meth:`assertEqual` of tensors whose dtypes may differ."""
        self.assertEqual(*args, exact_dtype=False, **kwargs)

    def assertEqualTypeString(self, x, y) -> None:
        """Fail unless the types, dtypes and devices of two tensors are alike."""
        self.assertEqual(x.device, y.device)
        self.assertEqual(x.dtype, y.dtype)
        self.assertEqual(x.is_sparse, y.is_sparse)

    def assertEqualBroadcasting(self, x, y, *args, **kwargs) -> None:
        """:meth:`assertEqual` of a tensor and a number or smaller tensor that is expanded to it."""
        y = y if isinstance(y, Tensor) else rushlight.as_tensor(y, dtype=x.dtype)
        self.assertEqual(x, y.expand(x.shape), *args, **kwargs)

    def assertObjectIn(self, obj, iterable) -> None:
        """Fail unless the very object is in `iterable`."""
        if not any(each is obj for each in iterable):
            raise AssertionError(f"{obj!r} not found in iterable")

    def assertNotWarn(self, callable, msg="") -> None:
        """Fail where a call warns."""
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            callable()
        self.assertTrue(not seen, msg)

    @contextlib.contextmanager
    def assertWarnsOnceRegex(self, category, regex=""):
        """Fail unless there is exactly one warning within, of this category and text."""
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            yield
        if len(seen) != 1:
            self.fail(f"expected one warning, got {[str(w.message) for w in seen]}")
        self.assertTrue(issubclass(seen[0].category, category))
        self.assertTrue(re.match(regex, str(seen[0].message)), f"{seen[0].message} is not {regex}")

    def assertExpectedInline(self, actual, expect, skip=0) -> None:
        """Fail unless a text, or ``str(actual)``, is `expect`; `skip` is not used."""
        self.assertMultiLineEqual(expect, str(actual))

    def compare_with_numpy(
        self, torch_fn, np_fn, tensor_like, device=None, dtype=None, **kwargs
    ) -> None:
        """:meth:`assertEqual` of a function of a tensor and NumPy's function of its array."""
        if isinstance(tensor_like, Tensor):
            tensor = tensor_like
        else:
            tensor = rushlight.tensor(tensor_like, device=device, dtype=dtype)
        array = tensor.detach().cpu()
        array = array.float() if array.dtype is rushlight.bfloat16 else array
        expected = np_fn(array.numpy())
        self.assertEqual(np.asarray(expected), torch_fn(tensor), exact_dtype=False, **kwargs)
