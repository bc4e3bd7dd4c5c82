"""Arguments that PyTorch refuses, or takes, are refused, or taken, with its type of error."""

import pytest

import rushlight

torch = pytest.importorskip("torch")

REFUSED = {
    "list of numbers": [
        lambda t, name=name: getattr(t, name)([1, 2])
        for name in ("hstack", "vstack", "dstack", "column_stack", "cartesian_prod", "atleast_3d")
    ],
    "a number for a tensor": [
        lambda t: t.atleast_1d(3),
        lambda t: t.atleast_3d(None),
        lambda t: t.cartesian_prod(t.ones(2), 3),
        lambda t: t.chain_matmul(t.ones(2, 2), 3),
        lambda t: t.chain_matmul(1.5),
    ],
    "vectors for matrices": [
        lambda t: t.chain_matmul(t.ones(2)),
        lambda t: t.chain_matmul(t.ones(2), t.ones(2)),
    ],
    "dtypes that do not promote": [
        lambda t: t.addmm(t.ones(2, 2, dtype=t.int64), t.ones(2, 2), t.ones(2, 2)),
        lambda t: t.addmm(t.ones(2, 2, dtype=t.float64), t.ones(2, 2), t.ones(2, 2), beta=2),
        lambda t: t.addmv(t.ones(2, dtype=t.int64), t.ones(2, 2), t.ones(2)),
        lambda t: t.addbmm(t.ones(2, 2, dtype=t.float16), t.ones(1, 2, 2), t.ones(1, 2, 2)),
        lambda t: t.baddbmm(t.ones(1, 2, 2, dtype=t.bool), t.ones(1, 2, 2), t.ones(1, 2, 2)),
        lambda t: t.linalg.cross(t.ones(3), t.ones(3, dtype=t.int64)),
        lambda t: t.cross(t.ones(3, dtype=t.int64), t.ones(3)),
        lambda t: t.lerp(t.ones(3), t.ones(3), t.ones(3, dtype=t.float64)),
    ],
    "dimensions beyond the result's": [
        lambda t: t.addmm(t.ones(1, 2, 2), t.ones(2, 2), t.ones(2, 2)),
        lambda t: t.addmv(t.ones(1, 2), t.ones(2, 2), t.ones(2)),
        lambda t: t.addbmm(t.ones(1, 2, 2), t.ones(1, 2, 2), t.ones(1, 2, 2)),
        lambda t: t.baddbmm(t.ones(1, 1, 2, 2), t.ones(1, 2, 2), t.ones(1, 2, 2)),
    ],
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", REFUSED)
def test_refused(kind):
    for number, call in enumerate(REFUSED[kind]):
        with pytest.raises(Exception) as wanted:  # noqa: PT011 - the type is what is compared
            call(torch)
        with pytest.raises(type(wanted.value)):
            call(rushlight)
            pytest.fail(f"{kind} {number} is taken")


@pytest.mark.parametrize("dtype", ["float16", "float64", "int64", "bool"])
def test_a_weight_without_dimensions_is_a_number(dtype):
    x = torch.arange(4.0), torch.arange(4.0) * 3 + 1
    weight = torch.tensor(0.5).to(getattr(torch, dtype))
    wanted = torch.lerp(*x, weight)
    ours = [rushlight.tensor(part.numpy()) for part in x]
    found = rushlight.lerp(*ours, rushlight.tensor(0.5).to(getattr(rushlight, dtype)))
    assert found.dtype is rushlight.float32 and found.tolist() == wanted.tolist()
