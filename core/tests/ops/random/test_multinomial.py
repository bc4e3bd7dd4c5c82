"""Indices drawn with replacement are PyTorch's: running sums in the input's own precision."""

import pytest

import rushlight

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("shape", [(1,), (5,), (7, 1000), (3, 1), (20_011,), (2, 100_000)])
def test_indices_with_replacement(shape, dtype):
    torch.manual_seed(3)
    chances = torch.rand(shape, dtype=torch.float64).to(getattr(torch, dtype))
    ours = rushlight.tensor(chances.double().numpy()).to(getattr(rushlight, dtype))
    rushlight.manual_seed(11)
    torch.manual_seed(11)
    if dtype == "float16" and shape[-1] > 50_000:
        pytest.skip("no sum of these is finite in float16")
    for count in (2, 30):
        wanted = torch.multinomial(chances, count, replacement=True)
        found = rushlight.multinomial(ours, count, replacement=True)
        assert found.dtype is rushlight.int64 and found.tolist() == wanted.tolist()
    assert rushlight.rand(3).tolist() == torch.rand(3).tolist()


def test_strided_rows():
    torch.manual_seed(3)
    chances = torch.rand(40, 6)
    ours = rushlight.tensor(chances.numpy()).T
    rushlight.manual_seed(5)
    torch.manual_seed(5)
    wanted = torch.multinomial(chances.T, 9, replacement=True)
    assert rushlight.multinomial(ours, 9, replacement=True).tolist() == wanted.tolist()


@pytest.mark.parametrize("bad", [[0.0, 0.0], [-1.0, 2.0], [float("nan"), 1.0], [float("inf"), 1]])
def test_no_distribution(bad):
    before = rushlight.get_rng_state()
    with pytest.raises(RuntimeError, match="probability tensor|invalid multinomial"):
        rushlight.multinomial(rushlight.tensor(bad), 3, replacement=True)
    assert rushlight.equal(rushlight.get_rng_state(), before)
