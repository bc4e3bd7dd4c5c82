"""Communication hooks of DistributedDataParallel: see :mod:`.default_hooks`."""

from rushlight.refusals import rest_of

__getattr__ = rest_of(__name__, parts="debugging_hooks default_hooks")
