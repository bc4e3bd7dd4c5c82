"""The examples of docstrings run."""

import doctest
import importlib
import pkgutil

import pytest

import rushlight as rl
from rushlight_audio import analysis, compliance, functional, streaming, transforms

MODULES = [
    f"{package.__name__}.{module.name}"
    for package in (analysis, compliance, functional, streaming, transforms)
    for module in pkgutil.iter_modules(package.__path__)
]


@pytest.mark.filterwarnings("ignore:melscale_fbanks")
@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module, extraglobs={"rl": rl}).failed == 0
