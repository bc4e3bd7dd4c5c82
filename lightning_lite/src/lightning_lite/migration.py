"""Checkpoints of other versions: one that real Lightning wrote is read as one of ours."""

from __future__ import annotations

import argparse
import sys
import threading
from types import ModuleType
from typing import Any

from lightning_lite import checkpoint as files
from lightning_lite.messages import info
from lightning_lite.utilities import enums


def migrate_checkpoint(
    checkpoint: dict[str, Any], target_version: str | None = None
) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """A checkpoint in this version's form, and which steps were needed: none so far."""
    return checkpoint, {}


# Where Lightning before 1.2.8 pickled functions from that are gone.
LEGACY_MODULES = [
    f"{root}.utilities.{name}"
    for root in ("lightning.pytorch", "pytorch_lightning")
    for name in ("argparse_utils", "argparse")
]
_LOCK = threading.RLock()


class _FaultTolerantMode(enums.LightningEnum):
    """A mode that Lightning 1 pickled into checkpoints."""

    DISABLED = "disabled"
    AUTOMATIC = "automatic"
    MANUAL = "manual"


def _gpus_arg_default(x: Any) -> Any:
    return x


class pl_legacy_patch:  # noqa: N801 - Lightning's name
    """While it is entered, pickles of Lightning 1 find functions and enumerations that are gone:
    `utilities.argparse_utils._gpus_arg_default` and `utilities.enums._FaultTolerantMode`.

    For files that one trusts, read with `weights_only=False` where Lightning's names are found
    (`rushlight.compat.install()`, `rushlight run`). Readers of tensors and plain values alone do
    not need it.

    >>> with pl_legacy_patch():
    ...     "pytorch_lightning.utilities.argparse_utils" in __import__("sys").modules
    True
    """

    def __enter__(self) -> pl_legacy_patch:
        _LOCK.acquire()
        self._before = {name: sys.modules.get(name) for name in LEGACY_MODULES}
        for name, there in self._before.items():
            if there is None:
                made: Any = ModuleType(name)
                made._gpus_arg_default = _gpus_arg_default
                sys.modules[name] = made
        self._mode = vars(enums).get("_FaultTolerantMode")
        vars(enums)["_FaultTolerantMode"] = _FaultTolerantMode
        return self

    def __exit__(self, *error: Any) -> None:
        for name, there in self._before.items():
            if there is None:
                sys.modules.pop(name, None)
        if self._mode is None:
            vars(enums).pop("_FaultTolerantMode")
        _LOCK.release()


def main(arguments: list[str] | None = None) -> None:
    """Rewrite a checkpoint in this version's form: `python -m lightning_lite.migration FILE`."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("path", help="a checkpoint file")
    parser.add_argument("--map-to-cpu", action="store_true", help="read tensors onto the CPU")
    path = parser.parse_args(arguments).path
    migrated, _ = migrate_checkpoint(files.read(path, "cpu"))
    files.write(migrated, path)
    info(f"{path} is in this version's form")


if __name__ == "__main__":
    main()
