"""Errors of the elementwise functions in float32, over all 2^32 inputs: a table for the docs.

python ci/errors.py [--step 1] [NAME ...]

The truth is our own float64 function of the same name, whose error (tests/compiler/test_accuracy.py
holds it to a few units of float64) is nothing beside float32's; measuring is one fused kernel: the
function in both precisions and their distance. With ``--step`` only one input in so many is
taken. Writes docs/pages/errors.md when no name is given.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from packages import ROOT

NAMES = (
    "exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan asin acos atan sinh cosh tanh asinh "
    "acosh atanh sigmoid erf erfc"
).split()
BLOCK = 1 << 22
SMALLEST = 2.0**-126  # below it float32 has fewer digits: errors count against this size
EXPONENT = 0x7F800000
HEAD = """# Errors of elementwise functions

The largest error of each function in float32 over {inputs} inputs (every bit pattern{every}),
against the same function in float64, in units in the last place (ulp): the distance of neighbouring
float32 numbers where the result is; below 2^-126, where they lose digits, the distance there.
Rounding alone costs up to a half. Infinities and NaN stand where they belong: a single one
elsewhere would show as `inf`.

`python ci/errors.py` writes this page again.

| function | largest error, ulp | at |
| --- | --- | --- |
"""


def kernel_of(name):
    """A compiled kernel that gives the error at float32 inputs."""
    from rushlight.compiler import compile_kernel, xp
    from rushlight.compiler.functions.algebra import bits, floats
    from rushlight.compiler.graph import cast

    word = getattr(xp, name)

    def body(x):
        got, true = word(x), word(cast(x, "f64"))
        rounded = cast(true, "f32")
        binade = floats(bits(xp.abs(rounded)) & EXPONENT)
        size = cast(xp.maximum(binade, SMALLEST), "f64")
        error = xp.abs(cast(got, "f64") - true) / size * 2.0**23
        both_nan = xp.logical_and(xp.isnan(got), xp.isnan(rounded))
        agree = xp.logical_or(xp.equal(got, rounded), both_nan)
        finite = xp.logical_and(xp.isfinite(got), xp.isfinite(rounded))
        return cast(xp.where(finite, error, xp.where(agree, 0.0, xp.inf)), "f32")

    return compile_kernel(body, {"x": "f32"}, {"x": "f32"}, {}, {}, ("f32",))


def largest(name, step):
    """The largest error and the input where it is."""
    kernel, worst, place = kernel_of(name), -1.0, 0.0
    bits = (np.arange(BLOCK, dtype=np.uint64) * step).astype(np.uint32)
    for _ in range(-(-(1 << 32) // (BLOCK * step))):
        x = bits.view(np.float32)
        found = kernel(x)
        at = int(found.argmax())  # a NaN would come first
        if not found[at] <= worst:
            worst, place = float(found[at]), float(x[at])
        bits += np.uint32(BLOCK * step & 0xFFFFFFFF)
    return worst, place


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--step", type=int, default=1)
    options = parser.parse_args()
    rows = []
    for name in options.names or NAMES:
        start = time.perf_counter()
        worst, place = largest(name, options.step)
        rows.append(f"| `{name}` | {worst:.2f} | {place!r} |")
        print(rows[-1], f"{time.perf_counter() - start:.0f} s", flush=True)
    if not options.names:
        every = "" if options.step == 1 else f", one of {options.step}"
        inputs = f"all {1 << 32:,}" if options.step == 1 else f"{(1 << 32) // options.step:,}"
        text = HEAD.format(inputs=inputs, every=every) + "\n".join(rows) + "\n"
        (ROOT / "docs" / "pages" / "errors.md").write_text(text)


if __name__ == "__main__":
    main()
