"""Modules whose activations are computed again: see :mod:`.checkpoint_wrapper`."""

from rushlight.refusals import rest_of

__getattr__ = rest_of(__name__, parts="checkpoint_wrapper")
