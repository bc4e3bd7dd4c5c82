"""Hyper-parameters in files of their own: YAML and CSV."""

from __future__ import annotations

import ast
import csv
import json
import os
from argparse import Namespace
from pathlib import Path
from typing import Any

from lightning_lite.configuration import as_dictionary, plain_form

__all__ = [
    "convert",
    "load_hparams_from_tags_csv",
    "load_hparams_from_yaml",
    "save_hparams_to_tags_csv",
    "save_hparams_to_yaml",
    "update_hparams",
]


def convert(value: str) -> Any:
    """A word of a file as the Python value that it spells; the word itself if it spells none.

    >>> convert("0.5"), convert("adam")
    (0.5, 'adam')
    """
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value


def update_hparams(hparams: dict[str, Any], updates: dict[str, Any]) -> None:
    """Put values into nested dictionaries, in place; what `updates` does not name stays."""
    for name, value in updates.items():
        if isinstance(value, dict) and isinstance(hparams.get(name), dict):
            update_hparams(hparams[name], value)
        else:
            hparams[name] = value


def _yaml() -> Any:
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "this YAML file needs PyYAML: pip install rushlight-lightning-lite[cli]"
        ) from error
    return yaml


def load_hparams_from_yaml(config_yaml: Any, use_omegaconf: bool = True) -> dict[str, Any]:
    """The hyper-parameters of a YAML file; empty where there is no file.

    What CSVLogger and `save_hparams_to_yaml` write needs no library; other files need PyYAML.
    """
    path = Path(config_yaml)
    if not path.is_file():
        return {}
    text = path.read_text(encoding="utf-8")
    try:
        return dict(json.loads(text))
    except ValueError:
        return dict(_yaml().safe_load(text) or {})


def save_hparams_to_yaml(config_yaml: Any, hparams: Any, use_omegaconf: bool = True) -> None:
    """Write hyper-parameters as JSON, which is YAML too.

    Raises NotADirectoryError where the folder does not exist, TypeError for what is no mapping,
    namespace or dataclass.
    """
    path = Path(config_yaml)
    if not path.parent.is_dir():
        raise NotADirectoryError(f"save_hparams_to_yaml: there is no folder {path.parent}")
    found = as_dictionary(hparams)
    if found is None:
        raise TypeError(f"save_hparams_to_yaml: {type(hparams).__name__}; expected a mapping")
    text = json.dumps(plain_form(found), indent=2, default=str, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def save_hparams_to_tags_csv(tags_csv: Any, hparams: dict[str, Any] | Namespace) -> None:
    """Write hyper-parameters as rows `key,value`. NotADirectoryError without the folder."""
    if not os.path.isdir(os.path.dirname(os.fspath(tags_csv)) or "."):
        raise NotADirectoryError(f"save_hparams_to_tags_csv: no folder for {tags_csv}")
    with open(tags_csv, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["key", "value"])
        writer.writerows((as_dictionary(hparams) or {}).items())


def load_hparams_from_tags_csv(tags_csv: Any) -> dict[str, Any]:
    """Hyper-parameters from rows `key,value`; empty where there is no file."""
    if not os.path.isfile(tags_csv):
        return {}
    with open(tags_csv, newline="", encoding="utf-8") as file:
        return {row["key"]: convert(row["value"]) for row in csv.DictReader(file)}
