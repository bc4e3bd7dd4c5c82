"""Doors: the generated short way gives what the general way gives, and declines what it must."""

import pytest

import rushlight
from rushlight.ops._calls.array_calls import make_door
from rushlight.ops._table.op import TABLE

_X = rushlight.arange(12.0).reshape(3, 4)


def _door(name, form):
    door = make_door(TABLE[name], form)
    assert door is not None
    return door


def test_a_door_gives_what_the_general_way_gives():
    assert rushlight.equal(
        _door("sum", (1, "dim", "keepdim"))(_X, dim=1, keepdim=True), _X.sum(1, True)
    )
    assert rushlight.equal(_door("sum", (1, "axis"))(_X, axis=0), _X.sum(0))
    values, indices = _door("sort", 2)(_X, 1)
    assert rushlight.equal(values, _X) and rushlight.equal(indices[0], rushlight.arange(4))
    assert type(_X.sort(1)) is type(_door("sort", 2)(_X, 1))


@pytest.mark.parametrize(
    "argument", ["text", 3, None, _X.to("meta"), rushlight.ones(2, dtype=rushlight.int64)]
)
def test_a_door_declines_what_it_cannot_take(argument):
    assert _door("_log_softmax" if "_log_softmax" in TABLE else "log_softmax", 2)(argument, 0) is (
        NotImplemented
    )


def test_a_door_declines_subclasses_and_tensors_among_attributes():
    class Mine(rushlight.Tensor):
        pass

    door = _door("sum", 2)
    assert door(_X.as_subclass(Mine), 0) is NotImplemented
    assert door(_X, rushlight.tensor(0)) is NotImplemented
    assert door(_X, (rushlight.tensor(0),)) is NotImplemented


def test_a_door_records_and_views_share():
    x = _X.clone().requires_grad_()
    doubled = x * 2
    found = _door("transpose", 3)(doubled, 0, 1)
    assert found._base is doubled and found.grad_fn.name() == "TransposeBackward0"
    found.sum().backward()
    assert rushlight.equal(x.grad, rushlight.full((3, 4), 2.0))
    with rushlight.no_grad():
        assert not _door("sum", 1)(x).requires_grad
    with rushlight.inference_mode():
        assert _door("sum", 1)(x).is_inference()


def test_sizes_come_as_numbers_or_as_one_sequence():
    door = _door("expand", 2)
    assert door(rushlight.ones(1), (3,)).shape == (3,)
    assert door(rushlight.ones(1), 3).shape == (3,)
    assert rushlight.ones(1).expand(2, 3).shape == (2, 3)


def test_keywords_that_the_op_lacks_have_no_door():
    assert make_door(TABLE["sum"], (1, "colour")) is None
    assert make_door(TABLE["sum"], 9) is None
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        rushlight.sum(_X, colour=1)


def test_a_subclass_given_by_keyword_alone_is_asked():
    class Loud(rushlight.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return "asked"

    assert rushlight.sum(input=_X.as_subclass(Loud)) == "asked"


def test_integer_divisors_are_looked_at_every_time():
    x = rushlight.tensor([7, 8, 9])
    for call in (rushlight.fmod, rushlight.remainder, rushlight.floor_divide):
        for _ in range(3):
            call(x, rushlight.tensor([1, 2, 3]))
            call(x, 2)
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            call(x, rushlight.tensor([1, 0, 3]))
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            call(x, 0)
