"""Names of the classes that published models tell apart."""

from __future__ import annotations

import json
from pathlib import Path

PUBLISHED = Path(__file__).parent / "published"

_IMAGENET_CATEGORIES: list[str] = json.loads(
    (PUBLISHED / "categories.json").read_text(encoding="utf-8")
)["ImageNet-1K"]
