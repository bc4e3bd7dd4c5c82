"""Arguments of a wrong kind to functions that make tensors: PyTorch's error types, and messages
that name the argument."""

import numpy as np
import pytest
import torch

import rushlight

# By function: arguments that work, then keywords that work.
MAKERS = {
    "arange": ([0, 3, 1], {"dtype"}),
    "empty": ([(2,)], {"dtype"}),
    "eye": ([2], {"dtype"}),
    "full": ([(2,), 1.0], {"dtype"}),
    "linspace": ([0.0, 1.0, 3], {"dtype"}),
    "logspace": ([0.0, 1.0, 3], {"dtype"}),
    "normal": ([0.0, 1.0, (2,)], {"dtype", "generator"}),
    "ones": ([(2,)], {"dtype"}),
    "rand": ([(2,)], {"dtype", "generator"}),
    "randint": ([0, 3, (2,)], {"dtype", "generator"}),
    "randn": ([(2,)], {"dtype", "generator"}),
    "randperm": ([3], {"dtype", "generator"}),
    "zeros": ([(2,)], {"dtype"}),
}
ALIKE = ("empty_like", "full_like", "ones_like", "rand_like", "randn_like", "zeros_like")
WRONG = ("a", None, {}, [[1], [2]])
CASES = [
    (name, position, wrong)
    for name, (arguments, _) in MAKERS.items()
    for position in range(len(arguments))
    for wrong in WRONG
    # what PyTorch takes for another form of the call
    if not (wrong is None and name in ("arange", "randint", "normal"))
]


def error_of(library, name, arguments, keywords):
    """The error of a call, or None."""
    try:
        getattr(library, name)(*arguments, **keywords)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize(("name", "position", "wrong"), CASES)
def test_argument_of_a_wrong_kind(name, position, wrong):
    arguments = list(MAKERS[name][0])
    arguments[position] = wrong
    expected = error_of(torch, name, arguments, {})
    found = error_of(rushlight, name, arguments, {})
    assert type(found) is type(expected), found
    if found is not None:
        assert (
            "argument" in str(found) and type(wrong).__name__ in str(found) or "int" in str(found)
        )


@pytest.mark.parametrize("wrong", ["float32", 3, 1.5, np.dtype("float32"), str])
@pytest.mark.parametrize("name", sorted(MAKERS))
def test_dtype_of_a_wrong_kind(name, wrong):
    with pytest.raises(TypeError, match="argument 'dtype' must be a dtype such as"):
        getattr(rushlight, name)(*MAKERS[name][0], dtype=wrong)
    with pytest.raises(TypeError):
        getattr(torch, name)(*MAKERS[name][0], dtype=wrong)


@pytest.mark.parametrize("name", [n for n in MAKERS if "generator" in MAKERS[n][1]])
def test_generator_of_a_wrong_kind(name):
    with pytest.raises(TypeError, match="argument 'generator' must be Generator, not int"):
        getattr(rushlight, name)(*MAKERS[name][0], generator=3)


@pytest.mark.parametrize("name", ALIKE)
def test_input_of_a_wrong_kind(name):
    rest = (1,) if name == "full_like" else ()
    for wrong in (3, [1.0]):
        assert type(error_of(torch, name, (wrong, *rest), {})) is TypeError
        found = error_of(rushlight, name, (wrong, *rest), {})
        assert type(found) is TypeError
        assert f"argument 'input' must be Tensor, not {type(wrong).__name__}" in str(found)


@pytest.mark.parametrize("data", [None, {}, {"a": 1}, {1}, object(), len, [None], "a", ["a"]])
@pytest.mark.parametrize("name", ["tensor", "as_tensor"])
def test_data_of_a_wrong_kind(name, data):
    expected = error_of(torch, name, (data,), {})
    found = error_of(rushlight, name, (data,), {})
    assert type(found) is type(expected), found
    assert str(found) == str(expected)


@pytest.mark.parametrize("wrong", ["float32", 3, 1.5, ["float"]])
def test_dtype_of_an_op_of_a_wrong_kind(wrong):
    x = rushlight.ones(2)
    for call in (x.sum, x.cumsum, x.softmax, rushlight.nn.functional.log_softmax):
        arguments = () if call == x.sum else (x, 0) if call.__name__ == "log_softmax" else (0,)
        for _ in range(3):  # calls of this form are known from now on
            assert call(*arguments, dtype=rushlight.float64).dtype is rushlight.float64
            assert call(*arguments, dtype=float).dtype is rushlight.float64
        with pytest.raises(TypeError, match="argument 'dtype' must be a dtype"):
            call(*arguments, dtype=wrong)


def test_other_words():
    with pytest.raises(ValueError, match="invalid type: 'foo'"):
        rushlight.ones(2).type("foo")
    with pytest.raises(RuntimeError, match="positive integer"):
        rushlight.set_num_threads(0)
    for order in ("x", "2"):
        with pytest.raises(RuntimeError, match="not supported"):
            rushlight.ones(2, 2).norm(order)
    with pytest.raises(
        TypeError, match=r"full\(\): argument 'fill_value' must be Number, not None"
    ):
        rushlight.full((2,), None)
    with pytest.raises(TypeError, match="argument 'fill_value' must be Number, not list"):
        rushlight.ones(2).new_full((2,), [1])


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("new_full", ()), ("new_full", ((2,),)), ("new_full", ("a", 2)), ("new_full", ((2,), "a")),
     ("new_full", ((2,), None)), ("new_full", ((2.5,), 1)), ("new_full", ((2,), 1, 3)),
     ("new_zeros", ("a",)), ("new_ones", ()), ("new_empty", (2.5,)), ("new_tensor", ())],
)  # fmt: skip
def test_methods_that_make_tensors_name_themselves(name, arguments):
    with pytest.raises(TypeError, match=rf"^{name}\(\)"):
        getattr(torch.ones(2), name)(*arguments)
    with pytest.raises(TypeError, match=rf"^{name}\(\)"):
        getattr(rushlight.ones(2), name)(*arguments)
