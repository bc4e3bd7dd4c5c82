"""What long Fourier transforms need between shorter ones. Import at first need."""

from __future__ import annotations

from rushlight.machine.language.functions import array, f32, function, i64, range_kernel, static

# Argument words. TABLE: address of roots of unity; LENGTH: rows and columns of a matrix, or values
# of a row of complex numbers; BACK: 1 in the transform back; ENDS: address of a float32 by which
# the first and last value of a half are multiplied.
SOURCE, OUT, TABLE, FIRST, SECOND, BACK = range(6)
LENGTH, ENDS = FIRST, BACK

TILE = 8  # complex numbers of a cache line
BLOCK = 512  # pairs of values of a row


@function
def put_product(x, roots, out, k, step, sign):
    """Complex number k of a result: that of every `step` of `x` times the root."""
    real, imaginary = x[2 * k * step], x[2 * k * step + 1]
    c, s = roots[2 * k], sign * roots[2 * k + 1]
    out[2 * k] = real * c - imaginary * s
    out[2 * k + 1] = real * s + imaginary * c


@range_kernel
def twist(args, lo, hi, tid):
    """Complex matrices (FIRST, SECOND), transposed, times the roots of the table, which are laid
    out as the result does. Items are TILE columns of one."""
    g = array(i64, args)
    first, second = g[FIRST], g[SECOND]
    tiles = (second + TILE - 1) // TILE
    sign = f32(1) - f32(2) * f32(g[BACK])
    for item in range(lo, hi):
        matrix, start = item // tiles, item % tiles * TILE
        columns = min(i64(TILE), second - start)
        source = g[SOURCE] + 8 * (matrix * first * second + start)
        target = g[OUT] + 8 * (matrix * second + start) * first
        for row in range(0, first, TILE):
            rows = min(i64(TILE), first - row)
            for j in range(columns):
                x = array(f32, source + 8 * (row * second + j))
                roots = array(f32, g[TABLE] + 8 * ((start + j) * first + row))
                out = array(f32, target + 8 * (j * first + row))
                if rows == TILE:
                    for k in static(TILE):
                        put_product(x, roots, out, k, second, sign)
                else:
                    for i in range(rows):
                        put_product(x, roots, out, i, second, sign)


@range_kernel
def halves(args, lo, hi, tid):
    """The first LENGTH + 1 values of the transforms of 2 LENGTH real numbers from those of LENGTH
    complex ones, whose parts they are. Items are BLOCK pairs of values of a row."""
    g = array(i64, args)
    n, table, ends = g[LENGTH], array(f32, g[TABLE]), array(f32, g[ENDS])[0]
    blocks = (n // 2 + BLOCK) // BLOCK
    half = f32(0.5)
    for item in range(lo, hi):
        row, block = item // blocks, item % blocks
        x = array(f32, g[SOURCE] + 8 * row * n)
        out = array(f32, g[OUT] + 8 * row * (n + 1))
        for k in range(block * BLOCK, min((block + 1) * BLOCK, n // 2 + 1)):
            other = n - k if k > 0 else 0
            even_real, odd_real = x[2 * k] + x[2 * other], x[2 * k + 1] + x[2 * other + 1]
            even_imaginary, odd_imaginary = x[2 * k + 1] - x[2 * other + 1], x[2 * other] - x[2 * k]
            c, s = table[2 * k], table[2 * k + 1]
            real = c * odd_real - s * odd_imaginary
            imaginary = c * odd_imaginary + s * odd_real
            scale = half * ends if k == 0 else half
            out[2 * k] = scale * (even_real + real)
            out[2 * k + 1] = scale * (even_imaginary + imaginary)
            out[2 * (n - k)] = scale * (even_real - real)
            out[2 * (n - k) + 1] = scale * (imaginary - even_imaginary)


@function
def complex_of_half(x, out, table, n, start, stop):
    """Values start .. stop - 1, and those as far from the end, of n complex numbers that stand for
    real ones, from the first half of the transform of these. Not the value at 0."""
    for k in range(start, stop):
        other = n - k
        even_real, even_imaginary = x[2 * k] + x[2 * other], x[2 * k + 1] - x[2 * other + 1]
        real, imaginary = x[2 * k] - x[2 * other], x[2 * k + 1] + x[2 * other + 1]
        c, s = table[2 * k], table[2 * k + 1]
        odd_real, odd_imaginary = real * c + imaginary * s, imaginary * c - real * s
        out[2 * k] = even_real - odd_imaginary
        out[2 * k + 1] = even_imaginary + odd_real
        out[2 * other] = even_real + odd_imaginary
        out[2 * other + 1] = odd_real - even_imaginary


@range_kernel
def halves_back(args, lo, hi, tid):
    """LENGTH complex numbers, whose transform back has 2 LENGTH real ones as its parts, from the
    LENGTH + 1 first values of the transform of these. Items are BLOCK pairs of values of a row."""
    g = array(i64, args)
    n, table, ends = g[LENGTH], array(f32, g[TABLE]), array(f32, g[ENDS])[0]
    blocks = (n // 2 + BLOCK) // BLOCK
    for item in range(lo, hi):
        row, block = item // blocks, item % blocks
        x = array(f32, g[SOURCE] + 8 * row * (n + 1))
        out = array(f32, g[OUT] + 8 * row * n)
        start = block * BLOCK
        if block == 0:  # of the ends the real parts alone count
            first, last = ends * x[0], ends * x[2 * n]
            out[0] = first + last
            out[1] = first - last
            start = i64(1)
        complex_of_half(x, out, table, n, start, min((block + 1) * BLOCK, n // 2 + 1))
