"""Backends that count and keep graphs, and comparisons of results, of ``_dynamo.testing``."""

import math

import pytest

import rushlight
from rushlight._dynamo import testing as given


def chain(x):
    return (x.relu() + 1) * 2


def test_counter():
    counter = given.CompileCounter()
    call = rushlight.compile(chain, backend=counter)
    x = rushlight.tensor([-1.0, 2.0])
    assert call(x).tolist() == call(x).tolist() == chain(x).tolist()
    assert (counter.frame_count, counter.op_count) == (1, 3)
    call(rushlight.ones(2, dtype=rushlight.float64))
    assert (counter.frame_count, counter.op_count) == (2, 6)
    counter.clear()
    assert (counter.frame_count, counter.op_count) == (0, 0)


def test_counter_before_a_backend():
    counter = given.CompileCounterWithBackend("eager")
    x = rushlight.tensor([-1.0, 2.0])
    assert rushlight.compile(chain, backend=counter)(x).tolist() == chain(x).tolist()
    assert (counter.frame_count, counter.op_count, counter.backend) == (1, 3, "eager")
    (graph,) = counter.graphs
    assert sum(n.op != "placeholder" for n in graph.graph.nodes) == 4
    counter.clear()
    assert counter.graphs == [] and counter.op_count == 0


def test_graphs_are_kept():
    backend = given.EagerAndRecordGraphs()
    x = rushlight.tensor([-1.0, 2.0])
    assert rushlight.compile(chain, backend=backend)(x).tolist() == chain(x).tolist()
    (graph,) = backend.graphs
    assert isinstance(graph, rushlight.fx.GraphModule)


@pytest.mark.parametrize("size, stride, extra", [
    ((2, 3), (1, 2), 0), ((2, 3), (8, 2), 5), ((4,), (0,), 0), ((0, 3), (3, 1), 0), ((), (), 2),
])  # fmt: skip
def test_tensors_of_strides(size, stride, extra):
    x = given.rand_strided(size, stride, extra_size=extra)
    assert (tuple(x.shape), x.stride(), x.dtype) == (size, stride, rushlight.float32)
    whole = sum((n - 1) * s for n, s in zip(size, stride, strict=True)) + 1
    assert x.untyped_storage().nbytes() == 4 * (extra + (whole if 0 not in size else 0))


def test_tensors_of_other_types():
    assert given.rand_strided((3,), (1,), dtype=rushlight.int64).tolist() == [0, 0, 0]
    half = given.rand_strided((100,), (1,), dtype=rushlight.float16)
    assert half.dtype == rushlight.float16 and 0.5 < float(half.float().std()) < 1.5


X = rushlight.tensor([1.0, -2.0, 3.0])


@pytest.mark.parametrize("ref, res, options, wanted", [
    (X, X + 5e-5, {}, True), (X, X + 1e-3, {}, False), (X, X + 1e-3, {"tol": 1e-2}, True),
    (X, X.double(), {}, False), (X, X.double(), {"exact_dtype": False}, True),
    (X, X[:2], {}, False), ([X, 1], (X, 1), {}, True), ([X], [X, X], {}, False),
    ({"a": X}, {"a": X + 1}, {}, False), ({"a": X}, {"b": X}, {}, False),
    (X, X * 2, {"cos_similarity": True}, True), (X, -X, {"cos_similarity": True}, False),
    (X * 0, X * 0, {"cos_similarity": True}, True), (X * 0, X, {"cos_similarity": True}, False),
    (X * math.nan, X * math.nan, {}, False),
    (X * math.nan, X * math.nan, {"equal_nan": True}, True),
    (X + 0.01, X - 0.015, {"fp64_ref": X.double()}, True),
    (X + 0.01, X - 0.05, {"fp64_ref": X.double()}, False),
    (rushlight.tensor([1, 2]), rushlight.tensor([1, 2]), {}, True),
    (rushlight.tensor([1, 2]), rushlight.tensor([1, 3]), {}, False),
    (1.0, 1.00001, {}, True), (1.0, 1.1, {}, False), ("a", "a", {}, True), (None, 0, {}, False),
    (X.to(rushlight.complex64), X.to(rushlight.complex64) + 1e-5j, {}, True),
])  # fmt: skip
def test_results_that_are_alike(ref, res, options, wanted):
    assert given.same(ref, res, **options) is wanted
