"""Numbers that models read from tensors, run by ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.onnx.errors import OnnxExporterError

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
runtime.set_default_logger_severity(4)


class Applied(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def normalized(x):
    least, most = x.min().item(), x.max().item()
    torch._check(most > least)
    return (x - least) / (most - least) * 2 - 1


def gated(x):
    level = x.abs().mean().item()
    loud = torch.sym_max(level * 2, 0.5) ** 2
    return torch.where(x.abs() > level, x * -loud, x / (1 + level)), x.clamp(max=level)


def shared(x):
    count = (x > 0).sum().item()
    return x * (count / 4) + x * (count * 0.5), x * count


@pytest.mark.parametrize("function", [normalized, gated, shared])
def test_numbers_are_read_in_every_call(function):
    model = Applied(function)
    program = torch.onnx.export(model, (torch.tensor([1.0, -2.0, 3.0]),))
    for x in (torch.tensor([0.5, 2.0, -4.0]), torch.tensor([7.0, 8.0, 9.5])):
        expected = model(x)
        expected = expected if isinstance(expected, tuple) else (expected,)
        for ours, theirs in zip(expected, program(x), strict=True):
            np.testing.assert_allclose(theirs.numpy(), ours.numpy(), rtol=2e-6)


def of_sizes(x):
    mean = x.abs().mean().item()
    torch._check(mean > 0)
    return x[: x.shape[0] // 2] * mean / x.shape[0] + torch.arange(x.shape[0])[-1] ** -mean, mean


@pytest.mark.parametrize("function", [normalized, gated, of_sizes])
def test_floats_beside_sizes_that_differ(function):
    model, sizes = Applied(function), ({0: torch.export.Dim("n", min=2)},)
    program = torch.onnx.export(model, (torch.tensor([1.0, -2.0, 3.0, 4.0]),), dynamic_shapes=sizes)
    for length in (2, 3, 7, 40):
        x = torch.randn(length, generator=torch.Generator().manual_seed(length))
        expected = model(x)
        expected = expected if isinstance(expected, tuple) else (expected,)
        for ours, theirs in zip(expected, program(x), strict=True):
            np.testing.assert_allclose(theirs.numpy(), ours, rtol=2e-6)


def in_arithmetic(x):
    total = x.sum().int().item()
    most = torch.sym_max(total, x.shape[0])
    return x + total // 3, x * (total % 4), torch.full((), total), total - x.shape[0], x * most


def of_two_sizes(x):
    total = x.sum().long().item()
    return x * torch.sym_min(total, 2), x + -total, torch.ones(x.shape[0]) * total


def head(x):
    count = (x > 0).sum().item()
    torch._check(count >= 1)
    torch._check(count <= x.shape[0])
    return x[:count] + 1, torch.arange(count) * x.shape[0]


def chosen(x):
    where = torch.nonzero(x > 0)
    return x[x > 0] * 2, where, x * where.shape[0], x / (where.shape[0] + 1)


@pytest.mark.parametrize("function", [shared, in_arithmetic, of_two_sizes, head, chosen])
@pytest.mark.parametrize("varies", [False, True])
def test_whole_numbers_and_sizes_that_depend_on_them(function, varies):
    model, lengths = Applied(function), (2, 3, 7, 40) if varies else (4, 4, 4)
    sizes = ({0: torch.export.Dim("n", min=2)},) if varies else None
    program = torch.onnx.export(model, (torch.tensor([1.0, -2.0, 3.0, 4.0]),), dynamic_shapes=sizes)
    for seed, length in enumerate(lengths):
        x = torch.randn(length, generator=torch.Generator().manual_seed(seed)) * 5
        x[0] = x[0].abs()
        for ours, theirs in zip(model(x), program(x), strict=True):
            ours = torch.as_tensor(ours)
            assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
            np.testing.assert_allclose(theirs.numpy(), ours.numpy(), rtol=2e-6)


def test_a_place_among_few():
    def windowed(x, i):
        start = i.item()
        torch._check(start >= 0)
        torch._check(start + 2 <= x.shape[0])
        return x.narrow(0, start, 2).sum() * x.shape[0]

    model, x = Applied(windowed), torch.tensor([1.0, -2.0, 3.0, 4.0])
    program = torch.onnx.export(model, (x, torch.tensor(1)))
    for start in range(3):
        assert program(x, torch.tensor(start))[0] == model(x, torch.tensor(start))


def test_a_constant_matrix_of_least_squares():
    torch.manual_seed(0)
    tall, rhs = torch.randn(6, 4), torch.randn(6, 5)
    for driver in ("gels", "gelsd"):
        model = Applied(lambda b, driver=driver: torch.linalg.lstsq(tall, b, driver=driver)[0])
        found = torch.onnx.export(model, (rhs,))(rhs + 1)[0]
        np.testing.assert_allclose(found.numpy(), model(rhs + 1).numpy(), rtol=1e-4, atol=1e-5)
    both = Applied(lambda a, b: torch.linalg.lstsq(a, b).solution)
    with pytest.raises(OnnxExporterError, match="ONNX has no QR"):
        torch.onnx.export(both, (tall, rhs))
    more = Applied(lambda b: torch.linalg.lstsq(tall, b).residuals)
    with pytest.raises(OnnxExporterError, match="only the solution"):
        torch.onnx.export(more, (rhs,))


@pytest.mark.parametrize("taps", [(1, 1), (1, 3), (3, 1), (3, 3), (2, 5), (40, 2)])
@pytest.mark.parametrize("channels", [0, 3])
def test_filters_with_feedback(taps, channels):
    torch.manual_seed(0)
    rows = (channels,) if channels else ()
    feedback = torch.cat([torch.ones(*rows, 1) * 2, torch.randn(*rows, taps[0] - 1) / taps[0]], -1)
    forward = torch.randn(*rows, taps[1])
    model = Applied(lambda x: torch.signal.recursive_filter(x, feedback, forward))
    shapes = ({2: torch.export.Dim("time", min=2, max=5000)},)
    program = torch.onnx.export(model, (torch.randn(2, 3, 100),), dynamic_shapes=shapes)
    for length in (10, 64, 65, 1000):
        x = torch.randn(2, 3, length)
        expected = model(x)
        atol = 1e-5 * expected.abs().max().item()
        np.testing.assert_allclose(program(x)[0].numpy(), expected.numpy(), rtol=1e-4, atol=atol)


def test_filters_of_too_many_taps():
    model = Applied(lambda x, a: torch.signal.recursive_filter(x, a, torch.ones(1)))
    with pytest.raises(OnnxExporterError, match="300 taps"):
        torch.onnx.export(model, (torch.ones(10), torch.ones(300)))


@pytest.mark.parametrize("terms", [1, 3])
def test_feedback_that_changes_with_time(terms):
    torch.manual_seed(0)
    feedback = Applied(torch.signal.varying_feedback)
    shapes = ({0: torch.export.Dim("n"), 2: (t := torch.export.Dim("t"))}, {1: t}, {1: t})
    given = [], []
    for each, (count, length, longest) in zip(given, ((2, 20, 4), (3, 50, 9)), strict=True):
        each.append(torch.randn(count, 2, length))
        each.append(torch.randn(2, length, terms) * 0.3)
        each.append(torch.randint(1, longest + 1, (2, length, terms)))
    program = torch.onnx.export(feedback, tuple(given[0]), dynamic_shapes=shapes)
    for each in given:
        np.testing.assert_allclose(program(*each)[0], feedback(*each), rtol=1e-6, atol=1e-7)
    with pytest.raises(ValueError, match="delays must be whole numbers of at least 1"):
        feedback(*given[0][:2], given[0][2] * 0)
