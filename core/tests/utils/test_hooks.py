"""`rushlight.utils.hooks`: hooks that saving would drop."""

import warnings

import pytest

import rushlight
from rushlight.utils.hooks import unserializable_hook, warn_if_has_hooks


def test_hooks_are_warned_about_unless_they_are_marked():
    x = rushlight.ones(2, requires_grad=True)
    x.register_hook(unserializable_hook(lambda grad: None))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_has_hooks(x)
    x.register_hook(lambda grad: None)
    with pytest.warns(UserWarning, match="will not be serialized"):
        warn_if_has_hooks(x)
