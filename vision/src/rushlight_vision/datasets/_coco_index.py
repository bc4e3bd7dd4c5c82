"""The annotations of COCO's format, found by image, category and number."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rushlight_vision.datasets.integrity import Location


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]


def _is_id(value: Any) -> bool:
    """Whether a value of JSON can find a record."""
    return isinstance(value, (int, float, str))


class CocoIndex:
    """What a file of annotations holds, under the names of pycocotools' ``COCO``.

    `dataset` is the file's content; `anns`, `imgs` and `cats` find records by number, `imgToAnns`
    the annotations of an image, `catToImgs` the images of a category. Left-out filters let all
    through.

    Raises ValueError with the path and the record if the file is not in COCO's format.
    """

    def __init__(self, annotation_file: Location) -> None:
        self._path = Path(annotation_file)
        try:
            self.dataset: dict[str, Any] = json.loads(self._path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{self._path} is no JSON file: {error}") from None
        if not isinstance(self.dataset, dict) or not isinstance(self.dataset.get("images"), list):
            raise ValueError(
                f'{self._path}: expected an object with a list "images" (COCO\'s format)'
            )
        self.imgs = self._by_number("images")
        self.anns = self._by_number("annotations")
        self.cats = self._by_number("categories")
        self.imgToAnns: dict[int, list[Any]] = {}
        self.catToImgs: dict[int, list[int]] = {}
        for annotation in self.anns.values():
            self._add(annotation)

    def _by_number(self, kind: str) -> dict[int, Any]:
        records = self.dataset.get(kind, [])
        if not isinstance(records, list):
            raise ValueError(f'{self._path}: "{kind}" is a {type(records).__name__}, not a list')
        for place, record in enumerate(records):
            if not isinstance(record, dict) or not _is_id(record.get("id")):
                raise ValueError(f'{self._path}: {kind}[{place}] has no "id"')
        return {record["id"]: record for record in records}

    def _add(self, annotation: dict[str, Any]) -> None:
        image = annotation.get("image_id")
        if not _is_id(image) or image not in self.imgs:
            number = annotation["id"]
            raise ValueError(
                f"{self._path}: annotation {number} is of image {image}, which is missing"
            )
        self.imgToAnns.setdefault(image, []).append(annotation)
        if _is_id(annotation.get("category_id")):
            self.catToImgs.setdefault(annotation["category_id"], []).append(image)

    def getAnnIds(  # noqa: N802 - pycocotools' name
        self, imgIds: Any = (), catIds: Any = (), areaRng: Any = (), iscrowd: bool | None = None
    ) -> list[int]:
        """The numbers of annotations of images, categories, a range of areas, crowds or not."""
        images, categories = _several(imgIds), set(_several(catIds))
        found = (
            [annotation for image in images for annotation in self.imgToAnns.get(image, [])]
            if images
            else self.anns.values()
        )
        low, high = areaRng or (float("-inf"), float("inf"))
        return [
            one["id"]
            for one in found
            if (not categories or one.get("category_id") in categories)
            and (not areaRng or low < one["area"] < high)
            and (iscrowd is None or bool(one.get("iscrowd", 0)) == bool(iscrowd))
        ]

    def getCatIds(  # noqa: N802
        self, catNms: Any = (), supNms: Any = (), catIds: Any = ()
    ) -> list[int]:
        """The numbers of categories of some names, groups or numbers."""
        names, groups, numbers = _several(catNms), _several(supNms), _several(catIds)
        return [
            one["id"]
            for one in self.dataset.get("categories", [])
            if (not names or one["name"] in names)
            and (not groups or one.get("supercategory") in groups)
            and (not numbers or one["id"] in numbers)
        ]

    def getImgIds(self, imgIds: Any = (), catIds: Any = ()) -> list[int]:  # noqa: N802
        """The numbers of images, among some, that have all the categories."""
        found = set(_several(imgIds)) or set(self.imgs)
        for category in _several(catIds):
            found &= set(self.catToImgs.get(category, []))
        return list(found)

    def loadAnns(self, ids: Any = ()) -> list[Any]:  # noqa: N802
        """The annotations of some numbers."""
        return [self.anns[number] for number in _several(ids)]

    def loadCats(self, ids: Any = ()) -> list[Any]:  # noqa: N802
        """The categories of some numbers."""
        return [self.cats[number] for number in _several(ids)]

    def loadImgs(self, ids: Any = ()) -> list[Any]:  # noqa: N802
        """The records of images of some numbers."""
        return [self.imgs[number] for number in _several(ids)]
