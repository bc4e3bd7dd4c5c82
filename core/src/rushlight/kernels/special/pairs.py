"""Special functions of two arrays in float64, element by element.

Where arrays are the definition (``RUSHLIGHT_KERNELS=reference``, other devices) every step runs
over all elements until the slowest is through; compiled, each element takes its own steps.
"""

from __future__ import annotations

from rushlight.kernels.launch.execution import REFERENCE, chunk
from rushlight.kernels.launch.prepared import word_of
from rushlight.kernels.special import pair_kernels as native
from rushlight.machine import np, threads

__all__ = ["compiled_pair", "references"]

_WORK = 64  # units of work of an element
references: dict = {}  # the definitions on arrays, by name


def compiled_pair(name, reference):
    """The function `name` of the kernels instead of a `reference`: both take two float64 arrays of
    one shape, and a number where the function has a limit: the largest degree, or what a last term
    may be of a sum."""
    place = list(native.FUNCTIONS).index(name)

    def run(first, second, *limit):
        if REFERENCE or type(first) is not np.ndarray or not first.size:
            return reference(first, second, *limit)
        first, second = np.asarray(first, order="C"), np.asarray(second, order="C")
        out = np.empty(first.shape)
        code = native.pairs.address(which=place)
        words = [0, 0, 0, 0, word_of(float(*limit))]
        threads.run(
            threads.plan(code, out.size, chunk(out.size, _WORK), words), None, out, first, second
        )
        return out

    references[name] = reference
    return run
