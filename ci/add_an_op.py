"""Add an op of every kind to a scratch copy of core and show that all else follows.

HOUSE's promise is that what is true of an op stands in its declaration. This adds an elementwise
op, a reduction, a view, a composite, and a heavy op with a CPU kernel of its own, each by text at
the end of the files that `ADDITIONS` names, and then asks the copy: the generated tests and those
of vmap and forward mode find the ops and pass; the public function, the method, the in-place form,
`out=`, autocast, the signature and the entry of the docs are there; the house's rules name no new
case; and no more files differ than a kind may touch.

Usage: python ci/add_an_op.py [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import house

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
COPIED = (
    "core/src",
    "core/pyproject.toml",
    "core/tests/conftest.py",
    "core/tests/fences.py",
    "core/tests/fences.c",
    "core/tests/test_ops.py",
    "core/tests/func/test_op_table.py",
    "ci/stub_writer",
    "docs/reference",
)
QUESTIONS = HERE / "added_ops_questions.py"


class Addition(NamedTuple):
    """An op to add: its kind, its name, how many files that may touch, and the text by file."""

    kind: str
    name: str
    limit: int
    texts: dict[str, str]


ELEMENTWISE = '''

@elementwise(rule=floating, domain=real, autocast="float32")
def bell_curve(input):
    """``exp(-input ** 2)``."""
    return xp.exp(-(input * input))


bell_curve.gradient(input=lambda grad, input, out: grad * conj_of(out * input) * -2.0)
'''
REDUCTION = '''

@op(
    batching="dims",
    samples=_sizes,
    meta=real_reduced,
)
def energy(input: Tensor, dim=None, keepdim=False):
    """The sum of squares over `dim`."""
    axes = wrap_dims(dim, input.ndim)
    return by_rows(np.asarray((input * input).sum(axis=axes, keepdims=keepdim), input.dtype))


energy.gradient(
    input=lambda grad, input, dim, keepdim: restore(grad, tuple(input.shape), dim, keepdim)
    * input.conj()
    * 2.0
)
'''
VIEW = '''

@declare_view(
    linear=True,
    batching="dims",
    samples=lambda make: [((make(2, 3), 0), {}), ((make(2, 3, 4), -2), {})],
)
def swap_with_last(input: Tensor, dim):
    """`dim` and the last dimension exchanged."""
    return input.swapaxes(wrap_dim(dim, input.ndim), -1)


swap_with_last.gradient(input=lambda grad, dim: grad.swap_with_last(dim))
'''
COMPOSITE = '''

@composite(samples=[(), (0,), {"dim": -1, "keepdim": True}])
def quadratic_mean(input: Tensor, dim=None, keepdim=False):
    """The square root of the mean of squares over `dim`."""
    return (input * input).mean(dim, keepdim).sqrt()
'''
HEAVY = '''

@op(
    linear=True,
    batching="trailing",
    meta=like,
    samples=lambda make: [((make(3, 4), 0.5), {}), ((make(2, 3, 5), -0.25), {})],
    autocast="float32",
)
def leaky_sum(input: Tensor, kept: float):
    """Running sums along the last dimension, of which each step keeps the share `kept`."""
    out = np.array(input, order="C")
    for i in range(1, out.shape[-1]):
        out[..., i] += kept * out[..., i - 1]
    return out


leaky_sum.cpu(by_layout(leaky_sums.prepare, leaky_sum.op.body))
leaky_sum.gradient(input=lambda grad, kept: grad.flip(-1).leaky_sum(kept).flip(-1))
'''
HEAVY_IMPORTS = """
from rushlight.kernels.scan_sort import leaky_sums  # noqa: E402
from rushlight.ops._table.shape_rules import like  # noqa: E402
"""
KERNEL = '''"""Running sums of rows, of which each step keeps a share.

Argument words as in `prepared`: the sums and the rows (P, N), N, and the share as a double.
"""

from __future__ import annotations

from rushlight.kernels.launch.execution import COMPILED_DTYPES, REFERENCE, chunk, language_type
from rushlight.kernels.launch.prepared import prepared, word_of
from rushlight.machine.language.functions import array, f32, f64, i64, range_kernel, real

__all__ = ["prepare"]

OUT, ROWS, LENGTH, KEPT = range(1, 5)


@range_kernel
def sums(args, lo, hi, tid):
    """Items are rows."""
    g, size = array(i64, args), 4 if real is f32 else 8
    length, kept = g[LENGTH], real(array(f64, args)[KEPT])
    for row in range(lo, hi):
        start = size * row * length
        x, out = array(real, g[ROWS] + start), array(real, g[OUT] + start)
        total = real(0)
        for i in range(length):
            total = x[i] + kept * total
            out[i] = total


def prepare(x, kept):
    """A call ``f(x)`` for one layout; None where that is left to NumPy: other dtypes, gaps between
    elements, the reference mode."""
    if REFERENCE or x.dtype not in COMPILED_DTYPES or not x.size or not x.flags.c_contiguous:
        return None
    length = x.shape[-1]
    rows, code = x.size // length, sums.address(real=language_type(x.dtype))
    words = [length, word_of(float(kept))]
    return prepared(code, rows, chunk(rows, length), [x], [(x.shape, x.dtype)], words)
'''
ADDITIONS = (
    Addition("elementwise op", "bell_curve", 1, {"ops/elementwise/exponential.py": ELEMENTWISE}),
    Addition("reduction", "energy", 1, {"ops/reduction/sums_and_extremes.py": REDUCTION}),
    Addition("view", "swap_with_last", 1, {"ops/shape/views.py": VIEW}),
    Addition("composite", "quadratic_mean", 1, {"ops/reduction/variance.py": COMPOSITE}),
    Addition(
        "heavy op",
        "leaky_sum",
        2,
        {
            "ops/reduction/scan.py": HEAVY_IMPORTS + HEAVY,
            "kernels/scan_sort/leaky_sums.py": KERNEL,
        },
    ),
)


def copied(target: Path) -> Path:
    """The parts of the tree that are asked, copied below `target`; the copied sources."""
    skipped = shutil.ignore_patterns("__pycache__")
    for name in COPIED:
        source, copy = ROOT / name, target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy, ignore=skipped)
        else:
            shutil.copy(source, copy)
    return target / "core" / "src" / "rushlight"


def add(source: Path) -> None:
    """Write the text of every addition at the end of its files."""
    for addition in ADDITIONS:
        for name, text in addition.texts.items():
            with (source / name).open("a") as file:
                file.write(text)


def differing(before: Path, after: Path) -> set[str]:
    """Files below `after` that are not as they are below `before`."""
    names = {path.relative_to(after) for path in after.rglob("*.py")}
    return {
        name.as_posix()
        for name in names
        if not (before / name).is_file() or not filecmp.cmp(before / name, after / name, False)
    }


def touched(before: Path, after: Path) -> list[str]:
    """What is wrong with the files that differ; says how many each kind of op touches."""
    found, allowed = [], set()
    for addition in ADDITIONS:
        allowed |= set(addition.texts)
        print(f"{addition.kind:15} {addition.name:15} files touched: {len(addition.texts)}")
        if len(addition.texts) > addition.limit:
            found.append(f"{addition.name} touches {len(addition.texts)} files")
    return found + [f"{name} differs too" for name in differing(before, after) - allowed]


def named_elsewhere(source: Path) -> list[str]:
    """Cases of the house's rules that name an added op."""
    names = {addition.name for addition in ADDITIONS}
    rules = ("op-string", "op-list", "no-samples")
    cases = house.measure(source).found
    return [str(case) for case in cases if case.rule in rules and case.name in names]


def asked(target: Path) -> list[str]:
    """The copy's own answers: the questions of `QUESTIONS`, and the tests that find the ops."""
    environment = {**os.environ, "PYTHONPATH": str(target / "core" / "src")}
    names = [addition.name for addition in ADDITIONS]
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k"]
    tests = ["tests/test_ops.py", "tests/func/test_op_table.py"]
    found = []
    for command in (
        [sys.executable, str(QUESTIONS), str(target), *names],
        [*pytest, " or ".join(names), *tests],
    ):
        done = subprocess.run(
            command, cwd=target / "core", env=environment, capture_output=True, text=True
        )
        print(done.stdout.strip().splitlines()[-1] if done.stdout.strip() else "no answer")
        if done.returncode:
            found.append(done.stdout + done.stderr)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--keep", type=Path, help="make the copy in this new folder and leave it")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        target = given.keep or Path(scratch)
        source = copied(target.resolve())
        add(source)
        found = touched(ROOT / "core" / "src" / "rushlight", source)
        found += named_elsewhere(source) + asked(target.resolve())
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
