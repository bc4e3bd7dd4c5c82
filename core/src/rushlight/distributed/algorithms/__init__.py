"""Join and communication hooks: see :mod:`.join` and :mod:`.ddp_comm_hooks`."""

from rushlight.refusals import rest_of

__getattr__ = rest_of(__name__, parts="_checkpoint ddp_comm_hooks join")
