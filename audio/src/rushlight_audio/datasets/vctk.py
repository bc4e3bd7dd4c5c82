"""VCTK: 110 speakers of English."""

from __future__ import annotations

from pathlib import Path

import rushlight as rl
from rushlight_audio.datasets.archives import Archive
from rushlight_audio.datasets.recordings import Recordings, one_of
from rushlight_audio.io import load

__all__ = ["URL", "VCTK_092"]

URL = "https://datashare.is.ed.ac.uk/bitstream/handle/10283/3443/VCTK-Corpus-0.92.zip"
_SUM = "f96258be9fdc2cbff6559541aae7ea4f59df3fcaf5cf963aae5ca647357e359c"


class VCTK_092(Recordings):  # noqa: N801 - torchaudio's name
    """VCTK 0.92: 44 hours of 110 speakers with two microphones.

    Args:
        root: folder.
        mic_id: ``"mic1"`` or ``"mic2"``.
        download: fetch and unpack it where it is not there.
        url: address of the archive.
        audio_ext: ending of the recordings.

    Items are (waveform ``[1, T]``, sample rate, transcript, speaker, utterance). Speaker p280 has
    no second microphone, and recordings of p362 that are not there are skipped.
    """

    def __init__(
        self,
        root: str,
        mic_id: str = "mic2",
        download: bool = False,
        url: str = URL,
        audio_ext: str = ".flac",
    ) -> None:
        self._mic_id = one_of("mic_id", mic_id, ("mic1", "mic2"), RuntimeError)
        self._path = Path(root) / "VCTK-Corpus-0.92"
        Archive(url, _SUM if url == URL else None).bring(root, self._path, download, self._path)
        self._audio_ext = audio_ext
        texts = sorted((self._path / "txt").iterdir())
        self._walker = [
            (folder.name, text.stem.split("_")[1])
            for folder in texts
            if (folder.name, mic_id) != ("p280", "mic2")
            for text in sorted(folder.glob("*.txt"))
            if folder.name != "p362" or self._recording(*text.stem.split("_")).is_file()
        ]

    def _recording(self, speaker: str, utterance: str) -> Path:
        name = f"{speaker}_{utterance}_{self._mic_id}{self._audio_ext}"
        return self._path / "wav48_silence_trimmed" / speaker / name

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int, str, str, str]:
        speaker, utterance = self._walker[n]
        with open(self._path / "txt" / speaker / f"{speaker}_{utterance}.txt") as file:
            transcript = file.readline()
        return (*load(self._recording(speaker, utterance)), transcript, speaker, utterance)
