"""What distributions share that are given by `probs` or by `logits`."""

from __future__ import annotations

from numbers import Number

from rushlight.distributions.utils import (
    broadcast_all,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)


def check_one(probs, logits):
    """Raise ValueError unless exactly one of them is given."""
    if (probs is None) == (logits is None):
        raise ValueError(
            "exactly one of `probs` and `logits` is needed; got "
            + ("neither" if probs is None else "both")
        )


class BinaryProbabilities:
    """`probs` of a success or its log odds `logits`, each computed from the other when asked."""

    def _take(self, probs, logits, *others):
        """Keep the one given, broadcast with `others`; returns the others, broadcast."""
        check_one(probs, logits)
        self._given = "logits" if probs is None else "probs"
        value = logits if probs is None else probs
        if not others:
            (found,), rest = broadcast_all(value), ()
        else:
            *rest, found = broadcast_all(*others, value)
        setattr(self, self._given, found)
        self._is_number = isinstance(value, Number)
        return rest

    @property
    def _param(self):
        return self.__dict__[self._given]

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)

    @lazy_property
    def logits(self):
        """The log odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self):
        """The probability of a success."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self):
        """The shape of the parameter given."""
        return self._param.size()

    def _get_checked_instance(self, cls, _instance=None):
        new = super()._get_checked_instance(cls, _instance)
        new._given = self._given
        return new
