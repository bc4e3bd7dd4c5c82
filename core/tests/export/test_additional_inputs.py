"""Sizes that may differ, found by further arguments; see PyTorch's AdditionalInputs."""

import subprocess
import sys

import pytest

import rushlight
from rushlight import nn
from rushlight.export.dynamic_shapes import AdditionalInputs, Dim


class Sum(nn.Module):
    """A program of two arguments."""

    def forward(self, x, y):
        return x * 2 + y.sum()


def test_sizes_that_differ_are_free():
    further = AdditionalInputs()
    further.add((rushlight.ones(5, 2),), {"y": rushlight.ones(4)})
    given = rushlight.ones(3, 2), rushlight.ones(4)
    assert further.dynamic_shapes(Sum(), given) == {"x": (Dim.DYNAMIC, None), "y": (None,)}
    program = rushlight.export.export(Sum(), given, dynamic_shapes=further)
    x = rushlight.randn(7, 2)
    rushlight.testing.assert_close(program.module()(x, given[1]), Sum()(x, given[1]))
    further.verify(program)
    further.add((rushlight.ones(3, 9), rushlight.ones(4)))
    with pytest.raises(AssertionError, match="must have the shape"):
        further.verify(program)


def test_what_cannot_differ():
    for other in ((rushlight.ones(3, 2), 3), (rushlight.ones(3), rushlight.ones(4))):
        further = AdditionalInputs()
        further.add(other)
        with pytest.raises(ValueError, match="AdditionalInputs: "):
            further.dynamic_shapes(Sum(), (rushlight.ones(3, 2), rushlight.ones(4)))
    with pytest.raises(AssertionError, match="args must be a tuple, got list"):
        AdditionalInputs().add([])


def test_the_module_is_an_attribute_of_export():
    """In a process of its own: this file's import sets the attribute as well."""
    program = "import rushlight; print(rushlight.export.dynamic_shapes.AdditionalInputs.__module__)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.stdout.strip() == AdditionalInputs.__module__, found.stderr
