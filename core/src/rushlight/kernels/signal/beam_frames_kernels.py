"""Compiled frames of a beam search, one after the other without Python between them.

The kernel comes back to its caller where the language model is to be asked or a buffer is to grow,
and goes on from there when it is called again. Import at first need.
"""

from __future__ import annotations

from rushlight.kernels.signal.free_frames_kernels import free_step
from rushlight.kernels.signal.lexicon_frames_kernels import (
    CODE,
    DONE,
    FRAME,
    FRAMES,
    lexicon_step,
)
from rushlight.machine.language.functions import Parameter, array, function, i64, range_kernel

free = Parameter("free")  # whether any tokens follow each other, not words of a lexicon


@function
def stepped(g):
    """A frame, or what is left of it; why it did not end."""
    if free:
        return free_step(g)
    return lexicon_step(g)


@range_kernel
def frames(args, lo, hi, tid):
    """All frames that are left, until there is a reason to come back."""
    g = array(i64, args)
    g[CODE] = DONE
    while g[FRAME] < g[FRAMES]:
        code = stepped(g)
        if code != DONE:
            g[CODE] = code
            return
        g[FRAME] += 1
