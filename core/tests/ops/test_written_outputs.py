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
