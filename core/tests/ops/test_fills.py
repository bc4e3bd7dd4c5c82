"""Numbers to fill integers with: what fits, what wraps, what is refused."""

import pytest

import rushlight

X = rushlight.ones(3, dtype=rushlight.uint8)
MASK = rushlight.tensor([True, False, True])
FIRST = rushlight.tensor([0])


@pytest.mark.parametrize(("value", "held"), [(-1, 255), (-255, 1), (2.7, 2), (255, 255), (True, 1)])
def test_numbers_that_fit_or_wrap(value, held):
    assert X.masked_fill(MASK, value).tolist() == [held, 1, held]
    assert X.index_fill(0, FIRST, value).tolist() == [held, 1, 1]
    assert X.clone().masked_fill_(MASK, value).tolist() == [held, 1, held]


@pytest.mark.parametrize("value", [-256, 256, -1.5, 300.0, float("nan")])
def test_numbers_that_do_not_fit_are_refused(value):
    for call in (lambda: X.masked_fill(MASK, value), lambda: X.index_fill(0, FIRST, value)):
        with pytest.raises(RuntimeError, match="cannot be converted to type .*uint8.* overflow"):
            call()
    with pytest.raises(RuntimeError, match="without overflow"):
        X.to(rushlight.int8).masked_fill(MASK, 127.9)
