"""Pairs of values to compare: the base, and those of objects, None, booleans and numbers.

A pair takes two values that it can handle, else it raises `UnsupportedInputs`; `compare` raises an
`ErrorMeta` where they differ. Programs add kinds of their own as subclasses, and
:func:`rushlight.testing._comparison.not_close_error_metas` takes them as `pair_types`.
"""

from __future__ import annotations

import abc
import cmath

import rushlight
from rushlight.machine import np
from rushlight.testing.errors import ErrorMeta, UnsupportedInputs
from rushlight.testing.messages import make_scalar_mismatch_msg
from rushlight.testing.tolerances import get_tolerances


class Pair(abc.ABC):
    """Two values, of which `id` says where in nested ones they stand."""

    def __init__(self, actual, expected, *, id: tuple = (), **unknown_parameters):
        self.actual, self.expected, self.id = actual, expected, id
        self._unknown_parameters = unknown_parameters

    @staticmethod
    def _inputs_not_supported():
        raise UnsupportedInputs

    @staticmethod
    def _check_inputs_isinstance(*inputs, cls) -> None:
        if not all(isinstance(value, cls) for value in inputs):
            Pair._inputs_not_supported()

    def _fail(self, type: type[Exception], msg: str, *, id: tuple = ()):
        """Raise an `ErrorMeta` of an item of these values."""
        raise ErrorMeta(type, msg, id=self.id + id)

    @abc.abstractmethod
    def compare(self) -> None:
        """Raise an `ErrorMeta` unless the values are equal or close."""

    def extra_repr(self):
        """Names of attributes, or pairs of names and values, that stand in the representation."""
        return ()

    def __repr__(self) -> str:
        found = [("id", self.id), ("actual", self.actual), ("expected", self.expected)]
        more = [(n, getattr(self, n)) if isinstance(n, str) else n for n in self.extra_repr()]
        lines = [f"    {name}={value!s}," for name, value in found + more]
        return "\n".join((f"{type(self).__name__}(", *lines, ")"))


class ObjectPair(Pair):
    """Any two values, compared by ``==``."""

    def compare(self) -> None:
        """Raise an `ErrorMeta` unless the values are equal or close."""
        try:
            equal = self.actual == self.expected
        except Exception as error:
            raise ErrorMeta(
                ValueError, f"{self.actual} == {self.expected} failed with:\n{error}.", id=self.id
            ) from error
        if not equal:
            self._fail(AssertionError, f"{self.actual} != {self.expected}")


class NonePair(Pair):
    """Two values of which at least one is None."""

    def __init__(self, actual, expected, **other_parameters):
        if actual is not None and expected is not None:
            self._inputs_not_supported()
        super().__init__(actual, expected, **other_parameters)

    def compare(self) -> None:
        """Raise an `ErrorMeta` unless the values are equal or close."""
        if not (self.actual is None and self.expected is None):
            self._fail(AssertionError, f"None mismatch: {self.actual} is not {self.expected}")


class BooleanPair(Pair):
    """Two booleans, of Python or NumPy."""

    def __init__(self, actual, expected, *, id: tuple = (), **other_parameters):
        pair = self._process_inputs(actual, expected, id=id)
        super().__init__(*pair, id=id, **other_parameters)

    @property
    def _supported_types(self):
        return bool, np.bool_

    def _process_inputs(self, actual, expected, *, id):
        self._check_inputs_isinstance(actual, expected, cls=self._supported_types)
        return self._to_bool(actual, id=id), self._to_bool(expected, id=id)

    def _to_bool(self, value, *, id) -> bool:
        return bool(value)

    def compare(self) -> None:
        """Raise an `ErrorMeta` unless the values are equal or close."""
        if self.actual is not self.expected:
            self._fail(AssertionError, f"Booleans mismatch: {self.actual} is not {self.expected}")


class NumberPair(Pair):
    """Two numbers, of Python or NumPy; without tolerances those of float64, complex128 or int64."""

    def __init__(
        self, actual, expected, *, id: tuple = (), rtol=None, atol=None, equal_nan=False,
        check_dtype=False, **other_parameters,
    ):  # fmt: skip
        pair = self._process_inputs(actual, expected, id=id)
        super().__init__(*pair, id=id, **other_parameters)
        kinds = [_dtype_of_number(value) for value in pair]
        self.rtol, self.atol = get_tolerances(*kinds, rtol=rtol, atol=atol, id=id)
        self.equal_nan, self.check_dtype = equal_nan, check_dtype

    @property
    def _supported_types(self):
        return int, float, complex, np.number

    def _process_inputs(self, actual, expected, *, id):
        self._check_inputs_isinstance(actual, expected, cls=self._supported_types)
        return self._to_number(actual, id=id), self._to_number(expected, id=id)

    def _to_number(self, value, *, id):
        return value.item() if isinstance(value, np.number) else value

    def compare(self) -> None:
        """Raise an `ErrorMeta` unless the values are equal or close."""
        ours, theirs = self.actual, self.expected
        if self.check_dtype and type(ours) is not type(theirs):
            text = f"The (d)types do not match: {type(ours)} != {type(theirs)}."
            self._fail(AssertionError, text)
        if ours == theirs or self.equal_nan and cmath.isnan(ours) and cmath.isnan(theirs):
            return
        difference = abs(ours - theirs)
        if cmath.isfinite(difference) and difference <= self.atol + self.rtol * abs(theirs):
            return
        text = make_scalar_mismatch_msg(ours, theirs, rtol=self.rtol, atol=self.atol)
        self._fail(AssertionError, text)

    def extra_repr(self):
        """Names of the settings."""
        return "rtol", "atol", "equal_nan", "check_dtype"


def _dtype_of_number(value):
    """The dtype whose tolerances a number of Python has."""
    if isinstance(value, int):
        return rushlight.int64
    return rushlight.float64 if isinstance(value, float) else rushlight.complex128
