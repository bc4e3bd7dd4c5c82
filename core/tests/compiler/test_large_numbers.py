"""Numbers too large for a float64, before others in calls of the same kind."""

import pytest

import rushlight


def layouts(dtype):
    """More layouts than machine code remembers."""
    for count in range(2, 14):
        yield rushlight.ones(1, dtype=dtype).expand(count)
        yield rushlight.ones(3 * count, dtype=dtype)[::3]
        yield rushlight.ones(count, 3, 2, dtype=dtype).transpose(0, 2)


@pytest.mark.parametrize("name", ["gt", "add", "mul", "eq", "sub", "div", "pow"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_small_numbers_after_large_ones(name, dtype):
    function, dtype = getattr(rushlight, name), getattr(rushlight, dtype)
    function(rushlight.ones(3, dtype=rushlight.float16), 2)  # the way for two arguments is made
    for x in layouts(dtype):
        function(x, (1 << 60) + 1)
    for x in layouts(dtype):
        assert function(x, 2).tolist() == function(x, 2.0).tolist()
