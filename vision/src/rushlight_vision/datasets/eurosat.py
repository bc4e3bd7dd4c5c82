"""EuroSAT: satellite pictures of ten kinds of land (Helber et al., 2019)."""

from __future__ import annotations

from rushlight_vision.datasets._folders import PublishedFolder
from rushlight_vision.datasets._published import File, Loader, Transform, default_loader
from rushlight_vision.datasets.integrity import Location


class EuroSAT(PublishedFolder):
    """27,000 RGB pictures of 64x64 pixels.

    The published `EuroSAT.zip`, or its folder `2750`, lies in `root/eurosat`; attributes and items
    are those of :class:`ImageFolder`. Raises RuntimeError if files are missing.
    """

    splits = ("2750",)
    folder_of_splits = "eurosat"
    unpacked_inside = True
    published = File(
        "https://huggingface.co/datasets/torchgeo/eurosat/resolve/"
        "c877bcd43f099cd0196738f714544e355477f3fd/EuroSAT.zip",
        "c8fa014336c82ac7804f0398fcb19387",
    )

    def __init__(
        self,
        root: Location,
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, "2750", transform, target_transform, download, loader)
