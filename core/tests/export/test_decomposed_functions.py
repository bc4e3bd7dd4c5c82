"""`run_decompositions` of functions and layers: PyTorch's calls, values and gradients."""

import copy
import io
import sys
from pathlib import Path

import pytest

import rushlight
from rushlight import nn
from rushlight.export import Dim, export

sys.path.insert(0, str(Path(__file__).parent))

from counted_calls import calls, counted  # noqa: E402
from decomposed_cases import FUNCTIONS, LAYERS  # noqa: E402
from pytorch_calls import CALLS  # noqa: E402

F, pytree = nn.functional, rushlight.utils._pytree

# What only one side has: calls of ours, and of PyTorch's.
_OF_ROWS = "addmm.default", "add.Tensor bmm.default expand.default*2 view.default"
DIFFERENT = {
    "cross entropy, smooth and weighted, of a row": ("", "view.default"),
    "LSTM, dropped": ("native_dropout.default", ""),  # which PyTorch forgets
    "LSTM, the batch first": _OF_ROWS,
    "instance norm, kept": ("", "alias.default*4 copy.default*2"),
    # PyTorch's parts count what is behind the last label, and give other values than its kernel
    **dict.fromkeys(
        ("multi-label margin", "multi-label margin, of a row"),
        ("permute.default scalar_tensor.default unsqueeze.default where.self", ""),
    ),
    "transformer": (  # rows are multiplied in the order in which they lie
        "addmm.default permute.default split_with_sizes.default",
        "add.Tensor bmm.default expand.default*2 select.int*3 squeeze.dims unsqueeze.default "
        "view.default*4",
    ),
}
ALL = [*FUNCTIONS, *LAYERS]


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def case(name):
    """A model, and its inputs: between 0.1 and 0.9, or whole numbers as they are given."""
    rushlight.manual_seed(1)
    run, *inputs = FUNCTIONS.get(name) or LAYERS[name]
    args = tuple(
        rushlight.rand(each) * 0.8 + 0.1 if isinstance(each, tuple) else rushlight.tensor(each)
        for each in inputs
    )
    return (Function(run) if name in FUNCTIONS else run()), args


def outcome(model, args):
    """Results, gradients of inputs and parameters, and buffers behind the call."""
    given = [a.clone().requires_grad_() if a.dtype.is_floating_point else a for a in args]
    rushlight.manual_seed(5)
    results = pytree.tree_leaves(model(*given))
    trained = [r for r in results if r.requires_grad]
    if trained:
        weights = [rushlight.linspace(0.5, 1.5, r.numel()).view(r.shape) for r in trained]
        sum((r * w).sum() for r, w in zip(trained, weights, strict=True)).backward()
    grads = [a.grad for a in given if a.requires_grad]
    named = dict(model.named_parameters())
    grads += [named[name].grad for name in sorted(named)]
    state = model.state_dict()
    kept = [state[name] for name in sorted(state) if name not in named]
    return [r.detach() for r in results], grads, kept


@pytest.mark.parametrize("name", ALL)
def test_calls_are_pytorchs_and_values_eagers(name):
    model, args = case(name)
    program = export(model, args).run_decompositions()
    ours, theirs = map(counted, DIFFERENT.get(name, ("", "")))
    found = calls(program)
    assert found - counted(CALLS[name]) == ours and counted(CALLS[name]) - found == theirs
    if "weighted" in name:  # of a loss's weights there is no derivative
        rushlight.testing.assert_close(program.module()(*args), model(*args))
        return
    eager = copy.deepcopy(model)
    rushlight.testing.assert_close(outcome(program.module(), args), outcome(eager, args))


@pytest.mark.parametrize("name", [
    "binary cross entropy", "huber", "glu", "rms norm", "mish", "resize, linear",
    "resize, bicubic, aligned", "windows summed", "multi-label margin",
])  # fmt: skip
@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_other_dtypes(name, dtype):
    model, args = case(name)
    args = tuple(a.to(getattr(rushlight, dtype)) if a.is_floating_point() else a for a in args)
    parts = export(model, args).run_decompositions().module()
    rushlight.testing.assert_close(parts(*args), model(*args))


def test_statistics_of_instance_norm_are_outputs():
    model, args = case("instance norm, kept")
    program = export(model, args).run_decompositions()
    written = program.graph_signature.buffers_to_mutate.values()
    assert set(written) == {"running_mean", "running_var"}


BATCH = Dim("batch", min=2, max=40)
FREE = {  # functions of inputs with free sizes
    "classes": lambda x: F.cross_entropy(x, x.argmax(1), label_smoothing=0.2),
    "probabilities": lambda x: F.cross_entropy(x, x.softmax(1)),
    "planes": lambda x: F.nll_loss(x[:, :, None], x[:, :1].argmax(1)[:, None], reduction="none"),
    "margins": lambda x: F.pad(x[None], (2, 1), "reflect"),
    "triangles": lambda x: (x.tril(), F.cosine_similarity(x, x + 1)),
    "resized": lambda x: F.interpolate(x[None], scale_factor=1.7, mode="linear"),
    "resized planes": lambda x: F.interpolate(x[None, None], scale_factor=2.0, mode="bicubic"),
    "nearest": lambda x: F.interpolate(x[None], scale_factor=1.5),
    "to a size": lambda x: F.interpolate(x[None], 7, mode="linear", align_corners=True),
    "windows": lambda x: F.unfold(x[None, None], 2, padding=1),
    "grids": lambda x: F.affine_grid(
        x.repeat(1, 2)[:, :6].view(-1, 2, 3), (x.shape[0], 1, 3, 2), False
    ),
    "response": lambda x: F.local_response_norm(x[None], 3),
    "distances": lambda x: (rushlight.cdist(x, x[:2]), rushlight.cdist(x, x, 1.0)),
    "pools": lambda x: (F.max_pool1d(x, 2), F.avg_pool1d(x, 2)),
}


@pytest.mark.parametrize("name", FREE)
def test_other_sizes(name):
    model, columns = Function(FREE[name]), Dim("columns", min=4, max=40)
    sizes = ({0: BATCH, 1: columns},)
    args = (rushlight.randn(3, 6),)
    parts = export(model, args, dynamic_shapes=(sizes,)).run_decompositions().module()
    for shape in ((3, 6), (2, 4), (7, 11)):
        x = rushlight.randn(shape)
        rushlight.testing.assert_close(parts(x), model(x))


@pytest.mark.parametrize(("free", "whole"), [(0, False), (1, True)])
def test_loops_of_free_length_stay_whole(free, whole):
    model = nn.GRU(2, 3)
    args = (rushlight.randn(4, 3, 2),)
    steps = Dim("steps", min=2, max=40)
    sizes = ({1 - free: steps},)
    program = export(model, args, dynamic_shapes=sizes).run_decompositions()
    assert ("gru.input" in calls(program)) == whole
    x = rushlight.randn(*((9, 3, 2) if whole else (4, 9, 2)))
    rushlight.testing.assert_close(program.module()(x), model(x))


def test_attention_with_heads_of_free_size_stays_whole():
    model = Function(lambda x: F.scaled_dot_product_attention(x, x, x))
    sizes = ({2: Dim("width", min=2, max=40)},)
    args = (rushlight.randn(2, 3, 5),)
    program = export(model, args, dynamic_shapes=(sizes,)).run_decompositions()
    assert calls(program) == {"scaled_dot_product_attention.default": 1}
    x = rushlight.randn(2, 3, 8)
    rushlight.testing.assert_close(program.module()(x), model(x))


@pytest.mark.parametrize("given", [{}, {"mode": "bicubic"}])
def test_bytes(given):
    model = Function(lambda x: F.interpolate(x if given else x[0], 7, **given))
    x = rushlight.tensor([[[[0, 9, 255, 254]] * 3]], dtype=rushlight.uint8)
    program = export(model, (x,)).run_decompositions()
    assert ("upsample_bicubic2d.vec" in calls(program)) == bool(given)  # summed in whole numbers
    rushlight.testing.assert_close(program.module()(x), model(x), rtol=0, atol=0)


@pytest.mark.parametrize("given", [{"size": 7}, {"scale_factor": 1.5}])
def test_sizes_that_are_free_keep_resampling_by_ratios_whole(given):
    model = Function(lambda x: F.interpolate(x, **given, mode="linear", align_corners=True))
    sizes, x = ({2: Dim("length", min=2, max=40)},), rushlight.randn(1, 2, 5)
    program = export(model, (x,), dynamic_shapes=(sizes,)).run_decompositions()
    assert "upsample_linear1d.vec" in calls(program)
    x = rushlight.randn(1, 2, 9)
    rushlight.testing.assert_close(program.module()(x), model(x))


def test_slopes_that_are_drawn_come_from_the_same_numbers():
    model, x = Function(lambda x: F.rrelu(x, training=True)), rushlight.randn(40)
    program = export(model, (x,)).run_decompositions()
    rushlight.manual_seed(3)
    wanted = model(x)
    rushlight.manual_seed(3)
    rushlight.testing.assert_close(program.module()(x), wanted, rtol=0, atol=0)
    slopes = wanted[x < 0] / x[x < 0]
    assert ((slopes > 1 / 8 - 1e-6) & (slopes < 1 / 3 + 1e-6)).all() and slopes.std() > 0.01


def test_checks_of_classes_stay():
    model, args = case("one hot")
    parts = export(model, args).run_decompositions().module()
    for wrong in ([0, 4], [-1, 2]):
        with pytest.raises(RuntimeError, match="Class values must be"):
            parts(rushlight.tensor(wrong))


@pytest.mark.parametrize("name", ["cross entropy", "attention, masked", "LSTM, projected"])
def test_archives_of_parts_are_pytorchs_too(name):
    torch = pytest.importorskip("torch")
    __import__("torch.export")
    model, args = case(name)
    file = io.BytesIO()
    rushlight.export.save(export(model, args).run_decompositions(), file)
    file.seek(0)
    theirs = torch.export.load(file).module()(*(torch.tensor(a.tolist()) for a in args))
    for one, other in zip(*map(pytree.tree_leaves, (model(*args), theirs)), strict=True):
        rushlight.testing.assert_close(one.detach(), rushlight.tensor(other.tolist()))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.instance_norm(x),
        lambda x: F.nll_loss(x, x.argmax(1)),
        lambda x: F.channel_shuffle(x, 3),
        lambda x: F.pixel_shuffle(x[None], 2),
    ],
)
def test_inputs_with_other_strides(function):
    x = rushlight.randn(4, 3, 5)
    parts = export(Function(function), (x,)).run_decompositions().module()
    other = rushlight.randn(5, 3, 4).transpose(0, 2)
    rushlight.testing.assert_close(parts(other), function(other))


_IN_ORDER = rushlight.arange(4)


@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (lambda x: (x.where(x > 1, 5), x.where(x > 1, 0.5), rushlight.where(x > 1, 2, x)),
         [_IN_ORDER]),
        (lambda x: (2 - x, 2.5 - x, rushlight.rsub(x, x, alpha=2)), [_IN_ORDER]),
        (lambda x: (x.tril(1), x.triu(2), (x > 5).tril()), [rushlight.arange(12).view(3, 4)]),
        (lambda x: rushlight.xlogy(x, x + 1), [_IN_ORDER]),
        (lambda x: rushlight.xlogy(x * 0, x), [rushlight.tensor([0.0, float("nan"), 2.0])]),
        (lambda x: (F.prelu(x, x[None]), F.softplus(x), F.mse_loss(x, x * 2)),
         [rushlight.tensor(0.3)]),
        (lambda x: (F.hardswish(x), F.softplus(x), F.logsigmoid(x), F.mish(x), F.softshrink(x)),
         [rushlight.tensor([1e3, -1e3, float("inf"), float("nan"), 0.0])]),
        (F.cross_entropy, [rushlight.zeros(0, 4), rushlight.zeros(0, dtype=rushlight.int64)]),
        (lambda x: (F.dropout(x, 1.0), F.dropout1d(x, 1.0), F.dropout(x, 0.0)),
         [rushlight.ones(2, 3)]),
        (lambda x: (F.pad(x, (-1, 1), "circular"), F.pad(x, (-1, 2)), F.pad(x, (1, 1), value=2.5)),
         [rushlight.arange(24.0).view(2, 3, 4)]),
        (lambda x: F.scaled_dot_product_attention(x, x, x, rushlight.zeros(3, 3) > 0),
         [rushlight.ones(2, 3, 4)]),
    ],
)  # fmt: skip
def test_edges(function, inputs):
    parts = export(Function(function), tuple(inputs)).run_decompositions().module()
    rushlight.testing.assert_close(parts(*inputs), function(*inputs), equal_nan=True)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("given", [{"size": (5, 3)}, {"scale_factor": (0.6, 0.4)}])
def test_antialiased_pictures_stay_whole(mode, given):
    class Smaller(rushlight.nn.Module):
        def forward(self, x):
            options = {"mode": mode, "antialias": True, **given}
            return rushlight.nn.functional.interpolate(x, **options)

    x = rushlight.randn(1, 2, 8, 9)
    program = rushlight.export.export(Smaller(), (x,)).run_decompositions()
    (target,) = [node.target for node in program.graph.nodes if node.op == "call_function"]
    assert str(target).partition(".")[2].startswith(f"_upsample_{mode}2d_aa.")
    rushlight.testing.assert_close(program.module()(x), Smaller()(x), rtol=0, atol=0)
