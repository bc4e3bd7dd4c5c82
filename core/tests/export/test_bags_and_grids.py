"""Bags of rows, spatial transformers, smoothed losses, identities and rotary positions of sizes
that differ: in every form of programs, both ways with PyTorch, and in ONNX Runtime."""

import io
import warnings

import numpy as np
import pytest

import rushlight
from rushlight.export import Dim, export, load, save

torch = pytest.importorskip("torch")
MODES = ("sum", "mean", "max")


# --------------------------------------------------------------------------- programs and values
def bags(mode, **options):
    def run(library, weight, *given):
        named = dict(zip(("offsets", "per_sample_weights"), given[1:], strict=False)) | options
        return library.nn.functional.embedding_bag(given[0], weight, mode=mode, **named)

    return run


def weighed(library, weight, indices, scales):
    bag = library.nn.functional.embedding_bag
    return bag(indices, weight, mode="sum", per_sample_weights=scales)


def matrix(numbers, rows):
    return (numbers.integers(0, 9, (rows, 2 * rows + 1)),)


def flat(numbers, rows, closed=False):
    offsets = np.sort(numbers.integers(0, 3 * rows, rows))
    offsets[0] = 0
    if closed:
        offsets = np.append(offsets, 3 * rows)
    return numbers.integers(0, 9, (3 * rows,)), offsets


def with_scales(numbers, rows):
    given = flat(numbers, rows)
    return *given, numbers.random(len(given[0]), np.float32)


BAGS = {
    f"{mode} {form} {padding}": (bags(mode, padding_idx=padding, **options), values)
    for mode in MODES
    for padding in (None, -4)
    for form, values, options in (
        ("rows", matrix, {}),
        ("flat", flat, {}),
        ("closed", lambda n, rows: flat(n, rows, True), {"include_last_offset": True}),
    )
} | {
    "weighted": (bags("sum", padding_idx=3), with_scales),
    "weighted rows": (
        weighed,
        lambda n, rows: (*matrix(n, rows), n.random((rows, 2 * rows + 1), np.float32)),
    ),
}


def transformer(mode, padding, aligned):
    def run(library, _, x, theta):
        functional = library.nn.functional
        grid = functional.affine_grid(theta, x.shape, align_corners=aligned)
        return functional.grid_sample(x, grid, mode, padding, align_corners=aligned)

    return run


def picture(numbers, rows):
    x = numbers.standard_normal((rows, 2, rows + 2, 2 * rows + 1), np.float32)
    return x, numbers.standard_normal((rows, 2, 3), np.float32) / 2


def volume(numbers, rows):
    x = numbers.standard_normal((rows, 2, rows + 1, rows + 2, rows + 4), np.float32)
    return x, numbers.standard_normal((rows, 3, 4), np.float32) / 2


GRIDS = {
    f"{mode} {padding} {aligned}": (transformer(mode, padding, aligned), picture)
    for mode, padding, aligned in (
        ("bilinear", "zeros", False), ("bilinear", "border", True), ("nearest", "zeros", True),
        ("bicubic", "reflection", False),
    )
} | {"volume": (transformer("bilinear", "zeros", True), volume)}  # fmt: skip


def entropy(reduction, ignored=-100, weighted=False):
    def run(library, table, x, target):
        return library.nn.functional.cross_entropy(
            x, target, table.detach().exp()[:4, 0] if weighted else None, reduction=reduction,
            ignore_index=ignored, label_smoothing=0.2,
        )  # fmt: skip

    return run


def classes(numbers, rows):
    return numbers.standard_normal((rows, 4), np.float32), numbers.integers(0, 4, (rows,))


def maps(numbers, rows):
    x = numbers.standard_normal((rows, 4, rows + 1, 2), np.float32)
    return x, numbers.integers(0, 4, (rows, rows + 1, 2))


def shares(numbers, rows):
    return tuple(numbers.random((2, rows, 4, 3), np.float32))


LOSSES = {
    f"{reduction} {ignored} {weighted} {values.__name__}": (
        entropy(reduction, ignored, weighted), values
    )
    for reduction in ("none", "mean", "sum")
    for values, ignored in ((classes, -100), (classes, 1), (maps, 2), (shares, -100))
    for weighted in (False, True)
}  # fmt: skip


def identities(library, _, x):
    n, m = x.shape
    return x @ library.eye(m) + library.eye(n, m, dtype=library.float64), library.eye(n) > 0


def triangles(library, _, x):
    n = x.shape[0]
    seen = library.arange(n)
    hidden = library.triu(library.full((n, n), float("-inf")), diagonal=1)
    return library.ones(n, n).tril(), hidden.softmax(-1) @ x, seen[:, None] >= seen


def diagonals(library, _, x):
    return library.diag_embed(x), library.diag_embed(x, 1, 0, 2), library.diag_embed(x, -2)


def ranges(library, _, x):
    n = x.shape[0]
    even = library.linspace(-1, 1, n) + library.arange(n, dtype=library.float32) * 0.5
    return x * even[:, None], library.arange(0, n / 2, 0.5) + library.arange(1.0, n + 1)


def rotated(library, table, x):
    """The rotary positions of Llama, and attention that is causal."""
    length, size = x.shape[1], x.shape[2]
    inverse = 1.0 / 10000 ** (library.arange(0, size, 2).float() / size)
    angles = library.outer(library.arange(length).float(), inverse)
    angles = library.cat((angles, angles), -1)
    turned = library.cat((-x[..., size // 2 :], x[..., : size // 2]), -1)
    x = x * angles.cos() + turned * angles.sin()
    return library.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)


def turned_by_complex(library, table, x):
    batch, length, size = x.shape
    inverse = 1.0 / 10000 ** (library.arange(0, size, 2).float() / size)
    angles = library.outer(library.arange(length).float(), inverse)
    turn = library.polar(library.ones_like(angles), angles)
    pairs = library.view_as_complex(x.reshape(batch, length, -1, 2))
    return library.view_as_real(pairs * turn).flatten(2)


def rectangle(numbers, rows):
    return (numbers.standard_normal((rows, rows + 4), np.float32),)


def sequence(numbers, rows):
    return (numbers.standard_normal((rows, 2 * rows + 1, 8), np.float32),)


POSITIONS = {
    "identities": (identities, rectangle),
    "triangles": (triangles, rectangle),
    "diagonals": (diagonals, rectangle),
    "ranges": (ranges, rectangle),
    "rotated": (rotated, sequence),
    "turned by complex": (turned_by_complex, sequence),
}
PROGRAMS = BAGS | GRIDS | LOSSES | POSITIONS


# --------------------------------------------------------------------------------------- running
def model(library, run):
    class Model(library.nn.Module):
        def __init__(self):
            super().__init__()
            table = np.linspace(-1, 1, 36, dtype=np.float32).reshape(9, 4)
            self.table = library.nn.Parameter(library.tensor(np.sin(20 * table).tolist()))

        def forward(self, *given):
            return run(library, self.table, *given)

    return Model()


def exported(library, run, given):
    given = tuple(library.tensor(x) for x in given)
    # sizes of features are fixed
    free = {4: (0, 2, 3), 5: (0, 2, 3, 4), 3: (0, 1), 2: (0, 1), 1: (0,)}
    auto = library.export.Dim.AUTO
    shapes = tuple({d: auto for d in free[x.ndim] if x.shape[d] not in (3, 4, 8)} for x in given)
    return library.export.export(model(library, run), given, dynamic_shapes=(shapes,))


def decomposed(program):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own
        return program.run_decompositions()


def results(run, library, given):
    with library.no_grad():
        found = run(*[library.tensor(x) for x in given])
    return [np.asarray(v) for v in (found if isinstance(found, tuple) else (found,))]


def same(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def archived(library, program):
    file = io.BytesIO()
    library.export.save(program, file)
    return file.getvalue()


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_at_other_sizes(name):
    run, values = PROGRAMS[name]
    numbers = np.random.default_rng(1)
    program = exported(rushlight, run, values(numbers, 5))
    file = archived(rushlight, program)
    theirs = torch.export.load(io.BytesIO(file)).module()
    runs = program.module(), program.run_decompositions().module(), load(io.BytesIO(file)).module()
    for rows in (5, 7, 12):
        given = values(numbers, rows)
        right = results(model(torch, run), torch, given)
        same(results(model(rushlight, run), rushlight, given), right)
        for each in runs:
            same(results(each, rushlight, given), right)
        same(results(theirs, torch, given), right)


@pytest.mark.parametrize("name", [*BAGS, *GRIDS, *list(LOSSES)[::5]])
@pytest.mark.parametrize("apart", [False, True])
def test_programs_that_pytorch_wrote(name, apart):
    run, values = PROGRAMS[name]
    numbers = np.random.default_rng(2)
    theirs = exported(torch, run, values(numbers, 5))
    if apart:
        theirs = decomposed(theirs)
    ours = load(io.BytesIO(archived(torch, theirs))).module()
    for rows in (5,) if name in GRIDS else (5, 7, 12):  # PyTorch fixes the sizes of grids
        given = values(numbers, rows)
        same(results(ours, rushlight, given), results(theirs.module(), torch, given))


def opsets(name):
    if name in BAGS:
        return 13, 16, 20
    return (16, 20) if name in GRIDS else (14, 20)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_in_onnx_at_other_sizes(name):
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    run, values = PROGRAMS[name]
    numbers = np.random.default_rng(3)
    program = exported(rushlight, run, values(numbers, 5))
    for opset in opsets(name):
        if name == "volume" and opset < 20:
            continue
        written = rushlight.onnx.export(program, opset_version=opset).model_proto
        onnx.checker.check_model(written, full_check=True)
        onnx.shape_inference.infer_shapes(written, strict_mode=True, data_prop=True)
        session = runtime.InferenceSession(written.SerializeToString())
        names = [value.name for value in session.get_inputs()]
        for rows in (5, 7, 12):
            given = values(numbers, rows)
            found = session.run(None, dict(zip(names, given, strict=True)))
            same(found, results(model(rushlight, run), rushlight, given))


def test_a_bag_is_the_node_that_pytorch_has():
    given = flat(np.random.default_rng(0), 4)
    ours, theirs = (exported(library, bags("max"), given) for library in (rushlight, torch))
    for pair in ((ours, theirs), (ours.run_decompositions(), decomposed(theirs))):
        found, right = (
            next(n for n in program.graph.nodes if "embedding_bag" in str(n.target))
            for program in pair
        )
        assert str(found.target) == str(right.target)
        assert str(found.args[3:]) == str(right.args[3:])


@pytest.mark.parametrize("mode", range(3))
@pytest.mark.parametrize("padding", [-1, 2])
def test_results_for_the_backward_pass(mode, padding):
    weight = np.linspace(-1, 1, 24, dtype=np.float32).reshape(6, 4)
    ours, theirs = (
        library.ops.aten._embedding_bag(
            library.tensor(weight), library.tensor([1, 2, 2, 4, 5]), library.tensor([0, 2, 2, 4]),
            False, mode, False, None, False, padding,
        )
        for library in (rushlight, torch)
    )  # fmt: skip
    same([np.asarray(v) for v in ours], [np.asarray(v) for v in theirs])


def test_what_a_bag_cannot_have_in_a_program():
    def run(library, weight, indices):
        return library.nn.functional.embedding_bag(indices, weight, max_norm=1.0)

    with pytest.raises(NotImplementedError, match="embedding_bag.. with max_norm"):
        exported(rushlight, run, matrix(np.random.default_rng(0), 4))


def test_a_named_size_of_a_transformer_is_kept():
    height, width = Dim("h", min=2), Dim("w", min=2)
    given = tuple(rushlight.tensor(x) for x in picture(np.random.default_rng(0), 3))
    made = export(
        model(rushlight, transformer("bilinear", "zeros", False)), given,
        dynamic_shapes=(({2: height, 3: width}, None),),
    )  # fmt: skip
    file = io.BytesIO()
    save(made, file)
    assert [str(s) for s in made.range_constraints] == ["h", "w"]
