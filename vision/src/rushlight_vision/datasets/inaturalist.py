"""iNaturalist: photos of animals, plants and fungi (Van Horn et al., 2018 and 2021)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rushlight_vision.datasets._published import File, PublishedDataset, Transform, open_image
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import verify_str_arg

CATEGORIES_2021 = ["kingdom", "phylum", "class", "order", "family", "genus"]
_BASE = "https://ml-inat-competition-datasets.s3.amazonaws.com/"
DATASET_URLS = {
    "2017": f"{_BASE}2017/train_val_images.tar.gz",
    "2018": f"{_BASE}2018/train_val2018.tar.gz",
    "2019": f"{_BASE}2019/train_val2019.tar.gz",
    "2021_train": f"{_BASE}2021/train.tar.gz",
    "2021_train_mini": f"{_BASE}2021/train_mini.tar.gz",
    "2021_valid": f"{_BASE}2021/val.tar.gz",
}
DATASET_MD5 = {
    "2017": "7c784ea5e424efaec655bd392f87301f",
    "2018": "b1c6952ce38f31868cc50ea72d066cc3",
    "2019": "c60a6e2962c9b8ccbd458d12c8582644",
    "2021_train": "e0526d53c7f7b2e3167b2b43bb2690ed",
    "2021_train_mini": "db6ed8330e634445efc8fec83ae81442",
    "2021_valid": "f6f6e0e242e3d4c9569ba56400938afc",
}


class INaturalist(PublishedDataset):
    """Photos by species; `version` is a key of `DATASET_URLS`.

    `target_type`, one or a list: "full" is the species; of 2021 also "kingdom", "phylum", "class",
    "order", "family", "genus", of the older ones "super". An archive `VERSION.tgz` lies in `root`,
    or the folder `VERSION` does. An item is a picture of Pillow (or what `loader` makes of the
    path) and an int, or a tuple of ints in the order of `target_type`.

    Raises RuntimeError if files are missing or folders have other names than published.
    """

    def __init__(
        self,
        root: Location,
        version: str = "2021_train",
        target_type: list[str] | str = "full",
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = False,
        loader: Callable[[Any], Any] | None = None,
    ) -> None:
        self.version = verify_str_arg(version, "version", tuple(DATASET_URLS))
        place = os.path.join(root, version)
        super().__init__(place, transform=transform, target_transform=target_transform)
        self.loader = loader
        ranks = CATEGORIES_2021 if version.startswith("2021") else ["super"]
        wanted = [target_type] if isinstance(target_type, str) else target_type
        self.target_type = [verify_str_arg(t, "target_type", ("full", *ranks)) for t in wanted]
        self._prepare(download)
        self.all_categories: list[str] = []
        self.categories_index: dict[str, dict[str, int]] = {rank: {} for rank in ranks}
        self.categories_map: list[dict[str, int]] = []
        (self._read_2021 if version.startswith("2021") else self._read_older)()
        self.index = [
            (number, name)
            for number, category in enumerate(self.all_categories)
            for name in sorted(os.listdir(os.path.join(str(self.root), category)))
        ]

    def _folder(self) -> Path:
        return Path(str(self.root)).parent

    def _files(self) -> Sequence[File]:
        return (File(DATASET_URLS[self.version], DATASET_MD5[self.version], f"{self.version}.tgz"),)

    def _is_complete(self) -> bool:
        place = Path(str(self.root))
        return place.is_dir() and any(place.iterdir())

    def _arrange(self) -> None:
        """The archive's folder takes the version's name."""
        unpacked = DATASET_URLS[self.version].rsplit("/", 1)[-1].removesuffix(".tar.gz")
        source = self._folder() / unpacked
        if not source.is_dir():
            raise RuntimeError(f"INaturalist: {self.version}.tgz has no folder {unpacked!r}")
        os.replace(source, str(self.root))

    def _read_2021(self) -> None:
        """Folders are called "NUMBER_KINGDOM_..._GENUS_SPECIES"."""
        self.all_categories = sorted(os.listdir(str(self.root)))
        for number, name in enumerate(self.all_categories):
            parts = name.split("_")
            if len(parts) != 8 or parts[0] != f"{number:05d}":
                raise RuntimeError(
                    f"INaturalist: folder {name!r} in {self.root}: expected {number:05d} and seven "
                    "names, joined by underscores"
                )
            place = {}
            for rank, part in zip(CATEGORIES_2021, parts[1:7], strict=True):
                known = self.categories_index[rank]
                place[rank] = known.setdefault(part, len(known))
            self.categories_map.append(place)

    def _read_older(self) -> None:
        """Folders of folders: of groups, in them of species, by name (2017) or number."""
        root = str(self.root)
        groups = sorted(os.listdir(root))
        self.categories_index["super"] = {group: number for number, group in enumerate(groups)}
        species = [(g, s) for g in groups for s in sorted(os.listdir(os.path.join(root, g)))]
        found: dict[int, tuple[str, str]] = {}
        for place, (group, name) in enumerate(species):
            number = place if self.version == "2017" else self._number(name)
            if number in found:
                raise RuntimeError(
                    f"INaturalist: there are two folders of species {name} in {root}"
                )
            found[number] = group, name
        missing = set(range(len(found))) - set(found)
        if missing:
            raise RuntimeError(f"INaturalist: no folder of species {min(missing)} in {root}")
        for _, (group, name) in sorted(found.items()):
            self.all_categories.append(os.path.join(group, name))
            self.categories_map.append({"super": self.categories_index["super"][group]})

    def _number(self, name: str) -> int:
        if not name.isdigit():
            raise RuntimeError(f"INaturalist: folder {name!r} in {self.root}: expected a number")
        return int(name)

    def category_name(self, category_type: str, category_id: int) -> str:
        """The name of a number; ValueError if there is no such kind or number."""
        if category_type == "full":
            return self.all_categories[category_id]
        if category_type not in self.categories_index:
            known = ", ".join(("full", *self.categories_index))
            raise ValueError(f"category_type must be one of {known}, got {category_type!r}")
        for name, number in self.categories_index[category_type].items():
            if number == category_id:
                return name
        raise ValueError(f"category_id: no {category_type} has the number {category_id}")

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The photo of a number and what is asked of it, changed by the transforms."""
        category, name = self.index[index]
        path = os.path.join(str(self.root), self.all_categories[category], name)
        numbers = {"full": category, **self.categories_map[category]}
        targets = tuple(numbers[kind] for kind in self.target_type)
        target = targets if len(targets) > 1 else targets[0]
        return self._changed((self.loader or open_image)(path), target)

    def __len__(self) -> int:
        return len(self.index)
