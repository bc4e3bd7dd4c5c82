"""Models from folders that describe them in a ``hubconf.py``, and checkpoints by address."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from urllib.parse import urlparse  # noqa: F401 - timm takes it from here

from rushlight.utils.download import (
    download_url_to_file,
    get_dir,
    load_state_dict_from_url,
    set_dir,
    torch_home,
)

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

_get_torch_home = torch_home
# The start of a file's SHA-256 in its name, such as `resnet18-f37072fd.pth`.
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_CONFIGURATION = "hubconf.py"


def __getattr__(name):
    """``tqdm``, which programs take from here: the package's, loaded when it is asked for."""
    if name != "tqdm":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return importlib.import_module("tqdm").tqdm
    except ModuleNotFoundError:
        raise AttributeError(
            f"module {__name__!r} has no attribute 'tqdm': the package is not installed; "
            "`pip install tqdm`"
        ) from None


def _entries(repository, source):
    """The module made from a folder's ``hubconf.py``."""
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        raise NotImplementedError(
            f"hub: fetching the repository {repository} is not available, because its code would "
            "run unseen; clone it, read it, and pass the folder with source='local'"
        )
    folder = os.path.expanduser(repository)
    path = os.path.join(folder, _CONFIGURATION)
    if not os.path.isfile(path):
        raise FileNotFoundError(f"hub: {folder} has no {_CONFIGURATION}")
    sys.path.insert(0, folder)
    try:
        spec = importlib.util.spec_from_file_location("hubconf", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    missing = [
        name
        for name in getattr(module, "dependencies", ())
        if importlib.util.find_spec("rushlight" if name == "torch" else name) is None
    ]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def _entry(repository, source, model):
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    function = getattr(_entries(repository, source), model, None)
    if not callable(function):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return function


def load(
    repo_or_dir,
    model,
    *args,
    source="github",
    trust_repo="check",
    force_reload=False,
    verbose=True,
    skip_validation=False,
    **kwargs,
):
    """``model(*args, **kwargs)`` of a folder's ``hubconf.py``, with ``source="local"``.

    ``source="github"`` refuses: it would run code nobody looked at. The other arguments are about
    such repositories.
    """
    return _entry(repo_or_dir, source, model)(*args, **kwargs)


def list(  # noqa: A001 - PyTorch's name
    github, force_reload=False, skip_validation=False, trust_repo="check", verbose=True,
    source="github",
):  # fmt: skip
    """The names of the models that a folder's ``hubconf.py`` defines."""
    module = _entries(github, source)
    return [n for n in dir(module) if callable(getattr(module, n)) and not n.startswith("_")]


def help(  # noqa: A001 - PyTorch's name
    github, model, force_reload=False, skip_validation=False, trust_repo="check",
    source="github",
):  # fmt: skip
    """The docstring of a model of a folder's ``hubconf.py``."""
    return _entry(github, source, model).__doc__
