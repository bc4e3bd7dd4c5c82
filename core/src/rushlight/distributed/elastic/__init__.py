"""PyTorch's path of what programs under a launcher import; see :mod:`.multiprocessing.errors` and
:mod:`.utils`."""

from rushlight.refusals import rest_of

__getattr__ = rest_of(__name__, parts="multiprocessing utils")
