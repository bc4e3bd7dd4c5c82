"""PatchCamelyon: cuts of tissue with and without tumour (Veeling et al., 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from rushlight_vision.datasets._libraries import needed
from rushlight_vision.datasets._published import File, PublishedDataset, Transform
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import verify_str_arg


class PCAM(PublishedDataset):
    """327,680 pictures of 96x96 pixels, target 1 where the middle shows tumour: `split` "train"
    (262,144), "val" or "test" (32,768 each).

    The published `.h5` files, packed or not, lie in `root/pcam`; reading them needs h5py
    (`rushlight-vision[h5]`). An item is an RGB picture of Pillow and an int.

    Raises RuntimeError if files are missing.
    """

    _FILES = {
        "train": (
            ("x", "1Ka0XfEMiwgCYPdTI-vv6eUElOBnKFKQ2", "1571f514728f59376b705fc836ff4b63"),
            ("y", "1269yhu3pZDP8UYFQs-NYs3FPwuK-nGSG", "35c2d7259d906cfc8143347bb8e05be7"),
        ),
        "test": (
            ("x", "1qV65ZqZvWzuIVthK8eVDhIwrbnsJdbg_", "d8c2d60d490dbd479f8199bdfa0cf6ec"),
            ("y", "17BHrSrwWKjYsOgTMmoqrIjDy6Fa2o_gP", "60a7035772fbdb7f34eb86d4420cf66a"),
        ),
        "valid": (
            ("x", "1hgshYGWK8V-eGRy8LToWJJgDU_rXWVJ3", "d5b63470df7cfa627aeec8b9dc0c066e"),
            ("y", "1bH8ZRbhSVAhScTS0p9-ZzGnX91cHT3uO", "2b85f58b927af9964a4c15b8f7e8f179"),
        ),
    }

    def __init__(
        self,
        root: Location,
        split: str = "train",
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        needed("h5py", "h5", self)
        self._split = verify_str_arg(split, "split", ("train", "test", "val"))
        self._part = "valid" if split == "val" else split
        self._prepare(download)

    def _folder(self) -> Path:
        return Path(str(self.root), "pcam")

    def _place(self, which: str) -> Path:
        return self._folder() / f"camelyonpatch_level_2_split_{self._part}_{which}.h5"

    def _files(self) -> Sequence[File]:
        return [
            File(f"drive:{number}", md5, f"{self._place(which).name}.gz")
            for which, number, md5 in self._FILES[self._part]
        ]

    def _is_complete(self) -> bool:
        return all(self._place(which).is_file() for which in "xy")

    def _value(self, which: str, index: Any) -> Any:
        # Opened for every value: an open file of this kind does not go to worker processes.
        with needed("h5py", "h5", self).File(self._place(which)) as file:
            return file[which][index]

    def __getitem__(self, idx: int) -> tuple[Any, Any]:
        """The picture and the target of a number, changed by the transforms."""
        picture = Image.fromarray(self._value("x", idx)).convert("RGB")
        return self._changed(picture, int(self._value("y", (idx, 0, 0, 0))))

    def __len__(self) -> int:
        with needed("h5py", "h5", self).File(self._place("x")) as file:
            return int(file["x"].shape[0])
