"""The names of the package itself."""

from __future__ import annotations

import functools
import importlib
import json
import warnings
from pathlib import Path

import pytest

import rushlight as rl
import rushlight_vision

# Of torchvision 0.24.1, by namespace, and with their modules those that public programs use.
NAMES = json.loads(Path(__file__).with_name("names.json").read_text(encoding="utf-8"))


def test_backends():
    rushlight_vision.set_image_backend("PIL")
    rushlight_vision.set_video_backend("pyav")
    assert rushlight_vision.get_image_backend() == "PIL"
    assert rushlight_vision.get_video_backend() == "pyav"
    with pytest.raises(ValueError, match="Invalid backend 'x'. Options are 'PIL' and 'accimage'"):
        rushlight_vision.set_image_backend("x")
    with pytest.raises(ValueError, match="Invalid video backend 'x'. Options are 'pyav', 'video"):
        rushlight_vision.set_video_backend("x")
    with pytest.raises(NotImplementedError, match='"accimage" is not available; use "PIL"'):
        rushlight_vision.set_image_backend("accimage")
    for backend in ("video_reader", "cuda"):  # torchvision's RuntimeError is its base
        with pytest.raises(RuntimeError, match=f'"{backend}" is not available; use "pyav"'):
            rushlight_vision.set_video_backend(backend)
    assert rushlight_vision.get_image_backend() == "PIL"


def test_version():
    assert rushlight_vision.version.__version__ == rushlight_vision.__version__
    assert rushlight_vision.version.cuda is None
    assert isinstance(rushlight_vision.version.git_version, str)


def test_no_warning_of_beta_transforms():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rushlight_vision.disable_beta_transforms_warning()
        for name in ("transforms.v2", "tv_tensors"):
            assert importlib.import_module(f"rushlight_vision.{name}")


def test_all_names_are_there():
    assert "training" in dir(rushlight_vision) and "training" not in rushlight_vision.__all__
    for name in rushlight_vision.__all__:
        assert getattr(rushlight_vision, name) is not None and name in dir(rushlight_vision)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        rushlight_vision.nothing  # noqa: B018


@pytest.mark.parametrize("space", NAMES["documented"])
def test_documented_names(space):
    home = importlib.import_module(f"rushlight_vision.{space}".rstrip("."))
    missing = [name for name in NAMES["documented"][space].split() if not hasattr(home, name)]
    assert missing == []


def test_there_are_772_documented_names():
    assert sum(len(names.split()) for names in NAMES["documented"].values()) == 772


def found(path):
    """What `from MODULE import NAME` gives, or an attribute of that."""
    parts = f"rushlight_vision.{path}".split(".")
    for number in range(len(parts), 0, -1):
        try:
            home = importlib.import_module(".".join(parts[:number]))
        except ModuleNotFoundError:
            continue
        return functools.reduce(getattr, parts[number:], home)
    raise AssertionError(path)


@pytest.mark.parametrize("path", NAMES["used"].split())
def test_names_that_programs_use(path):
    assert found(path) is not None


def test_tracing_is_told():
    seen = []

    def asked(x):
        seen.append(rushlight_vision._is_tracing())
        return x + 1

    asked(rl.ones(1))
    rl.jit.trace(asked, (rl.ones(1),), check_trace=False)
    assert seen[:2] == [False, True]
