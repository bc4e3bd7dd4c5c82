"""What the fast path remembers of an op stands in its `paths`, and can be forgotten."""

import math

import numpy as np
import pytest

import rushlight
from rushlight.chains.expressions import chain_op
from rushlight.ops._table import deferred
from rushlight.ops._table.op import TABLE
from rushlight.ops._table.paths import Paths, forget_all, not_prepared
from rushlight.testing.oracle import flat
from rushlight.testing.samples import samples_of

deferred.load_all()
SAMPLED = [op for op in TABLE.values() if samples_of(op)]
# What an op has beside its slots: facts of the declaration, nothing that calls leave behind.
FACTS = {
    "aliases", "arranged", "attributes", "cuda_kernel", "fits", "inplace", "keywords", "label",
    "method", "run", "spread_position", "strict", "variadic", "writes", "can_join",
}  # fmt: skip


def values(result):
    """The numbers of all tensors of a result, and the rest as it is."""
    return [
        x.detach().resolve_conj().numpy().copy() if type(x) is rushlight.Tensor else x
        for x in flat(result if isinstance(result, (tuple, list)) else [result])
    ]


def call(op, args, kwargs):
    rushlight.manual_seed(3)
    return op.function(*args, **kwargs)


def contents(paths):
    """What a `Paths` holds, but for tables that know by themselves, and empty native calls."""
    own = [
        name for name in Paths.__slots__ if name not in ("__weakref__", "op", "shared", "pointwise")
    ]
    return {name: getattr(paths, name) for name in own}


@pytest.mark.filterwarnings("ignore:range is deprecated")
@pytest.mark.parametrize("op", SAMPLED, ids=lambda op: op.name)
def test_calls_leave_traces_in_paths_alone_and_forget_them(op):
    args, kwargs = samples_of(op)[0]
    for _ in range(3):
        before = values(call(op, args, kwargs))
    assert vars(op).keys() <= FACTS
    tables = (op.paths.same, op.paths.mixed, op.paths.into)
    op.paths.forget(compiled=True)
    fresh = Paths(op)
    if op.paths.same is not None:
        fresh.takes_tensors(two=op.paths.mixed is not None)
    if op.paths.into is not None:
        fresh.writes_into()
    assert contents(op.paths) == contents(fresh)
    for table in (*op.paths.tables(), *op.paths.pointwise.values()):
        assert table.known is None or table.known.plan[1] == 0  # entries
    # prepared calls hold these very lists
    assert all(
        a is b for a, b in zip(tables, (op.paths.same, op.paths.mixed, op.paths.into), strict=True)
    )
    for _ in range(3):
        after = values(call(op, args, kwargs))
        for a, b in zip(before, after, strict=True):
            if isinstance(a, np.ndarray) and not op.name.startswith("empty"):
                np.testing.assert_array_equal(a, b)


def test_a_warm_call_fills_them_again():
    x = rushlight.arange(6.0).reshape(2, 3)
    paths = rushlight.relu.op.paths
    for _ in range(2):
        rushlight.relu(x)
    assert paths.same[x.dtype.code] is not None and paths.offered
    paths.forget()
    assert set(paths.same) == {None} and not paths.offered and paths.kernels
    assert rushlight.relu(x).tolist() == x.tolist()
    rushlight.clamp(x, 1.0, 4.0)
    assert rushlight.clamp.op.paths.by_count[3] is not not_prepared
    rushlight.clamp.op.paths.forget()
    assert rushlight.clamp.op.paths.by_count[3] is not_prepared


def test_native_calls_are_learned_again():
    x = rushlight.arange(6.0).reshape(2, 3)
    for table, run in (
        (rushlight.squeeze.op.paths.tables()[0], lambda: x[:, None].squeeze(1)),
        (rushlight.roll.op.paths.tables()[0], lambda: x.roll(1, 1)),
    ):
        expected = [run().tolist() for _ in range(40)][-1]
        known = table.known
        if known is None:
            pytest.skip("native calls are off")
        assert known.plan[1] > 0
        table.forget()
        assert known.plan[1] == 0 and run().tolist() == expected
        for _ in range(40):
            run()
        assert table.known is known and known.plan[1] > 0 and run().tolist() == expected


def test_a_new_default_dtype_has_all_forget():
    whole, calls = rushlight.arange(1, 4), [(TABLE["sqrt"], (("input", 0),))]
    chain = chain_op([*calls, (TABLE["exp"], (("call", 0),))], 1, False)
    try:
        for dtype in (rushlight.float64, rushlight.float32, rushlight.float64):
            rushlight.set_default_dtype(dtype)
            for _ in range(3):
                for found in (
                    whole.sqrt(),
                    whole.add(0.5),
                    whole / 2,
                    rushlight.atan2(whole, whole),
                ):
                    assert found.dtype is dtype
            assert whole.sqrt()[2].item() == pytest.approx(math.sqrt(3))
            assert chain.paths.offered == set()
    finally:
        rushlight.set_default_dtype(rushlight.float32)


def test_forgetting_everything_leaves_gradients_right():
    x = rushlight.arange(1.0, 5.0, requires_grad=True)
    kept = (x.sqrt() * x).sum()  # whose nodes hold plans that are forgotten meanwhile
    forget_all(compiled=True)
    kept.backward()
    expected, x.grad = x.grad.tolist(), None
    for _ in range(3):
        x.grad = None
        (x.sqrt() * x).sum().backward()
        assert x.grad.tolist() == expected == pytest.approx((1.5 * x.detach().sqrt()).tolist())
