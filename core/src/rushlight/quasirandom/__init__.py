"""Numbers that fill a cube more evenly than random ones: :class:`SobolEngine`."""

from __future__ import annotations

from rushlight.dtypes import default, int64
from rushlight.machine import np
from rushlight.ops.creation.tensors import from_numpy
from rushlight.ops.random.generators import Generator
from rushlight.ops.random.sampling import randint
from rushlight.quasirandom.direction_numbers import BITS, DIMENSIONS, direction_numbers
from rushlight.tensor.tensor import Tensor

__all__ = ["SobolEngine"]


class SobolEngine:
    """Points of a (scrambled) Sobol sequence in the cube [0, 1)^dimension, as PyTorch's.

    `dimension` is 1 to 21,201; `scramble` permutes binary digits at random and shifts them (A. B.
    Owen, 1998), by the numbers that `seed` gives, or the default generator.

    >>> rushlight.quasirandom.SobolEngine(2).draw(3).tolist()
    [[0.0, 0.0], [0.5, 0.5], [0.75, 0.25]]
    """

    MAXBIT = BITS
    MAXDIM = DIMENSIONS

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None):
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]"
            )
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self.sobolstate = from_numpy(direction_numbers(dimension))
        if scramble:
            self._scramble()
        else:
            self.shift = from_numpy(np.zeros(dimension, np.int64))
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def _scramble(self):
        generator = None
        if self.seed is not None:
            generator = Generator()
            generator.manual_seed(self.seed)
        bits = self.MAXBIT
        shift = randint(2, (self.dimension, bits), generator=generator, dtype=int64).numpy()
        self.shift = from_numpy(shift @ (1 << np.arange(bits, dtype=np.int64)))
        shape = (self.dimension, bits, bits)
        matrices = randint(2, shape, generator=generator, dtype=int64).numpy()
        self.sobolstate = from_numpy(_scrambled(self.sobolstate.numpy(), matrices))

    def draw(self, n: int = 1, out: Tensor | None = None, dtype=None) -> Tensor:
        """The next `n` points as a tensor (n, dimension)."""
        dtype = default.float if dtype is None else dtype
        first = self.num_generated == 0
        rows = self._advance(max(self.num_generated - 1, 0), n - 1 if first else n)
        points = from_numpy(rows).to(dtype) * 0.5**self.MAXBIT
        if first:
            from rushlight.ops.shape.joining import cat

            points = cat((self._first_point.to(dtype), points), 0)
        self.num_generated += n
        if out is None:
            return points
        out.resize_(points.shape).copy_(points)
        return out

    def draw_base2(self, m: int, out: Tensor | None = None, dtype=None) -> Tensor:
        """The next ``2 ** m`` points; all points together must be a power of two of them, which
        keeps the sequence balanced."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out `n` points."""
        end = self.num_generated + n
        behind = max(self.num_generated - 1, 0)  # steps taken: the first point takes none
        while behind < end - 1:
            step = min(end - 1 - behind, 1 << 16)
            self._advance(behind, step)
            behind += step
        self.num_generated = end
        return self

    def _advance(self, behind, count):
        """The next `count` integers of each dimension, by Gray code (I. A. Antonov and V. M.
        Saleev, 1979): each differs from the one before in the direction number of the lowest zero
        of its index; `behind` steps have been taken."""
        index = np.arange(behind, behind + count, dtype=np.int64)
        lowest = ~index & (index + 1)
        steps = self.sobolstate.numpy().T[np.log2(lowest).astype(np.int64)]
        if count > 0:
            steps[0] ^= self.quasi.numpy()
            np.bitwise_xor.accumulate(steps, 0, out=steps)
            self.quasi.numpy()[...] = steps[-1]
        return steps

    def reset(self) -> SobolEngine:
        """Begin again."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def __repr__(self):
        text = [f"dimension={self.dimension}"]
        if self.scramble:
            text.append("scramble=True")
        if self.seed is not None:
            text.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(text)})"


def _scrambled(state, matrices):
    """Direction numbers with their binary digits multiplied by lower triangular matrices (of each
    dimension one), modulo 2."""
    bits = state.shape[1]
    lower = np.tril(matrices, -1) + np.eye(bits, dtype=np.int64)
    digits = state[:, :, None] >> np.arange(bits - 1, -1, -1) & 1  # (D, numbers, positions)
    product = digits @ lower.transpose(0, 2, 1) & 1
    return product @ (1 << np.arange(bits - 1, -1, -1, dtype=np.int64))
