"""Models of Lightning AI's registry: `Trainer.fit(model, ckpt_path="registry:name:version:2")`."""

from __future__ import annotations

import importlib
import os
from typing import Any


def is_registry(text: Any) -> bool:
    """Whether a `ckpt_path` names the registry.

    >>> is_registry("registry:digits"), is_registry("registry"), is_registry("my/registry.ckpt")
    (True, True, False)
    """
    return isinstance(text, str) and text.lower().partition(":")[0] == "registry"


def _parsed(ckpt_path: Any) -> tuple[str, str]:
    """Name and version, either of which may be empty: `registry[:name][:version:number]`."""
    if not is_registry(ckpt_path):
        raise ValueError(f"ckpt_path={ckpt_path!r}: expected 'registry' or 'registry:name'")
    words = ckpt_path.split(":")[1:]
    name = "" if not words or words[0].lower() == "version" else words.pop(0)
    named = len(words) == 2 and words[0].lower() == "version"
    return name, words[1] if named else ""


def model_name(ckpt_path: Any, default_model_registry: str | None) -> str:
    """The name of a model in the registry, with its version if one is asked for.

    Raises ValueError where neither the path nor `default_model_registry` names a model.

    >>> model_name("registry:digits:version:2", None)
    'digits:2'
    """
    name, version = _parsed(ckpt_path)
    name = name or default_model_registry or ""
    if not name:
        raise ValueError(f"ckpt_path={ckpt_path!r} names no model; give 'registry:name'")
    return f"{name}:{version}" if version else name


def _folder(name: str, default_root_dir: Any) -> str:
    return os.path.join(default_root_dir, name.replace("/", "_").replace(":", "_"))


def find_model_local_ckpt_path(
    ckpt_path: Any, default_model_registry: str | None, default_root_dir: Any
) -> str:
    """The checkpoint of a downloaded model.

    Args:
        ckpt_path: "registry", "registry:name" or "registry:name:version:number".
        default_model_registry: the model that is meant where the path names none.
        default_root_dir: the folder that holds the folders of models.

    Raises ValueError for other paths, RuntimeError where the model's folder has no checkpoint.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     os.mkdir(os.path.join(folder, "digits_2"))
    ...     open(os.path.join(folder, "digits_2", "best.ckpt"), "w").close()
    ...     found = find_model_local_ckpt_path("registry:digits:version:2", None, folder)
    >>> os.path.basename(found)
    'best.ckpt'
    """
    name = model_name(ckpt_path, default_model_registry)
    folder = _folder(name, default_root_dir)
    found = sorted(each for each in os.listdir(folder) if each.endswith(".ckpt"))
    if not found:
        raise RuntimeError(f"the model {name} has no checkpoint in {folder}")
    return os.path.join(folder, found[0])


def download_model_from_registry(ckpt_path: Any, trainer: Any) -> None:
    """Download a model with `litmodels`, in the first process of each machine; all wait for it.

    Args:
        ckpt_path: as for `find_model_local_ckpt_path`.
        trainer: whose `default_root_dir` holds the model's folder afterwards.

    Raises ImportError without the package litmodels, RuntimeError where nothing was downloaded.
    """
    if trainer.local_rank == 0:
        try:
            client = importlib.import_module("litmodels")
        except ModuleNotFoundError as error:
            raise ImportError(
                f"ckpt_path={ckpt_path!r} needs litmodels: pip install litmodels"
            ) from error
        name = model_name(ckpt_path, None)
        target = _folder(name, trainer.default_root_dir)
        if not client.download_model(name, download_dir=target):
            raise RuntimeError(f"ckpt_path={ckpt_path!r}: nothing was downloaded")
    trainer.strategy.barrier("download_model_from_registry")
