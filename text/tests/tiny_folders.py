"""The recorded tiny models as folders."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from rushlight.serialization import safetensors


def parts(recorded: Path) -> tuple[dict, dict]:
    """Configurations, and tensors by model and name."""
    tensors = safetensors.load(
        gzip.decompress((recorded / "tiny_models.safetensors.gz").read_bytes())
    )
    configs = json.loads((recorded / "tiny_models.json").read_text())
    found: dict = {name: {} for name in configs}
    for key, value in tensors.items():
        name, _, rest = key.partition("/")
        found[name][rest] = value
    return configs, found


def write(folder: Path, config: dict, weights) -> Path:
    """Write a model's two files."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(bytes(weights.tolist()))
    return folder
