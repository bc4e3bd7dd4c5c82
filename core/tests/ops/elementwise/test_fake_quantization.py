"""Numbers rounded as quantized ones are, beside PyTorch, in programs and in ONNX Runtime."""

from __future__ import annotations

import io

import numpy as np
import pytest

import rushlight

LIMITS = {"bytes": (0.1, 3, 0, 255), "signed": (0.037, 0, -128, 127), "few": (0.5, 2, 0, 15),
          "negative": (1.7, -3, -7, 8)}  # fmt: skip
FORMS = ("numbers", "tensors", "channels")


def quantized(library, form, x, settings):
    """`x` by a library, whose scale and zero point are given in one of the forms."""
    scale, zero, low, high = settings
    if form == "numbers":
        return library.fake_quantize_per_tensor_affine(x, scale, zero, low, high)
    if form == "tensors":
        of = library.tensor(scale), library.tensor([zero], dtype=library.int32)
        return library.fake_quantize_per_tensor_affine(x, *of, low, high)
    of = (library.tensor([scale, 2 * scale, scale / 3]),
          library.tensor([zero, low, high], dtype=library.int32))  # fmt: skip
    return library.fake_quantize_per_channel_affine(x, *of, 1, low, high)


def numbers():
    x = np.random.default_rng(0).standard_normal((200, 3)) * 3
    x[0, 0], x[1, 1], x[2, 2] = np.nan, 1e4, -1e4
    return x


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", LIMITS)
def test_values_and_gradients(name, form, dtype):
    """PyTorch's, to the bit but for float64, whose results it rounds to float32 in most forms."""
    torch = pytest.importorskip("torch")
    theirs = torch.tensor(numbers()).to(getattr(torch, dtype)).requires_grad_()
    ours = rushlight.tensor(numbers()).to(getattr(rushlight, dtype)).requires_grad_()
    want = quantized(torch, form, theirs, LIMITS[name])
    found = quantized(rushlight, form, ours, LIMITS[name])
    assert str(found.dtype) == f"rushlight.{dtype}"
    exact = dtype != "float64"
    np.testing.assert_allclose(
        found.detach().double().numpy(), want.detach().double().numpy(), 0 if exact else 1e-7
    )
    for result in (want, found):
        result.sum().backward()
    assert np.array_equal(ours.grad.double().numpy(), theirs.grad.double().numpy())
    if dtype in ("float32", "float64"):
        assert found.grad_fn.name() == want.grad_fn.name()


@pytest.mark.parametrize("zero", [0.0, 0.5, 0.25, 1.75])
def test_zero_points_with_fractions(zero):
    """Of channels they are added before numbers are rounded; one alone is a whole number."""
    torch = pytest.importorskip("torch")
    found = []
    for library in (torch, rushlight):
        x = library.tensor([[0.04], [0.26], [0.33], [9.0]])
        scale, point = library.tensor([0.1]), library.tensor([zero])
        found.append([
            library.fake_quantize_per_channel_affine(x, scale, point, 1, -8, 7).tolist(),
            library.fake_quantize_per_tensor_affine(x, scale, point, -8, 7).tolist(),
        ])  # fmt: skip
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)


def test_numbers_too_large_for_integers_are_the_greatest():
    x = rushlight.tensor([[np.inf], [1e30], [-np.inf]])
    of = rushlight.tensor([0.1]), rushlight.zeros(1, dtype=rushlight.int32)
    found = rushlight.fake_quantize_per_channel_affine(x, *of, 1, 0, 255)
    rushlight.testing.assert_close(found[:, 0], rushlight.tensor([25.5, 25.5, 0.0]))


class Model(rushlight.nn.Module):
    """All forms at once."""

    def forward(self, x, scale, zero):
        wide = rushlight.fake_quantize_per_tensor_affine(x, scale[0], zero[0], 0, 255)
        narrow = rushlight.fake_quantize_per_tensor_affine(x, 0.1, 0, -8, 7)
        return (
            wide + narrow + rushlight.fake_quantize_per_channel_affine(x, scale, zero, 1, -128, 127)
        )


@pytest.fixture
def inputs():
    rushlight.manual_seed(0)
    zero = rushlight.tensor([0, 3, 9], dtype=rushlight.int32)
    return rushlight.randn(4, 3), rushlight.tensor([0.1, 0.2, 0.3]), zero


def test_programs(inputs):
    """Decomposed, programs have the forms with masks, as PyTorch's."""
    want, program = Model()(*inputs), rushlight.export.export(Model(), inputs)
    parts = program.run_decompositions()
    names = [getattr(n.target, "__name__", "") for n in parts.graph.nodes if n.op != "placeholder"]
    assert [name.removesuffix(".default") for name in names if "quantize" in name] == [
        "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
        "fake_quantize_per_tensor_affine_cachemask",
        "fake_quantize_per_channel_affine_cachemask",
    ]
    for each in (program, parts):
        assert each.module()(*inputs).equal(want)
    with rushlight.no_grad():
        assert rushlight.compile(Model(), fullgraph=True)(*inputs).equal(want)


def test_masks():
    x = rushlight.tensor([-1.0, 0.5, 99.0, float("nan")])
    aten = rushlight.ops.aten
    found, mask = aten.fake_quantize_per_tensor_affine_cachemask(x, 0.1, 0, 0, 255)
    rushlight.testing.assert_close(found, rushlight.tensor([0.0, 0.5, 25.5, 0.0]))
    assert mask.tolist() == [False, True, False, False]
    by_tensors = aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams
    scale, zero = rushlight.tensor(0.1), rushlight.tensor(0, dtype=rushlight.int32)
    for enabled in (1, 0):
        found, mask = by_tensors(x, scale, zero, rushlight.tensor([enabled]), 0, 255)
        assert mask.tolist() == ([False, True, False, False] if enabled else [True] * 4)
        assert found[2].item() == (25.5 if enabled else 99)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", LIMITS)
def test_masks_of_narrow_floats(name, dtype):
    """Levels at the edges of the range are computed in float32."""
    torch = pytest.importorskip("torch")
    theirs = torch.tensor(numbers()).to(getattr(torch, dtype))
    ours = rushlight.tensor(numbers()).to(getattr(rushlight, dtype))
    call = "fake_quantize_per_tensor_affine_cachemask"
    want = getattr(torch.ops.aten, call)(theirs, *LIMITS[name])
    found = getattr(rushlight.ops.aten, call)(ours, *LIMITS[name])
    for mine, other in zip(found, want, strict=True):
        assert np.array_equal(mine.double().numpy(), other.double().numpy())


@pytest.mark.parametrize("decomposed", [False, True])
def test_onnx(inputs, decomposed):
    """Ranges of bytes by the operators that engines know, others by arithmetic."""
    runtime = pytest.importorskip("onnxruntime")
    file, program = io.BytesIO(), rushlight.export.export(Model(), inputs)
    program = program.run_decompositions() if decomposed else program
    rushlight.onnx.export(program, inputs, file)
    session = runtime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
    given = {i.name: x.numpy() for i, x in zip(session.get_inputs(), inputs, strict=True)}
    (found,) = session.run(None, given)
    rushlight.testing.assert_close(rushlight.tensor(found), Model()(*inputs))


def test_errors():
    x, scale = rushlight.randn(2, 3), rushlight.tensor([0.1, 0.2, 0.3])
    zero = rushlight.zeros(3, dtype=rushlight.int32)
    tensors, channels = (
        rushlight.fake_quantize_per_tensor_affine,
        rushlight.fake_quantize_per_channel_affine,
    )
    for error, match, call in (
        (RuntimeError, "zero_point must be between", lambda: tensors(x, 0.1, 300, 0, 255)),
        (RuntimeError, "quant_min must be at most", lambda: tensors(x, 0.1, 0, 255, 0)),
        (TypeError, "zero_point must be an int", lambda: tensors(x, 0.1, 0.5, 0, 255)),
        (NotImplementedError, "int64", lambda: tensors(x.long(), 0.1, 0, 0, 255)),
        (RuntimeError, "one element, got 3", lambda: tensors(x, scale, zero, 0, 255)),
        (RuntimeError, "equally long", lambda: channels(x, scale[:2], zero, 1, 0, 9)),
        (RuntimeError, "2 channels along axis 0", lambda: channels(x, scale, zero, 0, 0, 9)),
        (IndexError, "axis must be from 0 to 1, got 2", lambda: channels(x, scale, zero, 2, 0, 9)),
        (RuntimeError, "got -1", lambda: channels(x, scale, zero, -1, 0, 9)),
        (RuntimeError, "int64", lambda: channels(x, scale, zero.long(), 1, 0, 9)),
        (RuntimeError, "float64", lambda: channels(x, scale.double(), zero, 1, 0, 9)),
        (RuntimeError, "0 and 9", lambda: channels(x, scale, zero + 10, 1, 0, 9)),
    ):
        with pytest.raises(error, match=match):
            call()
