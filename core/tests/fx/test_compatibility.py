"""The decorator that programs for torch.fx use, beside PyTorch's."""

import importlib

import pytest

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("stays", [True, False])
@pytest.mark.parametrize("text", ["doc", "Several lines.\n\n    Indented: yes.\n    ", None])
def test_docstrings_are_pytorchs(stays, text):
    found = []
    for library in ("rushlight", "torch"):

        def function():
            return 3

        function.__doc__ = text
        module = importlib.import_module(f"{library}.fx._compatibility")
        assert module.compatibility(is_backward_compatible=stays)(function) is function
        assert function() == 3
        found.append(function.__doc__)
    assert found[0] == found[1]
