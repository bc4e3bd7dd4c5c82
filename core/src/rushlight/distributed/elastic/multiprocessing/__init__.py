"""PyTorch's path of :func:`.errors.record`."""

from rushlight.refusals import rest_of

__getattr__ = rest_of(__name__, parts="errors")
