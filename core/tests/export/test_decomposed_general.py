"""`run_decompositions` of functions of tensors: PyTorch's calls, values and gradients."""

import io
import sys
from pathlib import Path

import numpy as np
import pytest

import rushlight
from rushlight.export import Dim, export, load, save

sys.path.insert(0, str(Path(__file__).parent))

from capture_agreement import targets  # noqa: E402
from counted_calls import calls, counted  # noqa: E402
from general_cases import CASES  # noqa: E402

pytree = rushlight.utils._pytree
# of PyTorch's own classes, when it copies programs
pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")
FREE = [
    "T.roll(x, 1, 0)", "T.roll(x, 5)", "T.diag_embed(x, 1, 0, 2)", "T.logsumexp(x, 0)",
    "T.kron(x[0], x)", "T.diff(x, 1, 0)", "T.select_scatter(x, x[0] * 2, 0, -1)", "T.std(x, 0)",
    "T.index_add(x, 1, i, x, alpha=2)", "T.take_along_dim(x, T.argsort(x, 0), 0)", "T.ravel(x)",
    "T.repeat_interleave(x, 2, 0)", "T.inner(x, x + 1)", "T.cross(x, x * x, dim=1)",
    "T.trapezoid(x)", "T.gradient(x, dim=0)", "T.lerp(x, x + 1, 0.3)",
    "T.trace(x[:, 0])", "T.renorm(x, 2, 1, 0.7)", "T.unbind(x, 1)",
    "F.scaled_dot_product_attention(*[x[None]] * 3)", "F.pad(x[None], (-1, 2, 1, 0), 'circular')",
    "F.triplet_margin_loss(x, x + 1, x * x, 2.0, 1.0, swap=True)", "F.hinge_embedding_loss(x, x)",
    "F.cosine_embedding_loss(x[:, 0], x[:, 1], x[:, 0, 0].round() * 2 - 1)",
]  # fmt: skip


def model_of(*texts, library=rushlight):
    """A module that evaluates expressions of the library and its inputs."""
    codes = [compile(text, text, "eval") for text in texts]
    names = {"T": library, "F": library.nn.functional}

    class Expressions(library.nn.Module):
        def forward(self, x, n, i):
            return [eval(code, names | {"x": x, "n": n, "i": i}) for code in codes]

    return Expressions()


def inputs(rows=2):
    rushlight.manual_seed(1)
    x = rushlight.rand(rows, 3, 4) * 0.8 + 0.1
    return x, rushlight.tensor([[0, 2], [3, 1]]), rushlight.tensor([2, 0, 1])


def tensors(result):
    return [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, rushlight.Tensor)]


def outcome(model, args):
    """Results, and the gradient of the first input where results have one."""
    given = args[0].clone().requires_grad_()
    rushlight.manual_seed(5)
    results = tensors(model(given, *args[1:]))
    for each in results:
        if each.requires_grad:
            weights = rushlight.linspace(0.5, 1.5, each.numel()).view(each.shape).to(each.dtype)
            (each * weights).sum().backward(retain_graph=True)
    return [each.detach() for each in results], given.grad


def close(ours, theirs):
    rushlight.testing.assert_close(ours, theirs, equal_nan=True)


@pytest.mark.parametrize("text", CASES)
def test_calls_are_pytorchs_and_values_eagers(text):
    model, args = model_of(text), inputs()
    program = export(model, args).run_decompositions()
    assert calls(program) == counted(CASES[text])
    found, wanted = outcome(program.module(), args), outcome(model, args)
    close(found[0], wanted[0])
    if wanted[1] is not None:
        close(found[1], wanted[1])


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_other_dtypes(dtype):
    texts = [
        "T.addcmul(x, x, x)", "T.lerp(x, x + 1, 0.3)", "T.logit(x)", "T.logaddexp(x, x * 2)",
        "T.sinc(x)", "T.special.entr(x)", "T.masked_fill(x, x > 0.5, 2)", "T.nansum(x, 1)",
        "T.index_fill(x, 1, i, 2)", "T.diag_embed(x)", "T.isclose(x, x)", "T.heaviside(x, x)",
        "T.nan_to_num(x / (x - x))", "T.linspace(0, 1, 5, dtype=x.dtype)",
    ]  # fmt: skip
    x, *rest = inputs()
    args, model = (x.to(getattr(rushlight, dtype)), *rest), model_of(*texts)
    ours, eager = export(model, args).run_decompositions().module()(*args), model(*args)
    close(ours, eager)


def free(model):
    shapes = {"x": {0: Dim("rows", min=2, max=40)}, "n": None, "i": None}
    return export(model, inputs(), dynamic_shapes=shapes).run_decompositions()


def test_free_sizes():
    model = model_of(*FREE)
    program = free(model)
    kept = {str(node.target) for node in program.graph.nodes} & {
        f"aten.{text[2:].partition('(')[0]}.default" for text in FREE
    }
    assert not kept
    for rows in (5, 3):
        args = inputs(rows)
        close(program.module()(*args), model(*args))


def arrays(result):
    found = pytree.tree_leaves(list(result))
    return [np.asarray(leaf.detach()) for leaf in found if hasattr(leaf, "detach")]


def same(ours, theirs):
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5)


def test_pytorch_runs_what_we_save():
    torch = pytest.importorskip("torch")
    import torch.export as _  # noqa: F401

    model, file = model_of(*FREE[::3]), io.BytesIO()
    save(free(model), file)
    file.seek(0)
    theirs = torch.export.load(file).module()
    args = inputs(5)
    given = [torch.from_numpy(np.asarray(arg)) for arg in args]
    same(arrays(theirs(*given)), arrays(model(*args)))


def test_we_run_what_pytorch_saves():
    torch = pytest.importorskip("torch")
    import torch.export as _  # noqa: F401

    model, file, args = model_of(*FREE[::3], library=torch), io.BytesIO(), inputs()
    given = tuple(torch.from_numpy(np.asarray(arg)) for arg in args)
    torch.export.save(torch.export.export(model, given).run_decompositions(), file)
    file.seek(0)
    same(arrays(load(file).module()(*args)), arrays(model_of(*FREE[::3])(*args)))


def test_entries_are_pytorchs():
    torch = pytest.importorskip("torch")
    import torch.export as _  # noqa: F401

    ours, theirs = (
        {str(key) for key in library.export.default_decompositions()}
        for library in (rushlight, torch)
    )
    # what PyTorch takes apart before its table is asked
    first = (
        "adjoint alpha_dropout batch_norm cartesian_prod dropout feature_alpha_dropout "
        "feature_dropout linalg_diagonal narrow positive ravel unsafe_chunk"
    )
    assert ours - theirs == {"aten.to.dtype", *(f"aten.{name}.default" for name in first.split())}


NAMED = [
    "x.clone().zero_()", "x.clone().transpose_(0, 1)", "T.lerp(x, x + 1, 0.3)",
    "x.clone().lerp_(x, 0.5)", "T.clamp_max(x, x * x)", "x.movedim(0, 1)", "x // 0.3",
    "x.movedim((0, 1), (1, 2))", "x.std()", "x.var()", "x.var(1)", "x.std(unbiased=False)",
    "F.margin_ranking_loss(x, x * x, x, 0.1, reduction='sum')", "F.hinge_embedding_loss(x, x)",
    "F.pairwise_distance(x, x * x)", "F.kl_div(x, x, reduction='sum')",
    "F.cosine_embedding_loss(x[0], x[1], x[0, :, 0], margin=0.5)",
    "F.triplet_margin_loss(x, x, x, 2.0, swap=True)", "F.poisson_nll_loss(x, x, False, eps=1e-3)",
    "F.poisson_nll_loss(x, x)", "F.kl_div(x, x, reduction='batchmean', log_target=True)",
    "F.max_unpool2d(x[:, :2, :2], n[None].expand(2, 2, 2), 2)",
]  # fmt: skip


def test_programs_have_pytorchs_calls_before_decomposition():
    torch = pytest.importorskip("torch")
    import torch.export as _  # noqa: F401

    args = inputs()
    given = tuple(torch.from_numpy(np.asarray(arg)) for arg in args)
    ours = export(model_of(*NAMED), args)
    theirs = torch.export.export(model_of(*NAMED, library=torch), given)
    names = [[n for n in targets(p.graph) if "getitem" not in n] for p in (ours, theirs)]
    assert names[0] == names[1]
    file = io.BytesIO()
    save(ours, file)
    file.seek(0)
    found = torch.export.load(file).module()(*given)
    same(arrays(found), arrays(model_of(*NAMED)(*args)))
