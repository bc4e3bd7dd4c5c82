"""What is computed from element to element, counted in bins or looked up, by ONNX Runtime."""

import numpy as np
import pytest

import rushlight
from rushlight import nn
from rushlight.export import Dim

pytest.importorskip("onnxruntime")

NAN, INF = float("nan"), float("inf")


class Called(nn.Module):
    """A function as a model; what is not a tensor is fixed."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def assert_written(function, *args, dynamic=None, others=()):
    """ONNX Runtime gives what the function gives, of the arguments and of others."""
    model = Called(function)
    program = rushlight.onnx.export(model, args, dynamic_shapes=dynamic)
    for given in (args, *others):
        expected = model(*given)
        expected = expected if isinstance(expected, tuple) else (expected,)
        for ours, theirs in zip(expected, program(*given), strict=True):
            assert theirs.dtype is ours.dtype and theirs.shape == ours.shape
            np.testing.assert_allclose(theirs.numpy(), ours.numpy(), rtol=2e-6, atol=0)


def whole(*shape, dtype=rushlight.float32):
    """Few different numbers, so that several are equal."""
    generator = rushlight.Generator().manual_seed(0)
    return rushlight.randint(-3, 4, shape, generator=generator).to(dtype)


@pytest.mark.parametrize("name", ["cummax", "cummin"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int8", "uint8"])
def test_running_extremes_of_equal_numbers(name, dtype):
    x = whole(4, 9, 2, dtype=getattr(rushlight, dtype))
    assert_written(lambda x: getattr(x, name)(1), x)


@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_running_extremes_of_nan_and_infinities(name):
    x = rushlight.tensor([[-INF, -INF, 1, INF, 2], [NAN, 3, 1, 2, 0], [1, 2, NAN, 5, NAN]])
    assert_written(lambda x: getattr(x, name)(-1), x)


@pytest.mark.parametrize("name", ["cummax", "cumprod", "mode"])
def test_a_dimension_of_any_size(name):
    sizes = ({0: Dim("rows"), 1: Dim("columns", min=2)},)
    others = [(whole(5, 3),), (whole(3, 12),)]
    assert_written(lambda x: getattr(x, name)(1), whole(2, 6), dynamic=sizes, others=others)


def test_running_products_and_sums_of_exponentials():
    assert_written(lambda x: (x.cumprod(0), x.cumprod(1, dtype=rushlight.float64)), whole(4, 5))
    x = rushlight.tensor([-INF, -INF, 3.0, 3.0, -INF, 1000.0, 999.0, INF, INF])
    assert_written(lambda x: x.logcumsumexp(0), x)


@pytest.mark.parametrize("keepdim", [False, True])
def test_the_most_frequent(keepdim):
    assert_written(lambda x: x.mode(1, keepdim), whole(5, 8, 3))
    assert_written(lambda x: x.mode(0, keepdim), whole(7, 2, dtype=rushlight.int16))
    assert_written(lambda x: x.mode(0, keepdim), rushlight.zeros(4, dtype=rushlight.int64))


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("count", [1, 2, 7, 8, 9])
def test_positions_in_a_sequence(right, count):
    edges = rushlight.arange(count) * 2.0
    values = rushlight.tensor([[-INF, -1.0, 0.0, 1.0, 2.0], [4.0, 14.0, 17.0, INF, NAN]])
    assert_written(lambda v, e: rushlight.bucketize(v, e, right=right), values, edges)
    rows = rushlight.stack([edges, edges + 1])
    assert_written(
        lambda v, e: rushlight.searchsorted(e, v, right=right, out_int32=True), values, rows
    )


def test_positions_in_a_sequence_that_a_sorter_puts_in_order():
    x = rushlight.tensor([[5, 1, 3], [2, 9, 4]])
    values = rushlight.tensor([[1, 2, 3, 4], [2, 3, 9, 10]])
    assert_written(lambda x, v: rushlight.searchsorted(x, v, sorter=x.argsort(-1)), x, values)


def test_a_sequence_of_any_length_is_refused():
    with pytest.raises(rushlight.onnx.OnnxExporterError, match="sizes that may differ, .'edges'"):
        rushlight.onnx.export(
            Called(lambda v, e: rushlight.bucketize(v, e)),
            (rushlight.ones(2), rushlight.arange(5.0)),
            dynamic_shapes=(None, {0: Dim("edges")}),
        )


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_mantissa_and_exponent(dtype):
    kind = rushlight.finfo(getattr(rushlight, dtype))
    x = [0.0, 1.0, -1.0, 0.5, 3.0, 0.1, 8.0, -7.999, kind.max, kind.tiny, -kind.smallest_normal / 4]
    x += [2.0**n for n in range(-14, 15)] + [INF, -INF, NAN]
    assert_written(rushlight.frexp, rushlight.tensor(x, dtype=getattr(rushlight, dtype)))


@pytest.mark.parametrize("bounds", [(0, 0), (-2, 2), (-1.5, 3)])
def test_bins(bounds):
    assert_written(lambda x: x.histc(5, *bounds), whole(6, 7))
    assert_written(lambda x: x.histc(4, *bounds), rushlight.ones(3))


def test_bins_with_their_edges():
    assert_written(lambda x: tuple(x.histogram(5, range=(-2.0, 3.0))), whole(6, 7))
    for options in ({}, {"range": (0.0, 1.0), "density": True}):
        with pytest.raises(rushlight.onnx.OnnxExporterError, match="histogram"):
            rushlight.onnx.export(Called(lambda x: x.histogram(4, **options)), (whole(5),))  # noqa: B023


@pytest.mark.parametrize("name", ["lu", "lu_factor", "inv", "qr", "cholesky", "svdvals", "pinv"])
def test_factorizations_are_refused_with_a_reason(name):
    matrix = (rushlight.eye(3) + 0.1,)
    with pytest.raises(rushlight.onnx.OnnxExporterError, match="ONNX has no factorization"):
        rushlight.onnx.export(Called(getattr(rushlight.linalg, name)), matrix)


def test_bins_need_a_reduction_at_positions():
    with pytest.raises(rushlight.onnx.OnnxExporterError, match="opset_version=16"):
        rushlight.onnx.export(Called(lambda x: x.histc(4)), (whole(5),), opset_version=15)


def test_medians_without_nan():
    x = rushlight.tensor([[NAN, 4.0, INF, 1.0], [NAN] * 4, [INF, NAN, NAN, NAN], [4, 3, 1, 2]])
    assert_written(lambda x: (*x.nanmedian(1), *x.nanmedian(0, True), x.nanmedian()), x)


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_reductions_at_positions(reduce, include_self):
    options = {"reduce": reduce, "include_self": include_self}
    index = rushlight.tensor([[0, 2, 0, 0], [3, 2, 2, 2]])
    x = whole(2, 5) + 0.5
    assert_written(
        lambda x, i, v: x.scatter_reduce(1, i, v, **options), x, index, whole(2, 4) * 1.5
    )
    if reduce == "sum":  # which is index_add
        return
    assert_written(
        lambda x, i, v: x.index_reduce(1, i, v, **options), x, index[0], whole(2, 4) * 1.5
    )


def test_means_of_whole_numbers_at_positions():
    x, index = whole(5, dtype=rushlight.int64), rushlight.tensor([0, 0, 1, 1, 1])
    assert_written(
        lambda x, i, v: x.scatter_reduce(0, i, v, "mean"), x, index, whole(5, dtype=rushlight.int64)
    )
