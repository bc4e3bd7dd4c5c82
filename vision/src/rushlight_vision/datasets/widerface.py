"""WIDER FACE: photos with all faces in them (Yang et al., 2016)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import rushlight as rl
from rushlight_vision.datasets._published import (
    File,
    PublishedDataset,
    Transform,
    open_image,
    read_lines,
)
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import verify_str_arg

_FIELDS = ("blur", "expression", "illumination", "occlusion", "pose", "invalid")


class WIDERFace(PublishedDataset):
    """32,203 photos with 393,703 faces; `split` is "train", "val" or "test" (targets None).

    The published zip files, or their folders, lie in `root/widerface`. An item is a picture of
    Pillow and a dict of int64 tensors, one row a face: "bbox" (x, y, width, height) and "blur",
    "expression", "illumination", "occlusion", "pose", "invalid".

    Raises RuntimeError if files are missing.
    """

    BASE_FOLDER = "widerface"
    FILE_LIST = [
        (
            "15hGDLhsx8bLgLcIRD5DhYt5iBxnjNF1M",
            "3fedf70df600953d25982bcd13d91ba2",
            "WIDER_train.zip",
        ),
        ("1GUCogbp16PMGa39thoMMeWxp7Rp5oM8Q", "dfa7d7e790efa35df3788964cf0bbaea", "WIDER_val.zip"),
        (
            "1HIfDbVEWKmsYKJZm4lchTBDLW5N7dY5T",
            "e5d8f4248ed24c334bbd12f49c29dd40",
            "WIDER_test.zip",
        ),
    ]
    ANNOTATIONS_FILE = (
        "http://shuoyang1213.me/WIDERFACE/support/bbx_annotation/wider_face_split.zip",
        "0e3767bcf0e326556d407bf5bff5d27c",
        "wider_face_split.zip",
    )

    def __init__(
        self,
        root: Location,
        split: str = "train",
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = False,
    ) -> None:
        place = os.path.join(root, self.BASE_FOLDER)
        super().__init__(place, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", ("train", "val", "test"))
        self._prepare(download)
        self.img_info = self._tested() if split == "test" else self._labeled()

    def _files(self) -> Sequence[File]:
        pictures = [File(f"drive:{number}", md5, name) for number, md5, name in self.FILE_LIST]
        return (*pictures, File(*self.ANNOTATIONS_FILE))

    def _is_complete(self) -> bool:
        names = (f"WIDER_{self.split}", "wider_face_split")
        return all((self._folder() / name).is_dir() for name in names)

    def _picture(self, name: str) -> str:
        return os.path.abspath(self._folder() / f"WIDER_{self.split}" / "images" / name)

    def _tested(self) -> list[dict[str, Any]]:
        names = read_lines(self._folder() / "wider_face_split" / "wider_face_test_filelist.txt")
        return [{"img_path": self._picture(name.rstrip())} for name in names]

    def _labeled(self) -> list[dict[str, Any]]:
        """A photo's lines: its path, how many faces, one line a face (one of zeros for none)."""
        path = self._folder() / "wider_face_split" / f"wider_face_{self.split}_bbx_gt.txt"
        lines, place, found = read_lines(path), 0, []
        while place < len(lines):
            name, count = lines[place].rstrip(), lines[place + 1 : place + 2]
            if not count or not count[0].strip().isdigit():
                raise RuntimeError(f"{path}, line {place + 2}: expected the number of faces")
            end = place + 2 + max(1, int(count[0]))
            rows = rl.tensor([[int(x) for x in line.split()] for line in lines[place + 2 : end]])
            values = {field: rows[:, 4 + column] for column, field in enumerate(_FIELDS)}
            annotations = {"bbox": rows[:, :4], **values}
            found.append({"img_path": self._picture(name), "annotations": annotations})
            place = end
        return found

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The photo of a number and its faces, changed by the transforms."""
        one = self.img_info[index]
        return self._changed(open_image(one["img_path"]), one.get("annotations"))

    def __len__(self) -> int:
        return len(self.img_info)

    def extra_repr(self) -> str:
        """The part."""
        return f"Split: {self.split}"
