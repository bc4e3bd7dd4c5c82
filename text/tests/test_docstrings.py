"""Every example in a docstring runs and shows what it says."""

import doctest
import importlib
import pkgutil

import pytest

import rushlight as rl
import rushlight_text

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(rushlight_text.__path__, "rushlight_text.")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    found = doctest.testmod(module, extraglobs={"rl": rl, "rushlight": rl})
    assert found.failed == 0
