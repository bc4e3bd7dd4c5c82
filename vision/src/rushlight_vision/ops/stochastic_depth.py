"""Residual branches that are left out at random (Huang et al., Deep networks with stochastic depth,
2016)."""

from __future__ import annotations

import rushlight as rl
from rushlight import nn


def stochastic_depth(input: rl.Tensor, p: float, mode: str, training: bool = True) -> rl.Tensor:
    """The input with examples zeroed at random, the others divided by the chance to stay.

    Parameters
    ----------
    input : Tensor (N, ...)
    p : float
        Chance of being zeroed, from 0 to 1.
    mode : {"batch", "row"}
        Whether one draw serves the whole batch or every example has its own.
    training : bool, default True
        Without it the input comes back as it is.

    Returns
    -------
    Tensor (N, ...)

    Raises
    ------
    ValueError
        For another `p` or `mode`.

    Example
    -------
    >>> stochastic_depth(rl.ones(2, 3), p=1.0, mode="row")
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    if p < 0.0 or p > 1.0:
        raise ValueError(f"stochastic_depth: p must be from 0 to 1, got {p}")
    if mode not in ("batch", "row"):
        raise ValueError(f"stochastic_depth: mode must be 'batch' or 'row', got {mode!r}")
    if not training or p == 0.0:
        return input
    survival = 1.0 - p
    size = [input.shape[0] if mode == "row" else 1, *[1] * (input.ndim - 1)]
    noise = rl.empty(size, dtype=input.dtype, device=input.device).bernoulli_(survival)
    if survival > 0.0:
        noise.div_(survival)
    return input * noise


class StochasticDepth(nn.Module):
    """:func:`stochastic_depth` as a layer, which acts in training alone."""

    def __init__(self, p: float, mode: str) -> None:
        super().__init__()
        self.p = p
        self.mode = mode

    def forward(self, input: rl.Tensor) -> rl.Tensor:
        """The input (N, ...), in training with examples zeroed at random."""
        return stochastic_depth(input, self.p, self.mode, self.training)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p}, mode={self.mode})"
