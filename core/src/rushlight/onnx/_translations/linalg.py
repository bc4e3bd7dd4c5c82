"""Linear algebra that ONNX has."""

from __future__ import annotations

from rushlight.onnx._registry import aten


@aten("linalg_det", "det")
def det(g, self=None, A=None):  # noqa: N803 - ATen's name
    return g.op("Det", self if A is None else A)


@aten("trace")
def trace(g, self):
    import rushlight

    rows, columns = self.shape
    places = [n * (columns + 1) for n in range(min(rows, columns))]
    found = g.op("Gather", g.reshape(self, [-1]), g.integers(places), axis=0)
    return g.cast(g.reduce("ReduceSum", found, None, False), g.dtype or rushlight.float32)


@aten("linalg_cross")
def cross(g, self, other, dim=-1):
    import rushlight

    a, b = g.to(g.dtype, self, other)
    shape = rushlight.broadcast_shapes(a.shape, b.shape)
    a, b = (g.op("Expand", v, g.integers(shape)) for v in (a, b))
    axis = dim % len(shape)

    def turned(v, order):
        return g.op("Gather", v, g.integers(order), axis=axis)

    first = g.op("Mul", turned(a, [1, 2, 0]), turned(b, [2, 0, 1]))
    return g.op("Sub", first, g.op("Mul", turned(a, [2, 0, 1]), turned(b, [1, 2, 0])))
