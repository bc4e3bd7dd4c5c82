"""Distribution: the base class of every probability distribution."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from rushlight import Size, Tensor, exp, no_grad
from rushlight.distributions import constraints
from rushlight.distributions.utils import all_true, lazy_property
from rushlight.errors import shape_text

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Distribution"]


class Distribution:
    """A family of probability distributions: a batch of `batch_shape` independent ones, each with
    samples of `event_shape`.

    A subclass gives ``arg_constraints``, ``support``, ``rsample`` or ``sample``, ``log_prob``; with
    `_expandable` it gets ``expand``. With `validate_args` (the default, unless Python runs with
    ``-O``) parameters outside of their constraints and values outside of the support raise
    ValueError.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    # Parameter -> how many trailing dimensions of it belong to the event, not to the batch.
    _expandable: dict[str, int] = {}
    # Attributes that an expanded distribution shares with its original.
    _shared: tuple[str, ...] = ()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check their arguments when not told."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args expects True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(
        self, batch_shape: Sequence[int] = (), event_shape: Sequence[int] = (), validate_args=None
    ):
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()

    def _validate_parameters(self):
        try:
            found = self.arg_constraints
        except NotImplementedError:
            found = {}
            warnings.warn(
                f"{type(self).__name__} has no arg_constraints, so its arguments are not checked; "
                "define them, or pass validate_args=False",
                stacklevel=4,
            )
        for name, constraint in found.items():
            if constraints.is_dependent(constraint):
                continue
            lazy = isinstance(getattr(type(self), name, None), lazy_property)
            if name not in self.__dict__ and lazy:
                continue  # not given, so derived from what was given
            value = getattr(self, name)
            if not all_true(constraint.check(value)):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of {self!r} to satisfy {constraint!r}, but found "
                    f"invalid values:\n{value}"
                )

    def expand(self, batch_shape, _instance=None):
        """The same distribution with its batch broadcast to `batch_shape`, without a copy."""
        owner = next(c for c in type(self).__mro__ if "_expandable" in c.__dict__)
        if not owner._expandable:
            raise NotImplementedError(f"{type(self).__name__} does not define expand")
        new = self._get_checked_instance(owner, _instance)
        self._expand_parameters(owner, new, batch_shape)
        return self._finish_expanded(new, batch_shape, self._event_shape)

    def _expand_parameters(self, owner, new, batch_shape):
        for name, dims in owner._expandable.items():
            if name in self.__dict__:
                value = self.__dict__[name]
                tail = tuple(value.shape[value.dim() - dims :])
                new.__dict__[name] = value.expand(tuple(batch_shape) + tail)
        for name in owner._shared:
            new.__dict__[name] = self.__dict__[name]

    def _finish_expanded(self, new, batch_shape, event_shape):
        Distribution.__init__(new, Size(batch_shape), event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of independent distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The constraint of every parameter, by name."""
        raise NotImplementedError(f"{type(self).__name__} does not define arg_constraints")

    @property
    def support(self) -> constraints.Constraint | None:
        """The constraint that samples satisfy; None where there is none to state."""
        raise NotImplementedError(f"{type(self).__name__} does not define support")

    @property
    def mean(self) -> Tensor:
        """The mean, of the shape of a sample."""
        raise NotImplementedError(f"{type(self).__name__} does not define mean")

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance of each element."""
        raise NotImplementedError(f"{type(self).__name__} does not define variance")

    @property
    def stddev(self) -> Tensor:
        """The square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape=()):
        """Samples of shape ``sample_shape + batch_shape + event_shape``, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        """Samples as a differentiable function of the parameters."""
        raise NotImplementedError(f"{type(self).__name__} has no rsample; use sample")

    def sample_n(self, n):
        """``sample((n,))``; deprecated, as in PyTorch."""
        warnings.warn(
            "`sample_n(n)` is deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2
        )
        return self.sample(Size((n,)))

    def log_prob(self, value):
        """The logarithm of the density or probability of `value`."""
        raise NotImplementedError(f"{type(self).__name__} does not define log_prob")

    def cdf(self, value):
        """The probability of a sample up to `value`."""
        raise NotImplementedError(f"{type(self).__name__} does not define cdf")

    def icdf(self, value):
        """The inverse of :meth:`cdf`."""
        raise NotImplementedError(f"{type(self).__name__} does not define icdf")

    def enumerate_support(self, expand=True):
        """All values of a discrete distribution along a new first dimension; with `expand` false
        the batch dimensions have size 1."""
        raise NotImplementedError(f"{type(self).__name__} cannot enumerate its support")

    def entropy(self):
        """The entropy, in nats, of `batch_shape`."""
        raise NotImplementedError(f"{type(self).__name__} does not define entropy")

    def perplexity(self):
        """``exp(entropy())``."""
        return exp(self.entropy())

    def _extended_shape(self, sample_shape=()):
        return Size(tuple(sample_shape) + tuple(self._batch_shape) + tuple(self._event_shape))

    def _validate_sample(self, value):
        """Raise ValueError where `value` is no tensor, does not fit, or is out of the support."""
        if not isinstance(value, Tensor):
            raise ValueError(f"the value of log_prob is a Tensor; got a {type(value).__name__}")
        event = tuple(self._event_shape)
        shape, expected = tuple(value.shape), tuple(self._batch_shape) + event
        if len(event) > len(shape) or shape[len(shape) - len(event) :] != event:
            raise ValueError(
                f"the last sizes of value {shape_text(shape)} do not match event_shape "
                f"{shape_text(event)}"
            )
        for size, wanted in zip(reversed(shape), reversed(expected), strict=False):
            if 1 not in (size, wanted) and size != wanted:
                raise ValueError(
                    f"value of shape {shape_text(shape)} does not broadcast with batch_shape + "
                    f"event_shape {shape_text(expected)}"
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self).__name__} has no support, so values are not checked; define it, or "
                "pass validate_args=False",
                stacklevel=3,
            )
            return
        if support is None:
            raise ValueError(f"{type(self).__name__}: its support is None, so nothing is valid")
        if not all_true(support.check(value)):
            raise ValueError(
                f"Expected value (Tensor of shape {tuple(value.shape)}) to be within the support "
                f"({support!r}) of {self!r}, but found invalid values:\n{value}"
            )

    def _get_checked_instance(self, cls, _instance=None):
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"{type(self).__name__} has an __init__ of its own, so it needs an expand() of its "
                f"own too; that of {cls.__name__} does not know its attributes"
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self):
        names = [name for name in self.arg_constraints if name in self.__dict__]
        values = [self.__dict__[name] for name in names]
        parts = [
            f"{name}: {v if v.numel() == 1 else v.shape}"
            for name, v in zip(names, values, strict=True)
        ]
        return f"{type(self).__name__}({', '.join(parts)})"
