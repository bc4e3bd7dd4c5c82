"""``out=``: resized within its storage, and refused where it shares elements with an argument."""

import pytest

import rushlight


def test_an_output_grows_within_its_storage():
    base = rushlight.arange(10.0)
    out = base[2:4]
    with pytest.warns(UserWarning, match="was resized"):
        rushlight.sum(rushlight.ones(3, 2), 1, out=out)
    assert out.tolist() == [2.0, 2.0, 2.0]
    assert base.tolist() == [0.0, 1.0, 2.0, 2.0, 2.0, 5.0, 6.0, 7.0, 8.0, 9.0]


def test_an_empty_output_grows_without_a_warning():
    out = rushlight.empty(0)
    assert rushlight.cat([rushlight.ones(2), rushlight.zeros(1)], out=out) is out
    assert out.tolist() == [1.0, 1.0, 0.0]


def test_an_output_that_is_an_argument_too_is_refused_where_it_grows():
    empty = rushlight.zeros(0)
    with pytest.raises(RuntimeError, match="single memory location"):
        rushlight.cat([empty, rushlight.ones(2, 3)], out=empty)
    one = rushlight.ones(1)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        rushlight.add(one, rushlight.ones(3), out=one)
    assert one.tolist() == [1.0]


@pytest.mark.filterwarnings("ignore:gather. an output")
def test_an_output_that_grows_over_the_index_is_refused():
    index = rushlight.tensor([2, 1, 0])
    with pytest.raises(RuntimeError, match="single memory location"):
        rushlight.gather(index.clone(), 0, index[1:], out=index[:1])


def test_arange_takes_the_dtype_of_its_output():
    out = rushlight.empty(0, dtype=rushlight.int32)
    assert rushlight.arange(0.0, 4, 1.5, out=out).tolist() == [0, 1, 2]  # whole steps
    out = rushlight.empty(0, dtype=rushlight.int64)
    with pytest.raises(ValueError, match="step must be nonzero"):
        rushlight.arange(0, 64, 0.5, out=out)


@pytest.mark.parametrize(
    "shapes",
    [((3,), (3,), (2,)), ((3,), (1,), (3,)), ((3,), (1,), (1,)), ((2, 3), (3,), (3,)),
     ((2, 3), (3,), (2, 3)), ((2, 3), (2, 3), (3, 2)), ((0,), (0,), (0,)), ((4,), (4,), (0,)),
     ((40, 50), (40, 50), (40, 50))],
    ids=str,
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*was resized")
def test_computed_into_outputs_of_any_shape(shapes):
    rushlight.ones(3).add_(rushlight.ones(3))  # compiles what writes in place
    for _ in range(3):  # in general, then as layouts that were met
        a, b = (rushlight.randn(shape) for shape in shapes[:2])
        out = rushlight.full(shapes[2], 7.0)
        assert rushlight.add(a, b, out=out) is out
        assert rushlight.equal(out, a + b) and out.shape == (a + b).shape


def test_computed_into_strided_and_shared_outputs():
    ones = rushlight.ones(5)
    ones.clone().add_(ones)
    memory = rushlight.zeros(10)
    turned = rushlight.zeros(3, 2).t()
    for _ in range(3):
        rushlight.add(ones, ones, out=memory[::2])
        assert memory.tolist() == [2.0, 0.0] * 5
        a, b = rushlight.randn(2, 3), rushlight.randn(2, 3)
        version = turned._version
        assert rushlight.equal(rushlight.add(a, b, out=turned), a + b)
        assert turned._version == version + 1
        with pytest.raises(RuntimeError, match="single memory location"):
            rushlight.add(memory[:5], ones, out=memory[1:6])
        same = ones.clone()
        assert rushlight.add(same, ones, out=same).tolist() == [2.0] * 5
    with pytest.raises(RuntimeError, match="requires grad"):
        rushlight.add(ones, ones, out=rushlight.zeros(5, requires_grad=True))
    with pytest.raises(RuntimeError, match="can't be cast"):
        rushlight.add(ones, ones, out=rushlight.zeros(5, dtype=rushlight.int64))
