"""VoxCeleb1: voices of celebrities."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import rushlight as rl
from rushlight.utils.download import fetch
from rushlight_audio.datasets.archives import Archive, Location, unpack
from rushlight_audio.datasets.recordings import Recordings, one_of, waveform

__all__ = ["SAMPLE_RATE", "VoxCeleb1", "VoxCeleb1Identification", "VoxCeleb1Verification"]

SAMPLE_RATE = 16000
_BASE = "https://thor.robots.ox.ac.uk/~vgg/data/voxceleb/vox1a/"
_META = "https://www.robots.ox.ac.uk/~vgg/data/voxceleb/meta/"
_IDEN_SPLIT_URL = f"{_META}iden_split.txt"
_VERI_TEST_URL = f"{_META}veri_test.txt"
# The archive of the development part is published in pieces.
_ARCHIVES = {
    "vox1_dev_wav.zip": [
        Archive(f"{_BASE}vox1_dev_wav_part{piece}", digest)
        for piece, digest in (
            ("aa", "21ec6ca843659ebc2fdbe04b530baa4f191ad4b0971912672d92c158f32226a0"),
            ("ab", "311d21e0c8cbf33573a4fce6c80e5a279d80736274b381c394319fc557159a04"),
            ("ac", "92b64465f2b2a3dc0e4196ae8dd6828cbe9ddd1f089419a11e4cbfe2e1750df0"),
            ("ad", "00e6190c770b27f27d2a3dd26ee15596b17066b715ac111906861a7d09a211a5"),
        )
    ],
    "vox1_test_wav.zip": [
        Archive(
            f"{_BASE}vox1_test_wav.zip",
            "8de57f347fe22b2c24526e9f444f689ecf5096fc2a92018cf420ff6b5b15eaea",
        )
    ],
}
_NUMBERS = {"train": 1, "dev": 2, "test": 3}


class VoxCeleb1(Recordings):
    """What both data sets of VoxCeleb1 have in common: the recordings in ``root/wav``."""

    def __init__(self, root: Location, download: bool = False) -> None:
        self._path = os.path.join(root, "wav")
        if os.path.isdir(self._path):
            return
        if not download:
            raise RuntimeError(
                f"Dataset not found at {self._path}. Please set `download=True` to download the "
                f"dataset, or unpack the archives of {_BASE} into {os.fspath(root)}"
            )
        for name, pieces in _ARCHIVES.items():
            _bring_pieces(Path(root), name, pieces)

    @staticmethod
    def _table(root: Location, url: str) -> list[list[str]]:
        """The rows of a list, which is fetched where it is not there."""
        path = Path(root) / url.rsplit("/", 1)[-1]
        if not path.exists():
            fetch([url], path)
        return [line.split() for line in path.read_text().splitlines()]


def _bring_pieces(root: Path, name: str, pieces: list[Archive]) -> None:
    """Fetch the pieces of an archive, join and unpack them."""
    for piece in pieces:
        fetch([piece.url], root / piece.name, sha256=piece.sha256)
    whole = root / name
    if len(pieces) > 1:
        with open(whole, "wb") as file:
            for piece in pieces:
                with open(root / piece.name, "rb") as part:
                    shutil.copyfileobj(part, file, 1 << 20)
    unpack(whole, root)


def _name(path: str) -> str:
    """Speaker, video and utterance: the last three parts of a path."""
    return "-".join(path.removesuffix(".wav").split("/")[-3:])


class VoxCeleb1Identification(VoxCeleb1):
    """VoxCeleb1 for telling which of 1,251 speakers speaks.

    Args:
        root: folder.
        subset: ``"train"``, ``"dev"``, ``"test"``.
        meta_url: address of the list of subsets.
        download: fetch and unpack the recordings where they are not there.

    Items are (waveform ``[1, T]``, sample rate, number of the speaker, name).
    """

    def __init__(
        self,
        root: Location,
        subset: str = "train",
        meta_url: str = _IDEN_SPLIT_URL,
        download: bool = False,
    ) -> None:
        super().__init__(root, download)
        number = str(_NUMBERS[one_of("subset", subset, list(_NUMBERS))])
        self._walker = sorted(path for part, path in self._table(root, meta_url) if part == number)

    def get_metadata(self, n: int) -> tuple[str, int, int, str]:
        """The item with the path of the file instead of the waveform."""
        path = self._walker[n]
        name = _name(path)
        return path, SAMPLE_RATE, int(name.split("-")[0][3:]), name

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int, int, str]:
        path, rate, speaker, name = self.get_metadata(n)
        return waveform(self._path, path, rate), rate, speaker, name


class VoxCeleb1Verification(VoxCeleb1):
    """VoxCeleb1 for telling whether two recordings are of one speaker.

    Args:
        root: folder.
        meta_url: address of the list of pairs.
        download: fetch and unpack the recordings where they are not there.

    Items are (waveform, waveform, sample rate, 1 for the same speaker or 0, name, name).
    """

    def __init__(
        self, root: Location, meta_url: str = _VERI_TEST_URL, download: bool = False
    ) -> None:
        super().__init__(root, download)
        self._walker = self._table(root, meta_url)

    def get_metadata(self, n: int) -> tuple[str, str, int, int, str, str]:
        """The item with the paths of the files instead of the waveforms."""
        label, first, second = self._walker[n]
        return first, second, SAMPLE_RATE, int(label), _name(first), _name(second)

    def __getitem__(self, n: int) -> tuple[rl.Tensor, rl.Tensor, int, int, str, str]:
        found = self.get_metadata(n)
        first, second = (waveform(self._path, path, found[2]) for path in found[:2])
        return (first, second, *found[2:])
