"""Arguments of export and of its files that are refused instead of ignored."""

import io

import pytest

import rushlight
from rushlight import nn


@pytest.mark.parametrize("name, value, advice", [
    ("prefer_deferred_runtime_asserts_over_guards", True, "declare the ranges of sizes by Dim"),
])  # fmt: skip
def test_arguments_of_export(name, value, advice):
    net, x = nn.Sequential(nn.Linear(2, 2)), rushlight.ones(1, 2)
    with pytest.raises(NotImplementedError, match=f"{name} is not available; .*{advice}"):
        rushlight.export.export(net, (x,), **{name: value})
    nothing = {name: type(value)()}
    rushlight.testing.assert_close(
        rushlight.export.export(net, (x,), **nothing).module()(x), net(x)
    )


@pytest.mark.parametrize("wrong", [2.5, "2"])
def test_pickle_protocols_that_are_no_integers(wrong):
    """TypeError, as in PyTorch; where there is nothing to pickle, too."""
    program = rushlight.export.export(nn.Linear(2, 2), (rushlight.ones(1, 2),))
    without = rushlight.export.export(nn.Linear(2, 2), (rushlight.ones(1, 2),))
    without.example_inputs = None
    for save in (
        lambda file: rushlight.export.save(program, file, pickle_protocol=wrong),
        lambda file: rushlight.export.save(without, file, pickle_protocol=wrong),
        lambda file: rushlight.save({"a": 1}, file, pickle_protocol=wrong),
    ):
        file = io.BytesIO()
        with pytest.raises(TypeError, match="'pickle_protocol' must be an int, not"):
            save(file)
        assert file.getvalue() == b""


def test_pickle_protocols_that_are_integers():
    for protocol in (None, True, 2, 5):
        file = io.BytesIO()
        rushlight.save({"a": 1}, file, pickle_protocol=protocol)
        assert rushlight.load(io.BytesIO(file.getvalue())) == {"a": 1}
