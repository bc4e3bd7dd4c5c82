"""Debug down to the arithmetic with pdb.

    rushlight examples run learn_debugging

In most frameworks the debugger ends at a call into C++. Here it does not: from your `forward` it
steps through the operator to the line where NumPy computes, and in backward to the formula of a
gradient. This page hunts a `nan` that way. What it shows are transcripts: the script runs pdb with
the commands that stand behind the prompts, and prints what pdb said. Read [tensors and
autograd](learn_tensors.md) first. It takes ten seconds, and leaves the program in
runs/learn_debugging/.
"""

# %% The bug
# The program measures how long some vectors are and asks how the total depends on them. One vector
# is zero. The lengths are right, and one gradient is not a number; in a training, all weights would
# be `nan` one step later.
import inspect
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import rushlight as rl

PROGRAM = """\
import rushlight as rl


def lengths(points):
    squares = (points * points).sum(dim=1)
    return squares.sqrt()


points = rl.tensor([[3.0, 4.0], [0.0, 0.0]], requires_grad=True)
total = lengths(points).sum()
total.backward()
print(points.grad)
"""
folder = Path("runs/learn_debugging")
folder.mkdir(parents=True, exist_ok=True)
(folder / "lengths.py").write_text(PROGRAM)
done = subprocess.run([sys.executable, "lengths.py"], cwd=folder, capture_output=True, text=True)
print(done.stdout, end="")

# %% Ask before you step
# Anomaly mode checks every gradient and says which operation made the first `nan`. It costs time,
# so it is off by default. The answer is true and not enough: a product gave `nan`, but a product
# does so only if it is given something odd.
points = rl.tensor([[3.0, 4.0], [0.0, 0.0]], requires_grad=True)
total = (points * points).sum(dim=1).sqrt().sum()
with rl.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    try:
        total.backward()
    except RuntimeError as error:
        print(error)
print(str(warned[0].message).splitlines()[0])

# %% Two switches
# A warm call is machine code from the tensors to the result, and kernels are machine code as well:
# neither has lines. `RUSHLIGHT_FAST_PATH=off` takes the way through Python, and
# `RUSHLIGHT_KERNELS=reference` computes with NumPy what kernels would. Results are the same up to
# rounding, and slower. Both are read when Rushlight is imported, so set them for the whole program:
#
# ```
# RUSHLIGHT_FAST_PATH=off RUSHLIGHT_KERNELS=reference python -m pdb lengths.py
# ```
#
# The script does just that, and gives pdb its commands one by one.


def debug(*commands: str) -> None:
    """Print what pdb says of the program to these commands."""
    switches = {"RUSHLIGHT_FAST_PATH": "off", "RUSHLIGHT_KERNELS": "reference"}
    done = subprocess.run(
        [sys.executable, "-m", "pdb", "lengths.py"], cwd=folder, env={**os.environ, **switches},
        input="\n".join([*commands, "q", ""]), capture_output=True, text=True, check=True,
    )  # fmt: skip
    said = done.stdout.replace(f"{folder.resolve()}/", "")
    said = said.replace(f"{Path(rl.__file__).parents[1]}/", "")  # paths begin at the package
    said = re.sub(
        r"  \S+bdb\.py.*?(?=  lengths\.py)", "", said, flags=re.DOTALL
    )  # pdb's own frames
    start, *answers = said.split("(Pdb) ")
    print(start, end="")
    for command, answer in zip(commands, answers, strict=False):
        print(f"(Pdb) {command}\n{answer}", end="")


# %% Forward, down to NumPy
# `b lengths` stops in your own function. `n` goes on by a line and `p` prints; a tensor shows its
# values, whether it requires grad or not. Then a stop is set where the reference evaluates one
# operation (`_apply`), on the condition that it is the root. `a` prints the arguments there: the
# expression that is evaluated, and NumPy's arrays. `r` runs to the return, and shows what is
# returned. That line, `function(*args)`, is the arithmetic: `function` is `numpy.sqrt`.
debug(  # figures vary: of lines
    "b lengths",
    "c",
    "n",
    "p squares",
    "import rushlight.compiler.evaluation as evaluation",
    'tbreak evaluation._apply, e.op == "sqrt"',
    "c",
    "a",
    "r",
    "p function",
)

# %%
# How did it get there? `w` prints the stack, outermost first. From above: your lines, the function
# of the op, its general call, which binds arguments and looks for the kernel, and the reference
# kernel, which goes through the expression. The general call is that of the first time; later ones
# of the same form take a shorter way (a "prepared call"), which pdb lists like any other code.
debug(  # figures vary: of lines
    "import rushlight.compiler.evaluation as evaluation",
    'tbreak evaluation._apply, e.op == "sqrt"',
    "c",
    "w",
)

# %% What an operation is
# Two pieces of text say all that is known of the root: its body, which is evaluated here and
# compiled otherwise, and the formula of its gradient. They are objects like others, so the debugger
# can stop in them.
print(inspect.getsource(rl.sqrt.op.body))
print(inspect.getsource(rl.sqrt.op.formulas["input"]), end="")

# %% Backward, down to the formula
# Stop before `backward`, then in the formula. It is given a gradient of ones and the roots 5 and 0,
# and it divides by twice the root: the slope of the root at zero is infinite. That is right; ask
# mathematics, not the code. The next stop shows what becomes of it. The square's gradient
# multiplies by the vector, which is zero, and infinity times zero is `nan`.
debug(  # figures vary: of lines
    "tbreak lengths.py:11",
    "c",
    'tbreak rl.sqrt.op.formulas["input"]',
    "c",
    "a",
    "r",
    "import rushlight.compiler.evaluation as evaluation",
    'tbreak evaluation._apply, e.op == "multiply"',
    "c",
    "a",
    "r",
    "retval",
)

# %% The repair
# The length of a vector has no slope at zero, and the useful convention is zero. `vector_norm`
# follows it. Where there is no such function, keep the zero away from the root *before* it is
# taken: `where` behind it does not help, since the gradient of the part that was not chosen is
# computed as well, and `0 * inf` is `nan` again.


def gradient(lengths) -> rl.Tensor:
    """The gradient of the total length by the points."""
    points = rl.tensor([[3.0, 4.0], [0.0, 0.0]], requires_grad=True)
    lengths(points).sum().backward()
    return points.grad


def guarded_behind(points: rl.Tensor) -> rl.Tensor:
    squares = (points * points).sum(dim=1)
    return rl.where(squares > 0, squares.sqrt(), 0.0)


def guarded_before(points: rl.Tensor) -> rl.Tensor:
    squares = (points * points).sum(dim=1)
    safe = rl.where(squares > 0, squares, 1.0)
    return rl.where(squares > 0, safe.sqrt(), 0.0)


for name, lengths in (
    ("vector_norm", lambda points: rl.linalg.vector_norm(points, dim=1)),
    ("where behind the root", guarded_behind),
    ("where before the root", guarded_before),
):
    print(f"{name:21}", gradient(lengths).flatten())

# %% What next
# `breakpoint()` in your own code does the same without a prepared program; IDEs' debuggers and
# `pdb.post_mortem()` after an error do, too. [The fast path](fast_path.md) says what stands between
# your call and the kernel when the switches are off, and [Architecture](architecture.md) where each
# file belongs. `rushlight.autograd.gradcheck` compares a gradient of your own with differences.
# [Where the time goes](profiling.md) is the profiler.
