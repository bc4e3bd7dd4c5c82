"""Random fills: PyTorch's numbers for the same seed, on any number of threads, into any layout."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rushlight

torch = pytest.importorskip("torch")

from agreement import same, short, twin  # noqa: E402
from drawn import close, examples, on_threads, sizes, tensors  # noqa: E402

SEEDS = st.integers(0, 2**31)
# Fewer than 16 normals are drawn one by one; others in blocks; 16384 by several threads.
COUNTS = st.one_of(sizes(1025, 0), st.sampled_from((15, 16, 17, 31, 33, 16_383, 16_384, 16_385,
                                                    16_399, 16_400, 50_007, 262_145)))  # fmt: skip


@st.composite
def random_shapes(draw):
    """A shape of some number of elements."""
    count = draw(COUNTS)
    rows = draw(st.sampled_from((None, 1, 2, 3)))
    return (count,) if rows is None else (rows, count) if draw(st.booleans()) else (count, rows)


FILLS = {
    "uniform_": ((), (-2.0, 3.0)), "normal_": ((), (1.0, 0.3)), "bernoulli_": ((0.3,), ()),
    "exponential_": ((), (2.0,)), "log_normal_": ((),), "cauchy_": ((),), "geometric_": ((0.4,),),
    "random_": ((), (7,), (-3, 1000)),
}  # fmt: skip


@given(st.sampled_from(tuple(FILLS)), random_shapes(), SEEDS, st.data())
@examples(110)
def test_fills(name, shape, seed, data):
    """In place, whatever the layout; the numbers behind them too."""
    dtype = data.draw(st.sampled_from(("float32", "float32", "float64")))
    given = data.draw(st.sampled_from(FILLS[name]))
    target = data.draw(tensors(shape, dtype))
    kept, strides = target.clone(), target.stride()

    def run():
        rushlight.manual_seed(seed)
        target.copy_(kept)
        getattr(target, name)(*given)
        return target.clone(), rushlight.rand(3)

    found, behind = on_threads(run)
    assert target.stride() == strides
    torch.manual_seed(seed)
    # the order in which a strided tensor of PyTorch is filled is that of its memory
    model = torch.empty_strided(shape, strides, dtype=getattr(torch, dtype))
    getattr(model, name)(*given)
    if name in ("normal_", "exponential_", "log_normal_", "cauchy_"):
        # errors of what is in an exponential or beside a pole of the tangent grow
        units = {"log_normal_": 64.0, "cauchy_": 512.0}.get(name, 16.0)
        close(found, model.double(), model.double().abs() + 1.0, units)
    else:
        same(found, model)
    same(behind, torch.rand(3))


@given(st.sampled_from(("rand", "randn", "randint", "randperm")), random_shapes(), SEEDS, st.data())
@examples(110)
def test_new_tensors(name, shape, seed, data):
    dtype = data.draw(st.sampled_from(("float32", "float64")))
    low = data.draw(st.integers(-9, 0))
    high = data.draw(st.sampled_from((1, 2, 10, 1 << 20, 1 << 31, 1 << 40)))

    def run(library):
        library.manual_seed(seed)
        if name == "randint":
            return library.randint(low, high, shape), library.rand(2)
        if name == "randperm":
            return library.randperm(max(shape)), library.rand(2)
        return getattr(library, name)(shape, dtype=getattr(library, dtype)), library.rand(2)

    found, truth = on_threads(lambda: run(rushlight)), run(torch)
    assert short(found[0].dtype) == short(truth[0].dtype)
    if name == "randn":
        close(found[0], truth[0].double(), truth[0].double().abs() + 1.0, 16.0)
    else:
        same(found[0], truth[0])
    same(found[1], truth[1])


@given(st.data(), SEEDS)
@examples(50)
def test_chances(data, seed):
    """bernoulli of a tensor of chances, dropout's mask, multinomial."""
    shape = data.draw(random_shapes())
    x = data.draw(tensors(shape, "float32", 0.0, 1.0))

    def run(library, chances):
        library.manual_seed(seed)
        found = [library.bernoulli(chances)]
        found.append(library.nn.functional.dropout(chances + 1, 0.4) > 0)
        rows = chances.reshape(shape[0], -1) if chances.numel() else chances
        if chances.numel() and rows.shape[1] < 2000 and rows.shape[0] < 2000:
            found.append(library.multinomial(rows + 0.01, 1))
            found.append(library.multinomial(rows + 0.01, 5, replacement=True))
        return tuple(found)

    model = torch.empty_strided(shape, x.stride()).copy_(twin(x))  # masks follow the layout
    same(on_threads(lambda: run(rushlight, x)), run(torch, model))
