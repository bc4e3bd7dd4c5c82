"""Flowers102: flowers of 102 kinds that grow in Britain (Nilsback, Zisserman, 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rushlight_vision.datasets import integrity
from rushlight_vision.datasets._libraries import needed
from rushlight_vision.datasets._published import File, SplitDataset

_BASE = "https://www.robots.ox.ac.uk/~vgg/data/flowers/102/"
# The published list, in the order of the labels.
_NAMES = (
    "pink primrose, hard-leaved pocket orchid, canterbury bells, sweet pea, english marigold, "
    "tiger lily, moon orchid, bird of paradise, monkshood, globe thistle, snapdragon, "
    "colt's foot, king protea, spear thistle, yellow iris, globe-flower, purple coneflower, "
    "peruvian lily, balloon flower, giant white arum lily, fire lily, pincushion flower, "
    "fritillary, red ginger, grape hyacinth, corn poppy, prince of wales feathers, "
    "stemless gentian, artichoke, sweet william, carnation, garden phlox, love in the mist, "
    "mexican aster, alpine sea holly, ruby-lipped cattleya, cape flower, great masterwort, "
    "siam tulip, lenten rose, barbeton daisy, daffodil, sword lily, poinsettia, "
    "bolero deep blue, wallflower, marigold, buttercup, oxeye daisy, common dandelion, "
    "petunia, wild pansy, primula, sunflower, pelargonium, bishop of llandaff, gaura, "
    "geranium, orange dahlia, pink-yellow dahlia?, cautleya spicata, japanese anemone, "
    "black-eyed susan, silverbush, californian poppy, osteospermum, spring crocus, "
    "bearded iris, windflower, tree poppy, gazania, azalea, water lily, rose, thorn apple, "
    "morning glory, passion flower, lotus, toad lily, anthurium, frangipani, clematis, "
    "hibiscus, columbine, desert-rose, tree mallow, magnolia, cyclamen, watercress, "
    "canna lily, hippeastrum, bee balm, ball moss, foxglove, bougainvillea, camellia, mallow, "
    "mexican petunia, bromelia, blanket flower, trumpet creeper, blackberry lily"
)


class Flowers102(SplitDataset):
    """8,189 photos; `split` is "train" or "val" (1,020 each) or "test" (6,149).

    The published archive (or its folder `jpg`), `imagelabels.mat` and `setid.mat` lie in
    `root/flowers-102`; reading them needs SciPy (`rushlight-vision[mat]`). `classes` names the
    kinds. An item is what `loader` makes of the path (an RGB picture of Pillow) and an int from 0.

    Raises RuntimeError if files are missing or altered.
    """

    splits = ("train", "val", "test")
    classes = _NAMES.split(", ")
    _FILES = (
        File(f"{_BASE}102flowers.tgz", "52808999861908f626f3c1f4e79d11fa"),
        File(f"{_BASE}imagelabels.mat", "e0620be6f572b9609742df49c70aed4d"),
        File(f"{_BASE}setid.mat", "a5357ecc9cb78c4bef273ce3793fc85c"),
    )
    _LISTS = {"train": "trnid", "val": "valid", "test": "tstid"}

    def _folder(self) -> Path:
        return Path(str(self.root), "flowers-102")

    def _files(self) -> Sequence[File]:
        return self._FILES

    def _is_complete(self) -> bool:
        tables = [(self._folder() / file.kept, file.md5) for file in self._FILES[1:]]
        there = all(integrity.check_integrity(path, md5) for path, md5 in tables)
        return there and (self._folder() / "jpg").is_dir()

    def _listed(self) -> list[tuple[Any, Any]]:
        read = needed("scipy.io", "mat", self).loadmat
        numbers = read(self._folder() / "setid.mat")[self._LISTS[self._split]].reshape(-1).tolist()
        labels = read(self._folder() / "imagelabels.mat")["labels"].reshape(-1).tolist()
        return [
            (self._folder() / "jpg" / f"image_{number:05d}.jpg", labels[number - 1] - 1)
            for number in numbers
        ]
