"""The core's parts, imported while the garbage collector rests.

What an import makes stays alive, so that a collection during it finds nothing: they took a tenth
of the time of `import rushlight`.
"""

import gc

_collects = gc.isenabled()
gc.disable()
try:
    from rushlight import autograd, cuda, directory, nn, optim, refusals, utils
finally:
    if _collects:
        if not gc.get_freeze_count():  # else the caller's frozen objects would thaw
            gc.freeze()  # both: all objects become old ones, and none is counted as new
            gc.unfreeze()
        gc.enable()

__all__ = ["autograd", "cuda", "directory", "nn", "optim", "refusals", "utils"]
