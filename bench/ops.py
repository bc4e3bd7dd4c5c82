"""The most used ops at three sizes, ours against PyTorch, in separate processes in turn.

python bench/ops.py [--pairs 5] [--seconds 0.05] [--threads N] [OP ...]

A process of each library times all ops (or those named) at 1e3, 1e5 and 1e7 elements; the two take
turns at every op. A pair of processes is followed by a new one.
Writes bench/results/ops.json and ops.md when no op is named.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import math
import statistics
from pathlib import Path

from turns import fastest, in_turn, medians, serve

FOLDER = Path(__file__).parent
SIZES = (1_000, 100_000, 10_000_000)

# One expression per op. x, y: (rows, columns) of float32; v: the columns; b: bool; i: int64 below
# the columns, one for each row; j: int64 like x below the columns; n: natural numbers like x; h, k:
# two thirds of the columns of tensors; f: int64 like h below its columns.
UNARY = (
    "abs neg exp log sqrt rsqrt sigmoid tanh relu sin cos floor round sign square reciprocal "
    "isnan erf log1p exp2"
).split()
EXPRESSIONS = {
    **{f"{name}": f"L.{name}(p)" for name in UNARY},
    "gelu": "F.gelu(x)", "silu": "F.silu(x)", "leaky_relu": "F.leaky_relu(x)", "elu": "F.elu(x)",
    "softplus": "F.softplus(x)", "clamp": "x.clamp(-1, 1)", "pow 2": "x ** 2", "pow": "p ** 1.5",
    "add": "x + y", "add number": "x + 1.5", "add row": "x + v", "sub": "x - y", "mul": "x * y",
    "div": "x / p", "add_": "z.add_(y)", "mul_": "z.mul_(1.0)", "addcmul": "L.addcmul(x, x, y)",
    "lerp": "L.lerp(x, y, 0.3)", "maximum": "L.maximum(x, y)", "where": "L.where(b, x, y)",
    "eq": "x == y", "gt": "x > 0", "logical_and": "b & c", "masked_fill": "x.masked_fill(b, 0.0)",
    "sum": "x.sum()", "sum 0": "x.sum(0)", "sum 1": "x.sum(1)", "mean": "x.mean()",
    "mean 1": "x.mean(1)", "var": "x.var()", "std 0": "x.std(0)", "norm": "x.norm()",
    "max": "x.max()", "max 1": "x.max(1)", "argmax 1": "x.argmax(1)", "any": "b.any()",
    "all 1": "b.all(1)", "prod 1": "p.prod(1)", "cumsum 1": "x.cumsum(1)",
    "cumprod 1": "p.cumprod(1)",
    "logsumexp 1": "x.logsumexp(1)", "softmax": "x.softmax(1)", "log_softmax": "x.log_softmax(1)",
    "softmax 0": "x.softmax(0)", "layer_norm": "F.layer_norm(x, (columns,), v, v)",
    "cross_entropy": "F.cross_entropy(x, i)", "mse_loss": "F.mse_loss(x, y)",
    "bce logits": "F.binary_cross_entropy_with_logits(x, u)", "dropout": "F.dropout(x, 0.5)",
    "cat 0": "L.cat([x, y], 0)", "cat 1": "L.cat([x, y], 1)", "stack": "L.stack([x, y])",
    "clone": "x.clone()", "contiguous of transpose": "x.t().contiguous()",
    "to double": "x.double()",
    "to half": "x.half()", "to bfloat16": "x.bfloat16()", "int to float": "n.float()",
    "float to int": "x.long()", "repeat": "x.repeat(2, 1)", "expand add": "x + v.expand(rows, -1)",
    "flip": "x.flip(1)", "roll": "x.roll(1, 1)", "tril": "x.tril()", "pad": "F.pad(x, (1, 1))",
    "index rows": "x[r]", "index mask": "x[b]", "gather": "x.gather(1, j)",
    "scatter_add": "L.zeros_like(x).scatter_add(1, j, y)", "index_select": "x.index_select(0, r)",
    "take_along_dim": "L.take_along_dim(x, j, 1)", "embedding": "F.embedding(r, x)",
    "sort": "x.sort(1)", "topk": "x.topk(3, 1)", "argsort": "x.argsort(1)", "unique": "n.unique()",
    "nonzero": "b.nonzero()", "bincount": "L.bincount(r)", "one_hot": "F.one_hot(i % 16, 16)",
    "zeros": "L.zeros(rows, columns)", "full": "L.full((rows, columns), 2.0)",
    "arange": "L.arange(rows * columns)", "rand": "L.rand(rows, columns)",
    "randn": "L.randn(rows, columns)", "randint": "L.randint(0, 9, (rows, columns))",
    "randperm": "L.randperm(rows * columns)", "normal_": "z.normal_()",
    "matmul v": "x @ v", "x[0]": "x[0]", "x[:, 1:]": "x[:, 1:]", "view": "x.view(-1)",
    "transpose": "x.transpose(0, 1)", "unsqueeze": "x.unsqueeze(0)", "item": "o.item()",
    "chunk": "x.chunk(2)", "einsum": "L.einsum('ij,ij->i', x, y)", "copy_": "z.copy_(x)",
    "x[0] = 1": "z.__setitem__(0, 1.0)", "detach": "x.detach()", "equal": "L.equal(x, x)",
    "outer add": "x + w", "interpolate": "F.interpolate(x[None, None], scale_factor=2)",
    "max_pool2d": "F.max_pool2d(x[None, None], 2)", "avg_pool2d": "F.avg_pool2d(x[None, None], 2)",
    "ones": "L.ones(rows, columns)", "empty": "L.empty(rows, columns)",
    "zeros on a device": "L.zeros(rows, columns, device=x.device)",
    "zeros_like": "L.zeros_like(x)", "ones_like": "L.ones_like(x)", "empty_like": "L.empty_like(x)",
    "full_like": "L.full_like(x, 2.0)", "new_zeros": "x.new_zeros(rows, columns)",
    "linspace": "L.linspace(0, 1, rows * columns)", "eye": "L.eye(rows)",
    "randn_like": "L.randn_like(x)", "rand_like": "L.rand_like(x)", "uniform_": "z.uniform_(-1, 1)",
    "multinomial": "L.multinomial(p[0], 1)", "fill_": "z.fill_(1.0)", "zero_": "z.zero_()",
    "clamp_": "z.clamp_(-1, 1)", "div_": "z.div_(1.0)", "masked_fill_": "z.masked_fill_(b, 0.0)",
    "scatter_": "z.scatter_(1, j, y)", "scatter_ number": "z.scatter_(1, j, 1.0)",
    "index_fill_": "z.index_fill_(0, r, 0.0)", "x[r] = y": "z.__setitem__(r, y)",
    "index_copy_": "z.index_copy_(0, r, y)", "index_add_": "z.index_add_(0, r, y)",
    "x[:, i]": "x[:, i]", "x[:, i] = 0": "z.__setitem__((slice(None), i), 0.0)",
    "x[mask] = 0": "z.__setitem__(b, 0.0)", "x[r, i]": "x[r, i]",
    "cpu": "x.cpu()", "to its device": "x.to(x.device, non_blocking=True)", "size": "x.size()",
    "reshape": "x.reshape(-1)", "flatten": "x.flatten()", "permute": "x.permute(1, 0)",
    "squeeze": "x.squeeze(0)", "expand": "w.expand(rows, columns)", "split": "x.split(rows // 4)",
    "x.T": "x.T", "numpy": "x.numpy()", "from_numpy": "L.from_numpy(a)", "tensor": "L.tensor(a)",
    "bool": "x.bool()", "int": "x.int()", "min": "x.min()", "min 1": "x.min(dim=1)",
    "sum keepdim": "x.sum(dim=-1, keepdim=True)", "all": "b.all()", "std": "x.std()",
    "softmax dim": "F.softmax(x, dim=-1)", "normalize": "F.normalize(x, dim=1)",
    "rsub": "1.0 - x", "div number": "x / 3.0", "where number": "L.where(b, x, 0.0)",
    "lt": "x < y", "invert": "~b", "count true": "b.sum()", "isfinite": "L.isfinite(x)",
    "allclose": "L.allclose(x, x)", "triu": "x.triu()", "cumsum 0": "x.cumsum(0)",
    "meshgrid": "L.meshgrid(v, v, indexing='ij')",
    "repeat_interleave": "x.repeat_interleave(2, 0)",
    "accuracy": "(x.argmax(1) == i).float().mean().item()", "nll_loss": "F.nll_loss(x, i)",
    "as_tensor": "L.as_tensor(a)", "type_as": "n.type_as(x)", "expand_as": "w.expand_as(x)",
    "view_as": "x.view_as(y)", "t": "x.t()", "unbind": "x.unbind(0)", "to uint8": "b.to(L.uint8)",
    "scatter": "x.scatter(1, j, y)", "isclose": "L.isclose(x, y)", "narrow": "x.narrow(0, 1, 2)",
    "select": "x.select(0, 1)", "dot": "L.dot(v, v)", "amax 1": "x.amax(1)", "diag": "x.diag()",
    "l1_loss": "F.l1_loss(x, y)", "smooth_l1_loss": "F.smooth_l1_loss(x, y)",
    "part: sum 1": "h.sum(1)", "part: sum 0": "h.sum(0)", "part: mean": "h.mean()",
    "part: amax 1": "h.amax(1)", "part: softmax": "h.softmax(1)", "part: add": "h + k",
    "part: mul_": "h.mul_(1.0)", "part: copy_": "h.copy_(k)", "part: zero_": "h.zero_()",
    "part: clone": "h.clone()", "part: to half": "h.half()", "part: to double": "h.double()",
    "part: gather": "k.gather(1, f)", "part: index_select": "k.index_select(0, r)",
    "part: pad": "F.pad(k, (1, 1))", "part: mse_loss": "F.mse_loss(h, k)",
    "every other: sum 1": "x[:, ::2].sum(1)", "every other: clone": "x[:, ::2].clone()",
}  # fmt: skip

# The hundred that most of a sample of public repositories use, as methods or functions; products of
# matrices among them are in bench/shapes.py.
MOST_USED = frozenset(
    "to view zeros cat sum unsqueeze mean cpu ones detach float tensor reshape numpy transpose "
    "squeeze clone arange stack max from_numpy contiguous randn zeros_like long permute rand "
    "softmax relu repeat flatten exp expand randint log clamp empty where copy_ add ones_like sqrt "
    "norm pad argmax pow sigmoid abs bool t all split matmul fill_ min masked_fill expand_as std "
    "tanh any uniform_ linspace mul_ zero_ randperm full einsum sin cos cross_entropy log_softmax "
    "equal allclose as_tensor interpolate topk cumsum add_ gather sort scatter_ eye int mse_loss "
    "normal_ mm chunk nonzero isnan multinomial type_as masked_fill_ mul randn_like one_hot unbind "
    "linear flip eq div".split()
)


def arguments(library, size):
    """The names that expressions use."""
    rows = int(math.sqrt(size / 2))
    columns = size // rows
    library.manual_seed(0)
    x, y = library.randn(rows, columns), library.randn(rows, columns)
    return {
        "L": library, "F": library.nn.functional, "rows": rows, "columns": columns, "x": x, "y": y,
        "p": x.abs() + 0.1, "u": library.rand(rows, columns), "z": library.randn(rows, columns),
        "v": library.randn(columns), "w": library.randn(rows, 1), "b": x > 0, "c": y > 0,
        "i": library.randint(0, columns, (rows,)), "r": library.randint(0, rows, (rows,)),
        "j": library.randint(0, columns, (rows, columns)), "o": library.ones(()),
        "n": library.randint(0, 1000, (rows, columns)), "a": x.numpy().copy(),
        "h": library.randn(rows, columns)[:, : columns * 2 // 3],
        "k": library.randn(rows, columns)[:, columns // 3 :][:, : columns * 2 // 3],
        "f": library.randint(0, columns * 2 // 3, (rows, columns * 2 // 3)),
    }  # fmt: skip


def timed(library, seconds):
    """``f(size, op)``: the seconds of one call."""
    known, names = 0, None

    def of(size, op):
        nonlocal known, names
        if size != known:
            names, known = None, size  # what one size needed is freed before the next
            names = arguments(library, size)
        call = eval(f"lambda: {EXPRESSIONS[op]}", names)  # noqa: S307 - our own text
        return fastest(call, seconds)

    return of


def one_process(name, seconds, threads):
    """Answer questions about one library."""
    library = importlib.import_module(name)
    importlib.import_module(f"{name}.nn.functional")
    if threads:
        library.set_num_threads(threads)
    with library.no_grad():
        serve(timed(library, seconds))


def compared(pairs, seconds, threads, wanted):
    """``{op: [(ours, theirs, ratio) at each size]}``: medians over pairs of processes, and of the
    ratios of the pairs."""
    questions = list(itertools.product(SIZES, wanted))
    samples = in_turn(__file__, questions, pairs, seconds=seconds, threads=threads)
    rows = {}
    for (_, op), pairs_of in samples.items():
        rows.setdefault(op, []).append(medians(pairs_of))
    return rows


def markdown(rows, place, pairs):
    """The table, slowest of ours first."""
    from run import duration

    lines = [
        f"# Ops: ours against PyTorch {place['torch']}", "",
        f"{place['processor']}, {place['cores']} cores, Python {place['python']}; {pairs} pairs of "
        "processes that take turns at every op, nothing recorded. Ratio: PyTorch's time over ours, "
        "median of the pairs. A star: one of the hundred ops that most programs use.",
        "", "| op | ours 1e3 | ratio | ours 1e5 | ratio | ours 1e7 | ratio |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]  # fmt: skip
    for op, cells in sorted(rows.items(), key=lambda r: min(c[2] for c in r[1])):
        text = " | ".join(f"{duration(ours)} | {ratio:.2f}" for ours, _, ratio in cells)
        lines.append(f"| `{op}`{' *' * is_most_used(op)} | {text} |")
    lines += ["", f"Geometric means: {means(rows)}."]
    most_used = {op: cells for op, cells in rows.items() if is_most_used(op)}
    if most_used:
        slow = [
            f"{op} {cells[i][2]:.2f} at {size:g}"
            for op, cells in most_used.items()
            for i, size in enumerate(SIZES)
            if cells[i][2] < 0.9
        ]
        lines[-1] += (
            f" Of the most used, {len(most_used)} rows: {means(most_used)}; below 0.9: "
            f"{', '.join(slow) or 'none'}."
        )
    return "\n".join(lines) + "\n"


def is_most_used(op):
    """Whether a row is about one of the ops that most programs use."""
    return op.split()[0] in MOST_USED or op in ("int to float", "float to int")


def means(rows):
    """Geometric means of the ratios at each size."""
    parts = []
    for i, size in enumerate(SIZES):
        mean = math.exp(statistics.fmean(math.log(cells[i][2]) for cells in rows.values()))
        parts.append(f"{mean:.2f} at {size:g}")
    return ", ".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ops", nargs="*", metavar="OP")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.05)
    parser.add_argument("--threads", type=int, default=0, help="0: each library's own choice")
    parser.add_argument("--name", default="ops", help="of the files in bench/results")
    parser.add_argument("--serve", metavar="LIBRARY")
    options = parser.parse_args()
    wanted = options.ops or list(EXPRESSIONS)
    if options.serve:
        one_process(options.serve, options.seconds, options.threads)
        return
    from run import machine

    rows, place = compared(options.pairs, options.seconds, options.threads, wanted), machine()
    text = markdown(rows, place, options.pairs)
    print(text)
    if not options.ops:
        target = FOLDER / "results" / options.name
        report = {"machine": place, "pairs": options.pairs, "sizes": SIZES, "ops": rows}
        target.with_name(options.name + ".json").write_text(json.dumps(report, indent=1) + "\n")
        target.with_name(options.name + ".md").write_text(text)


if __name__ == "__main__":
    main()
