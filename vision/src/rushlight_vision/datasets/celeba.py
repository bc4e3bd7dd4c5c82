"""CelebA: faces of known people with 40 attributes (Liu et al., 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import rushlight as rl
from rushlight_vision.datasets import integrity
from rushlight_vision.datasets._published import (
    File,
    PublishedDataset,
    Transform,
    open_image,
    read_lines,
)
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import verify_str_arg

_SPLITS = {"train": 0, "valid": 1, "test": 2, "all": None}


class CelebA(PublishedDataset):
    """202,599 faces; `split` is "train", "valid", "test" or "all".

    `target_type`, one or a list: "attr" (int64, (40,), 0 or 1, named by `attr_names`), "identity"
    (an int64 scalar), "bbox" (x, y, width, height), "landmarks" (x and y of both eyes, the nose and
    both corners of the mouth); an empty list gives None. The published tables and
    `img_align_celeba.zip`, or the folder that is in it, lie in `root/celeba`. An item is a picture
    of Pillow and the target, a tuple where more than one is asked.

    Raises RuntimeError if files are missing or altered.
    """

    base_folder = "celeba"
    file_list = [
        (
            "0B7EVK8r0v71pZjFTYXZWM3FlRnM",
            "00d2c5bc6d35e252742224ab0c1e8fcb",
            "img_align_celeba.zip",
        ),
        (
            "0B7EVK8r0v71pblRyaVFSWGxPY0U",
            "75e246fa4810816ffd6ee81facbd244c",
            "list_attr_celeba.txt",
        ),
        (
            "1_ee_0u7vcNLOfNLegJRHmolfH5ICW-XS",
            "32bd1bd63d3c78cd57e08160ec5ed1e2",
            "identity_CelebA.txt",
        ),
        (
            "0B7EVK8r0v71pbThiMVRxWXZ4dU0",
            "00566efa6fedff7a56946cd1c10f1c16",
            "list_bbox_celeba.txt",
        ),
        (
            "0B7EVK8r0v71pd0FJY3Blby1HUTQ",
            "cc24ecafdb5b50baae59b03474781f8c",
            "list_landmarks_align_celeba.txt",
        ),
        (
            "0B7EVK8r0v71pY0NSMzRuSXJEVkk",
            "d32c9cbf5e040fd4025c592c306e6668",
            "list_eval_partition.txt",
        ),
    ]

    def __init__(
        self,
        root: Location,
        split: str = "train",
        target_type: list[str] | str = "attr",
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = split
        wanted = [target_type] if isinstance(target_type, str) else list(target_type)
        kinds = ("attr", "identity", "bbox", "landmarks")
        self.target_type = [verify_str_arg(kind, "target_type", kinds) for kind in wanted]
        if not self.target_type and target_transform is not None:
            raise RuntimeError("target_transform is given, but target_type asks for no target")
        part = _SPLITS[verify_str_arg(split.lower(), "split", tuple(_SPLITS))]
        self._prepare(download)
        self._read(part)

    def _read(self, part: int | None) -> None:
        """The tables, of one part or of all."""
        _, names, parts = self._table("list_eval_partition.txt", header=None)
        rows = [row for row, (number,) in enumerate(parts) if part is None or number == part]
        self.filename = [names[row] for row in rows]
        found = {}
        for name, header in (
            ("identity_CelebA.txt", None),
            ("list_bbox_celeba.txt", 1),
            ("list_landmarks_align_celeba.txt", 1),
            ("list_attr_celeba.txt", 1),
        ):
            self.attr_names, _, values = self._table(name, header)
            found[name] = rl.tensor([values[row] for row in rows], dtype=rl.int64)
        self.identity, self.bbox, self.landmarks_align, attributes = found.values()
        self.attr = (attributes + 1) // 2  # published as -1 and 1

    def _table(self, name: str, header: int | None) -> tuple[list[str], list[str], list[list[int]]]:
        """The names of columns, of rows, and the numbers of a published table."""
        lines = read_lines(self._folder() / name)
        start = 0 if header is None else header + 1
        rows = [line.split() for line in lines[start:]]
        columns = [] if header is None else lines[header].split()
        return columns, [row[0] for row in rows], [[int(x) for x in row[1:]] for row in rows]

    def _folder(self) -> Path:
        return Path(str(self.root), self.base_folder)

    def _files(self) -> Sequence[File]:
        return [File(f"drive:{number}", md5, name) for number, md5, name in self.file_list]

    def _is_complete(self) -> bool:
        tables = [(name, md5) for _, md5, name in self.file_list if not name.endswith(".zip")]
        there = all(integrity.check_integrity(self._folder() / name, md5) for name, md5 in tables)
        return there and (self._folder() / "img_align_celeba").is_dir()

    def _targets(self, index: int) -> tuple[rl.Tensor, ...]:
        values = {
            "attr": self.attr,
            "identity": self.identity[:, 0],
            "bbox": self.bbox,
            "landmarks": self.landmarks_align,
        }
        return tuple(values[kind][index] for kind in self.target_type)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The face of a number and what is asked of it, changed by the transforms."""
        image: Any = open_image(self._folder() / "img_align_celeba" / self.filename[index])
        targets = self._targets(index)
        if not targets:
            return (image if self.transform is None else self.transform(image)), None
        return self._changed(image, targets if len(targets) > 1 else targets[0])

    def __len__(self) -> int:
        return len(self.attr)

    def extra_repr(self) -> str:
        """What the target is, and the part."""
        return f"Target type: {self.target_type}\nSplit: {self.split}"
