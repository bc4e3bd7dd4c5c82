"""The real runtime: CuPy's driver layer."""

from __future__ import annotations

from . import streams


class RealRuntime:
    """CUDA on a device; see :mod:`rushlight.backends.cuda.runtime` for its members."""

    name = "real"
    streams = streams

    def __init__(self):
        raise NotImplementedError(
            "the runtime for real devices is not in this version yet; set RUSHLIGHT_CUDA=emu to "
            "run CUDA programs on the CPU"
        )
