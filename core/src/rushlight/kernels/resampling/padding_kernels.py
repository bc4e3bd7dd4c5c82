"""Compiled loops behind :mod:`rushlight.kernels.resampling.padding`. Import at first need.

Arrays are images of R2 times R1 rows. Argument words follow
:mod:`rushlight.kernels.launch.prepared`.
"""

from __future__ import annotations

from rushlight.machine.language.functions import (
    Parameter,
    array,
    element,
    f64,
    function,
    i64,
    independent,
    range_kernel,
)

size = Parameter("size")  # bytes of an element


@function
def fill(target, count, value):
    """One value, so many times."""
    out = array(element, target)
    for i in independent(count):
        out[i] = value


@range_kernel(wide=True)
def surround(args, lo, hi, tid):
    """OUT, X, the number around it as a double. Items are rows of OUT.

    Constants: elements of a row of OUT; the first that comes from X, how many do, and the bytes
    before them in a row of X; R1 of OUT and of X and what a row's number is less there, the same of
    R2; bytes from row to row of X, from plane to plane and from image to image.
    """
    g = array(i64, args)
    value = element(array(f64, args)[3])
    wide, begin, count = g[4], g[5], g[6]
    rows, own_rows, top, planes = g[8], g[9], g[10], g[11]
    row = lo
    while row < hi:  # as many rows as are of one plane
        plane, first = row // rows, row % rows
        image, second = plane // planes, plane % planes - g[13]
        stop = min(rows, first + hi - row)
        target = g[1] + size * row * wide
        inside, behind = min(max(first, top), stop), min(top + own_rows, stop)
        if second < 0 or second >= g[12] or behind <= inside:
            fill(target, (stop - first) * wide, value)
        else:
            fill(target, (inside - first) * wide + begin, value)
            target += size * ((inside - first) * wide + begin)
            source = g[2] + g[7] + image * g[16] + second * g[15] + (inside - top) * g[14]
            for r in range(inside, behind):
                x, inner = array(element, source), array(element, target)
                for i in independent(count):
                    inner[i] = x[i]
                rest = wide - count if r < behind - 1 else (stop - r) * wide - begin - count
                fill(target + size * count, rest, value)
                source += g[14]
                target += size * wide
        row += stop - first


# Constants of the following two, after OUT and the arrays: elements of a row of the smaller and of
# the larger array and the first of the larger that is in the middle; R1 of both, R2 of both.


@range_kernel(wide=True)
def continue_rows(args, lo, hi, tid):
    """OUT, X, PLACES: rows of X continued on both sides. Items are rows of OUT. PLACES: the source
    of every plane of OUT, of every row, and of every element of a row."""
    g = array(i64, args)
    n, wide, begin = g[4], g[5], g[6]
    own_rows, rows, own_planes, planes = g[7], g[8], g[9], g[10]
    from_plane, from_row = array(i64, g[3]), array(i64, g[3] + 8 * planes)
    columns = array(i64, g[3] + 8 * (planes + rows))
    row = lo
    while row < hi:
        plane, first = row // rows, row % rows
        image, second = plane // planes, from_plane[plane % planes]
        stop = min(rows, first + hi - row)
        for r in range(first, stop):
            target = g[1] + size * (plane * rows + r) * wide
            source = (image * own_planes + second) * own_rows + from_row[r]
            x, out = array(element, g[2] + size * source * n), array(element, target)
            inner = array(element, target + size * begin)
            for i in independent(n):
                inner[i] = x[i]
            for i in range(begin):
                out[i] = x[columns[i]]
            for i in range(begin + n, wide):
                out[i] = x[columns[i]]
        row += stop - first


@range_kernel(wide=True)
def collect_rows(args, lo, hi, tid):
    """OUT, GRAD, PLACES: the gradient of :func:`continue_rows`. Items are images."""
    g = array(i64, args)
    n, wide, begin = g[4], g[5], g[6]
    own_rows, rows, own_planes, planes = g[7], g[8], g[9], g[10]
    from_plane, from_row = array(i64, g[3]), array(i64, g[3] + 8 * planes)
    columns = array(i64, g[3] + 8 * (planes + rows))
    for image in range(lo, hi):
        start = g[1] + size * image * own_planes * own_rows * n
        whole = array(element, start)
        for i in independent(own_planes * own_rows * n):
            whole[i] = 0
        for plane in range(planes):
            for r in range(rows):
                at = g[2] + size * ((image * planes + plane) * rows + r) * wide
                grad, middle = array(element, at), array(element, at + size * begin)
                row = from_plane[plane] * own_rows + from_row[r]
                out = array(element, start + size * row * n)
                for i in independent(n):
                    out[i] += middle[i]
                for i in range(begin):
                    out[columns[i]] += grad[i]
                for i in range(begin + n, wide):
                    out[columns[i]] += grad[i]
