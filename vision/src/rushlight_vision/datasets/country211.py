"""Country211: photos by the country they were taken in (Radford et al., 2021)."""

from __future__ import annotations

from rushlight_vision.datasets._folders import PublishedFolder
from rushlight_vision.datasets._published import File


class Country211(PublishedFolder):
    """63,300 photos of 211 countries; `split` is "train" or "valid" (31,650 and 10,550) or "test".

    The published archive, or its folder `country211`, lies in `root`; attributes and items are
    those of :class:`ImageFolder`. Raises RuntimeError if files are missing.
    """

    splits = ("train", "valid", "test")
    folder_of_splits = "country211"
    published = File(
        "https://openaipublic.azureedge.net/clip/data/country211.tgz",
        "84988d7644798601126c29e9877aab6a",
    )
