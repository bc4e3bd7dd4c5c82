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


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.multinomial(t.ones(3), 4),
        lambda t: t.multinomial(t.ones(3), 0),
        lambda t: t.multinomial(t.ones(3), -1),
        lambda t: t.multinomial(t.ones(3, 3, 3), 1),
        lambda t: t.multinomial(t.tensor(1.0), 1),
        lambda t: t.multinomial(t.zeros(0), 1),
        lambda t: t.multinomial(t.zeros(2, 0), 1),
    ],
)
def test_errors_say_what_those_of_pytorch_say(call):
    with pytest.raises(RuntimeError) as wanted:
        call(torch)
    with pytest.raises(RuntimeError) as found:
        call(rushlight)
    assert str(wanted.value) in str(found.value)


@pytest.mark.parametrize(
    ("args", "name"),
    [((2, 2), "input"), ((None, 2), "input"), (([1.0], 1.5), "num_samples"),
     (([1.0], "a"), "num_samples"), (([1.0], None), "num_samples"), (([1.0], 1, 2), "replacement")],
)  # fmt: skip
def test_arguments_of_a_wrong_kind_are_named(args, name):
    args = [rushlight.tensor(value) if isinstance(value, list) else value for value in args]
    with pytest.raises(TypeError, match=rf"multinomial\(\): argument '{name}' must be"):
        rushlight.multinomial(*args)
