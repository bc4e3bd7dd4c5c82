"""Checkpoints of other versions: one that real Lightning wrote is read as one of ours."""

from __future__ import annotations

import argparse
from typing import Any

from lightning_lite import checkpoint as files
from lightning_lite.messages import info


def migrate_checkpoint(
    checkpoint: dict[str, Any], target_version: str | None = None
) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """A checkpoint in this version's form, and which steps were needed: none so far."""
    return checkpoint, {}


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
