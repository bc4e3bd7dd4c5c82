"""Names of the classes that published models tell apart."""

from __future__ import annotations

import json
from pathlib import Path

PUBLISHED = Path(__file__).parent / "published"

CATEGORIES: dict[str, list[str]] = json.loads(
    (PUBLISHED / "categories.json").read_text(encoding="utf-8")
)
_IMAGENET_CATEGORIES = CATEGORIES["ImageNet-1K"]
_COCO_CATEGORIES = CATEGORIES["COCO"]
_COCO_PERSON_CATEGORIES = CATEGORIES["COCO persons"]
_VOC_CATEGORIES = CATEGORIES["VOC"]
_KINETICS400_CATEGORIES = CATEGORIES["Kinetics-400"]
