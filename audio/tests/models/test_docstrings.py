"""The examples in docstrings of networks run."""

import doctest
import importlib
import pkgutil

import pytest

from rushlight_audio import models

MODULES = [
    found.name for found in pkgutil.walk_packages(models.__path__, "rushlight_audio.models.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
