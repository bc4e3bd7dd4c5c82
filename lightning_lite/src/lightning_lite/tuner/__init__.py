"""Choosing what no gradient tells: the learning rate, the batch size.

Trials run as a `fit` of the same trainer; `snapshot` puts everything back, bit for bit. Begin
reading at `tuner.py`.
"""

from lightning_lite.tuner.tuner import Tuner

__all__ = ["Tuner"]
