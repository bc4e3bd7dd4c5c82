"""The chi-squared distribution."""

from __future__ import annotations

from rushlight.distributions import constraints
from rushlight.distributions.gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The sum of `df` squared standard normals: ``Gamma(df / 2, 1 / 2)``."""

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df, validate_args=None):
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        """The same with a larger batch."""
        return super().expand(batch_shape, self._get_checked_instance(Chi2, _instance))

    @property
    def df(self):
        """The degrees of freedom."""
        return self.concentration * 2
