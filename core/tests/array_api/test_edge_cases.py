"""Empty arrays, arrays without dimensions, broadcasting and odd arguments, as array-api-strict."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from test_against_strict import check


def A(xp, values, dtype=None):
    """An array of the namespace."""
    return xp.asarray(np.asarray(values, dtype=dtype))


CASES = {
    "unique complex": lambda xp: xp.unique_all(A(xp, [1j, 2, 1j, 0])),
    "unique bool": lambda xp: xp.unique_all(A(xp, [True, False, True])),
    "unique 0d": lambda xp: xp.unique_all(A(xp, 3)),
    "unique_values": lambda xp: xp.unique_values(A(xp, [[3, 1], [1, 2]])),
    "tile ()": lambda xp: xp.tile(A(xp, [1, 2]), ()),
    "tile 0d": lambda xp: xp.tile(A(xp, 1), (2, 3)),
    "tile 0": lambda xp: xp.tile(A(xp, [1, 2]), (0,)),
    "repeat 0d": lambda xp: xp.repeat(A(xp, 3), 2),
    "repeat 1": lambda xp: xp.repeat(A(xp, [[1, 2]]), A(xp, [2]), axis=1),
    "roll 0d": lambda xp: xp.roll(A(xp, 3), 2),
    "roll empty": lambda xp: xp.roll(A(xp, np.zeros((0, 3))), 2),
    "meshgrid 0d": lambda xp: xp.meshgrid(A(xp, 3), A(xp, [1, 2])),
    "meshgrid 1": lambda xp: xp.meshgrid(A(xp, [1, 2])),
    "meshgrid 3": lambda xp: xp.meshgrid(A(xp, [1, 2]), A(xp, [1, 2, 3]), A(xp, [5])),
    "concat empty": lambda xp: xp.concat([A(xp, np.zeros((0, 2))), A(xp, np.ones((1, 2)))]),
    "concat 0d None": lambda xp: xp.concat([A(xp, 1), A(xp, [2, 3])], axis=None),
    "take empty": lambda xp: xp.take(A(xp, [1, 2, 3]), A(xp, [], np.int64)),
    "argmax empty axis": lambda xp: xp.argmax(A(xp, np.zeros((0, 3))), axis=1),
    "max 0d": lambda xp: xp.max(A(xp, 3.0)),
    "mean 0d": lambda xp: xp.mean(A(xp, 3.0)),
    "std 0d": lambda xp: xp.std(A(xp, 3.0)),
    "var 1 corr1": lambda xp: xp.var(A(xp, [3.0]), correction=1),
    "var corr big": lambda xp: xp.var(A(xp, [3.0, 4.0]), correction=5),
    "sum 0d": lambda xp: xp.sum(A(xp, 3, np.int8)),
    "sum bool dtype": lambda xp: xp.sum(A(xp, [1, 2], np.int8), dtype=xp.int8),
    "prod dtype": lambda xp: xp.prod(A(xp, [1, 2], np.float32), dtype=xp.float64),
    "all 0d": lambda xp: xp.all(A(xp, True)),
    "cumsum 0d": lambda xp: xp.cumulative_sum(A(xp, [], np.float32)),
    "cumsum init int8": lambda xp: xp.cumulative_sum(
        A(xp, [1, 2], np.int8), include_initial=True, dtype=xp.int8
    ),
    "sort empty": lambda xp: xp.sort(A(xp, np.zeros((0, 3)))),
    "sort bool-like uint8": lambda xp: xp.sort(A(xp, [3, 1, 2], np.uint8), descending=True),
    "argsort stable desc": lambda xp: xp.argsort(A(xp, [1, 1, 0, 0]), descending=True),
    "searchsorted empty": lambda xp: xp.searchsorted(A(xp, [1.0, 2.0]), A(xp, np.zeros((0,)))),
    "searchsorted 2d": lambda xp: xp.searchsorted(
        A(xp, [1.0, 2.0]), A(xp, [[0.0, 1.5], [3.0, 2.0]])
    ),
    "matmul 1d2d": lambda xp: xp.matmul(A(xp, [1, 2]), A(xp, [[1, 2], [3, 4]])),
    "matmul int8": lambda xp: xp.matmul(A(xp, [[100, 2]], np.int8), A(xp, [[2], [3]], np.int8)),
    "tensordot neg": lambda xp: xp.tensordot(
        A(xp, np.ones((2, 3))), A(xp, np.ones((3, 2))), axes=((-1,), (0,))
    ),
    "tensordot empty axes": lambda xp: xp.tensordot(
        A(xp, np.ones((2, 3))), A(xp, np.ones((3, 2))), axes=((), ())
    ),
    "vecdot bcast": lambda xp: xp.vecdot(A(xp, np.ones((2, 1, 3))), A(xp, np.ones((4, 3)))),
    "outer": lambda xp: xp.linalg.outer(A(xp, [1, 2], np.int8), A(xp, [1, 2], np.int16)),
    "cross bcast": lambda xp: xp.linalg.cross(
        A(xp, np.ones((2, 1, 3))), A(xp, np.arange(12.0).reshape(4, 3))
    ),
    "pinv stack": lambda xp: xp.linalg.pinv(
        A(xp, np.random.default_rng(0).normal(size=(2, 3, 4))), rtol=A(xp, [0.1, 0.2])
    ),
    "rank rtol arr": lambda xp: xp.linalg.matrix_rank(
        A(xp, np.random.default_rng(0).normal(size=(2, 3, 4))), rtol=A(xp, [0.1, 0.9])
    ),
    "solve 3d 1d": lambda xp: xp.linalg.solve(
        A(xp, np.random.default_rng(0).normal(size=(2, 3, 3))), A(xp, [1.0, 2, 3])
    ),
    "solve bcast": lambda xp: xp.linalg.solve(
        A(xp, np.random.default_rng(0).normal(size=(3, 3))), A(xp, np.ones((2, 3, 1)))
    ),
    "svd 0": lambda xp: xp.linalg.svdvals(A(xp, np.zeros((0, 3)))),
    "det 0": lambda xp: xp.linalg.det(A(xp, np.zeros((0, 0)))),
    "diag off": lambda xp: xp.linalg.diagonal(A(xp, np.ones((2, 3))), offset=5),
    "trace off": lambda xp: xp.linalg.trace(A(xp, np.ones((3, 3), np.int8)), offset=-1),
    "mnorm int ord": lambda xp: xp.linalg.matrix_norm(A(xp, np.ones((3, 3), np.complex64))),
    "vnorm f": lambda xp: xp.linalg.vector_norm(
        A(xp, np.arange(6.0).reshape(2, 3)), axis=(0, 1), ord=1.5
    ),
    "vnorm axis=() ": lambda xp: xp.linalg.vector_norm(
        A(xp, np.arange(6.0).reshape(2, 3)), axis=()
    ),
    "mpow 0": lambda xp: xp.linalg.matrix_power(A(xp, np.ones((2, 2))), 0),
    "fft f32": lambda xp: xp.fft.fft(A(xp, [1, 2, 3], np.complex64)),
    "rfft": lambda xp: xp.fft.rfft(A(xp, [1, 2, 3], np.float32), n=8),
    "fftfreq": lambda xp: xp.fft.fftfreq(5, dtype=xp.float64),
    "reshape -1": lambda xp: xp.reshape(A(xp, np.zeros((0, 3))), (3, 0)),
    "reshape 0d": lambda xp: xp.reshape(A(xp, [1]), ()),
    "squeeze ()": lambda xp: xp.squeeze(A(xp, np.ones((1, 2))), ()),
    "flip neg": lambda xp: xp.flip(A(xp, np.arange(6).reshape(2, 3)), axis=(-1,)),
    "clip bcast": lambda xp: xp.clip(A(xp, [1.0, 2.0]), min=A(xp, [[0.0], [3.0]])),
    "where scal": lambda xp: xp.where(A(xp, [True, False]), 1, A(xp, [2, 3], np.int8)),
    "where bcast": lambda xp: xp.where(A(xp, [[True], [False]]), A(xp, [1, 2]), A(xp, 5)),
    "logical num": lambda xp: xp.logical_or(A(xp, [True, False]), True),
    "pow scalar": lambda xp: xp.pow(2, A(xp, [1, 2], np.int16)),
    "pow neg float": lambda xp: xp.pow(A(xp, [-8.0, 2.0]), A(xp, [1 / 3, -1.0])),
    "fdiv ints": lambda xp: xp.floor_divide(A(xp, [-7, 7], np.int8), A(xp, [2, -2], np.int8)),
    "rem ints": lambda xp: xp.remainder(A(xp, [-7, 7], np.int8), A(xp, [2, -2], np.int8)),
    "round half": lambda xp: xp.round(A(xp, [0.5, 1.5, 2.5, -0.5])),
    "sign cplx": lambda xp: xp.sign(A(xp, [3 + 4j, 0, 1j])),
    "nextafter": lambda xp: xp.nextafter(A(xp, [1.0, -0.0]), A(xp, [2.0, 1.0])),
    "shift big": lambda xp: xp.bitwise_left_shift(A(xp, [1], np.int32), A(xp, [31], np.int32)),
    "diff n=0": lambda xp: xp.diff(A(xp, [1, 2, 4]), n=0),
    "diff big": lambda xp: xp.diff(A(xp, [1, 2, 4]), n=5),
    "unstack": lambda xp: xp.unstack(A(xp, np.zeros((0, 2)))),
    "count_nonzero cplx": lambda xp: xp.count_nonzero(A(xp, [0, 1j])),
    "take_along": lambda xp: xp.take_along_axis(
        A(xp, np.arange(6).reshape(2, 3)), A(xp, [[0], [1]]), axis=1
    ),
    "take_along bcast": lambda xp: xp.take_along_axis(
        A(xp, np.arange(6).reshape(2, 3)), A(xp, [[0, 1]]), axis=1
    ),
    "nonzero c": lambda xp: xp.nonzero(A(xp, [0, 1j, 2])),
    "astype bool": lambda xp: xp.astype(A(xp, [0.0, np.nan, 2]), xp.bool),
    "astype f->i": lambda xp: xp.astype(A(xp, [0.7, -1.7]), xp.int8),
    "linspace 1": lambda xp: xp.linspace(0.0, 1.0, 1, dtype=xp.float32),
    "linspace int": lambda xp: xp.linspace(0, 10, 5, dtype=xp.int64),
    "full c": lambda xp: xp.full((2,), 1j, dtype=xp.complex64),
    "full b": lambda xp: xp.full((), False),
    "eye": lambda xp: xp.eye(0, 3, dtype=xp.float64),
    "arange neg": lambda xp: xp.arange(3, -3, -2),
    "tril k": lambda xp: xp.tril(A(xp, np.ones((2, 0, 3)))),
    "argmin keep": lambda xp: xp.argmin(A(xp, np.ones((2, 3))), keepdims=True),
    "real": lambda xp: xp.real(A(xp, [1j + 2], np.complex64)),
    "getitem": lambda xp: [
        A(xp, np.arange(24).reshape(2, 3, 4))[i]
        for i in [
            (0, ...),
            (..., 1),
            (slice(None), slice(1, None), ...),
            (None, 0, ...),
            (slice(0, 2, 2), ..., slice(3, 1)),
            (...,),
        ]
    ],
    "mask": lambda xp: [
        A(xp, np.arange(6).reshape(2, 3))[A(xp, np.arange(6).reshape(2, 3) > 2)],
        A(xp, 3)[A(xp, True)],
    ],
    "intidx": lambda xp: A(xp, np.arange(6).reshape(2, 3))[A(xp, [1, 0]), A(xp, [2, 2])],
    "ops": lambda xp: [
        A(xp, [1, 2], np.int8) + A(xp, [1, 2], np.int16),
        2 - A(xp, [1.0, 2.0]),
        A(xp, [True]) | False,
        ~A(xp, [1]),
        A(xp, [5]) // 2,
        2 ** A(xp, [3]),
        A(xp, [1.0]) @ A(xp, [2.0]),
        -A(xp, [1]),
        abs(A(xp, [-1.0])),
        A(xp, [5]) % 3,
        A(xp, [4]) >> 1,
        1 << A(xp, [2]),
        A(xp, [6]) ^ 3,
        A(xp, [1.0]) == 1.0,
        +A(xp, [2]),
    ],
}


@pytest.mark.parametrize("name", CASES)
def test_edge_case(name):
    check(lambda xp, make: CASES[name](xp))
