"""The drum kits of Hydrogen: single hits of many instruments."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import rushlight as rl
from rushlight_audio.datasets.archives import Location
from rushlight_audio.datasets.packages import debian, folder_of
from rushlight_audio.datasets.recordings import Recordings, one_of
from rushlight_audio.io import load

__all__ = ["HydrogenDrumkits"]

_PACKAGE = debian(
    "h/hydrogen-drumkits/hydrogen-drumkits_2017.09.19~dfsg-1_all.deb",
    "6ea3c6df9a67762e2362f946c695e619859126b19fbccf32a2e8f07dfd03b2f4",
)
# Classes by words in an instrument's name; the first that fits counts.
_CLASSES = {
    "hihat": r"hi.?hat|\bhh|hat\b|\bhat",
    "clap": r"clap",
    "cowbell": r"cowbell|cow bell",
    "tambourine": r"tamb|jingle",
    "shaker": r"shaker|maraca|cabasa",
    "rim": r"rim|side.?stick|stick",
    "crash": r"crash|splash|china|cymbal",
    "ride": r"ride",
    "kick": r"kick|bass ?drum|\bbd",
    "snare": r"snare|\bsn|\bsd",
    "tom": r"\btom|tom\b",
    "conga": r"conga|bongo|djemb|talking",
}


class HydrogenDrumkits(Recordings):
    """704 drum hits in 14 kits, from Debian's package ``hydrogen-drumkits`` (each kit has its own
    free licence, which its ``drumkit.xml`` names).

    Args:
        root: folder of the package, or what it was unpacked into.
        kits: names of kits; None for all. Train on some and test on others.
        download: fetch and unpack the package (143 MB) where it is not there.

    Items are (waveform ``[C, T]``, sample rate, class, instrument's name, kit). The class is one of
    hihat, clap, cowbell, tambourine, shaker, rim, crash, ride, kick, snare, tom, conga, other.
    `kits` lists the kits that there are.
    """

    def __init__(
        self, root: Location, kits: list[str] | None = None, download: bool = False
    ) -> None:
        folder = folder_of(root, "usr/share/hydrogen/data/drumkits", _PACKAGE, download)
        self.kits = sorted(path.parent.name for path in folder.glob("*/drumkit.xml"))
        chosen = self.kits if kits is None else [one_of("kits", k, self.kits) for k in kits]
        self._walker = [hit for kit in chosen for hit in _hits(folder / kit)]

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int, str, str, str]:
        path, instrument = self._walker[n]
        return (*load(path), _class_of(instrument), instrument, path.parent.name)


def _hits(folder: Path) -> list[tuple[Path, str]]:
    """The files of a kit with the names of their instruments; those that are not there are left
    out, those of several layers stand one after the other."""
    found: dict[Path, str] = {}
    for instrument in ElementTree.parse(folder / "drumkit.xml").iterfind(".//{*}instrument"):
        name = (instrument.findtext("{*}name") or "").strip()
        for file in instrument.iterfind(".//{*}filename"):
            path = folder / (file.text or "").strip()
            if path.is_file():
                found.setdefault(path, name)
    return list(found.items())


def _class_of(name: str) -> str:
    lowered = name.lower()
    return next((c for c, words in _CLASSES.items() if re.search(words, lowered)), "other")
