"""Models of the kinds that users export, at sizes of their own, beside what eager gives."""

import numpy as np
import pytest

import rushlight
from rushlight import nn
from rushlight.export import Dim
from rushlight.nn import functional as F
from rushlight.onnx.errors import UnsupportedOperatorError
from rushlight.utils import _pytree as pytree

runtime = pytest.importorskip("onnxruntime")
NEWEST = None
ROWS = {0: "batch", 1: "length"}
PICTURE = {0: "batch", 2: "height", 3: "width"}


class Calls(nn.Module):
    def __init__(self, function, **modules):
        super().__init__()
        self.function = function
        for name, module in modules.items():
            setattr(self, name, module)

    def forward(self, *inputs):
        return self.function(self, *inputs)


def rows(b, n):
    return (rushlight.randn(b, n),)


def pictures(b, n):
    return (rushlight.randn(b, 3, n + 3, 2 * n),)


def counts(b, n):
    return (rushlight.randint(0, 9, (n,)),)


def convolved(_, x, y):
    """A convolution by transforms of twice the length."""
    n = 2 * x.size(1)
    spectrum = rushlight.fft.rfft(x, n=n) * rushlight.fft.rfft(y, n=n)
    return rushlight.fft.irfft(spectrum, n=n)[:, : x.size(1)]


def windows(_, x):
    b, h, w, c = x.shape
    parts = x.view(b, h // 2, 2, w // 2, 2, c).permute(0, 1, 3, 2, 4, 5)
    return parts.reshape(-1, 4, c)


def decoded(self, x, memory):
    mask = nn.Transformer.generate_square_subsequent_mask(x.size(1))
    return self.layers(x, memory, tgt_mask=mask)


MODELS = {
    "unfold": (lambda _, x: F.unfold(x, (2, 3), 1, 1, 2), pictures, [PICTURE]),
    "adaptive averages": (lambda _, x: F.adaptive_avg_pool2d(x, (3, 2)), pictures, [PICTURE]),
    "adaptive maxima": (lambda _, x: F.adaptive_max_pool2d(x, (3, 2)), pictures, [PICTURE]),
    "bincount": (lambda _, x: rushlight.bincount(x), counts, [{0: "n"}]),
    "bincount of a length": (
        lambda _, x: rushlight.bincount(x, minlength=12), counts, [{0: "n"}],
    ),
    "bincount of weights": (
        lambda _, x, w: rushlight.bincount(x, w, 4),
        lambda b, n: (*counts(b, n), rushlight.randn(n)), [{0: "n"}, {0: "n"}],
    ),
    "rfft of twice the size": (
        lambda _, x: rushlight.fft.rfft(x, n=2 * x.size(1)).abs(), rows, [ROWS],
    ),
    "orthonormal fft": (
        lambda _, x: rushlight.view_as_real(rushlight.fft.fft(x, norm="ortho")), rows, [ROWS],
    ),
    "there and back": (
        lambda _, x: rushlight.fft.irfft(rushlight.fft.rfft(x) * 2, n=x.size(1)), rows, [ROWS],
    ),
    "convolution by transforms": (
        convolved, lambda b, n: (*rows(b, n), *rows(b, n)), [ROWS, ROWS],
    ),
    "windows": (
        windows, lambda b, n: (rushlight.randn(b, 2 * n, 4 * n, 3),),
        [{0: "batch", 1: "height", 2: "width"}],
    ),
    "repeats": (
        lambda _, x, r: rushlight.repeat_interleave(x, r, dim=0),
        lambda b, n: (rushlight.randn(n, 3), rushlight.randint(0, 4, (n,))),
        [{0: "n"}, {0: "n"}],
    ),
    "unique": (
        lambda _, x: rushlight.unique(x, return_inverse=True, return_counts=True),
        lambda b, n: (rushlight.randint(0, 5, (b, n)),), [ROWS],
    ),
    "unique rows": (
        lambda _, x: rushlight.unique(x, dim=0),
        lambda b, n: (rushlight.randint(0, 2, (n, 2)),), [{0: "n"}],
    ),
    "cut to the other's size": (
        lambda _, x, y: x[:, : y.size(1)] + y,
        lambda b, n: (rushlight.randn(b, n + 2), rushlight.randn(b, n)),
        [{0: "batch", 1: "long"}, {0: "batch", 1: "short"}],
    ),
    "more rows than columns": (
        lambda _, x: rushlight.diagonal_scatter(x, 7 * x[0]),
        lambda b, n: (rushlight.randn(n + 4, 4),), [{0: "n"}],
    ),
}  # fmt: skip
MODULES = {
    "decoder": (
        decoded, lambda b, n: (rushlight.randn(b, n, 8), rushlight.randn(b, n + 1, 8)),
        [ROWS, {0: "batch", 1: "memory"}],
        {"layers": lambda: nn.TransformerDecoder(
            nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), 2)},
    ),
}  # fmt: skip


def made(name):
    if name in MODELS:
        return Calls(MODELS[name][0]), *MODELS[name][1:]
    function, inputs, dims, modules = MODULES[name]
    return Calls(function, **{k: make() for k, make in modules.items()}).eval(), inputs, dims


@pytest.mark.parametrize("opset", [17, NEWEST])
@pytest.mark.parametrize("name", [*MODELS, *MODULES])
def test_values(name, opset, tmp_path):
    model, inputs, dims = made(name)
    path, example = tmp_path / "model.onnx", inputs(3, 5)
    names = [f"input{i}" for i in range(len(example))]
    rushlight.onnx.export(
        model, example, path, input_names=names, opset_version=opset,
        dynamic_axes=dict(zip(names, dims, strict=True)),
    )  # fmt: skip
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for b, n in ((3, 5), (2, 7), (4, 12)):
        values = inputs(b, n)
        feed = {name: value.numpy() for name, value in zip(names, values, strict=True)}
        with rushlight.no_grad():
            expected = pytree.tree_leaves(model(*values))
        for ours, theirs in zip(expected, session.run(None, feed), strict=True):
            assert tuple(ours.shape) == theirs.shape
            assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype)
            np.testing.assert_allclose(theirs, ours.numpy(), rtol=1e-4, atol=1e-4)


def test_positions_of_adaptive_maxima_need_fixed_pictures(tmp_path):
    model = Calls(lambda _, x: F.adaptive_max_pool2d(x, (3, 2), return_indices=True))
    with pytest.raises(rushlight.onnx.errors.UnsupportedOperatorError):
        rushlight.onnx.export(
            model, pictures(2, 4), tmp_path / "model.onnx", input_names=["x"],
            dynamic_axes={"x": PICTURE},
        )  # fmt: skip


def test_sizes_that_are_negated(tmp_path):
    class Net(nn.Module):
        def forward(self, x):
            return x[-(x.shape[0] // 4) :] * 2

    path = tmp_path / "model.onnx"
    example = (rushlight.randn(12, 3),)
    rushlight.onnx.export(Net(), example, path, dynamic_shapes=({0: Dim.DYNAMIC},))
    session = runtime.InferenceSession(path)
    for n in (12, 8, 9, 31):
        x = rushlight.randn(n, 3)
        (found,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        assert found.tolist() == Net()(x).tolist(), n


def test_sizes_that_models_do_not_tell_are_refused(tmp_path):
    class Net(nn.Module):
        def forward(self, x):
            return x * abs(x.shape[0] - 10)

    example, dims = (rushlight.randn(6, 3),), ({0: Dim.DYNAMIC},)
    with pytest.raises(UnsupportedOperatorError, match=r"'abs_1' computes .* by abs\(\)"):
        rushlight.onnx.export(Net(), example, tmp_path / "model.onnx", dynamic_shapes=dims)
