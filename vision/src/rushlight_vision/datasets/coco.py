"""MS COCO: photos with boxes, outlines and sentences (Lin et al., 2014)."""

from __future__ import annotations

import os
from typing import Any

from rushlight_vision.datasets._coco_index import CocoIndex
from rushlight_vision.datasets._published import Transform, Transforms, open_image
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.vision import VisionDataset


class CocoDetection(VisionDataset):
    """Photos in `root` with the annotations of a file in COCO's format, `annFile`.

    Items stand in the order of the images' numbers, which are in `ids`; `coco` finds annotations
    (pycocotools' methods; the library is not needed). An item is an RGB picture of Pillow and the
    list of its annotations, dicts as published: "bbox" is x, y, width and height in pixels.

    Raises ValueError with the file and the record if the annotations are not in COCO's format.
    """

    def __init__(
        self,
        root: Location,
        annFile: str,  # noqa: N803 - torchvision's name
        transform: Transform = None,
        target_transform: Transform = None,
        transforms: Transforms = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self.coco = CocoIndex(annFile)
        self.ids = sorted(self.coco.imgs)

    def _load_image(self, id: int) -> Any:
        name = self.coco.loadImgs(id)[0]["file_name"]
        return open_image(os.path.join(str(self.root), name), "RGB")

    def _load_target(self, id: int) -> list[Any]:
        return self.coco.loadAnns(self.coco.getAnnIds(id))

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The photo of a number and what is known of it, changed by the transforms."""
        if not isinstance(index, int):
            raise ValueError(f"index must be an int, got {type(index).__name__}")
        image, target = self._load_image(self.ids[index]), self._load_target(self.ids[index])
        return (image, target) if self.transforms is None else self.transforms(image, target)

    def __len__(self) -> int:
        return len(self.ids)


class CocoCaptions(CocoDetection):
    """Photos with the sentences that people wrote of them, a list; see :class:`CocoDetection`."""

    def _load_target(self, id: int) -> list[str]:
        return [annotation["caption"] for annotation in super()._load_target(id)]
