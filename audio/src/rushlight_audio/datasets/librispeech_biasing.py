"""LibriSpeech with words that a recogniser is to be led to."""

from __future__ import annotations

from rushlight_audio.datasets.archives import Location
from rushlight_audio.datasets.librispeech import FOLDER_IN_ARCHIVE, LIBRISPEECH, URL

__all__ = ["LibriSpeechBiasing"]


class LibriSpeechBiasing(LIBRISPEECH):
    """`LIBRISPEECH` whose items have also those words of a list that are in the transcript.

    Args:
        root: folder.
        url: the part, as of `LIBRISPEECH`.
        folder_in_archive: folder of the parts in `root`.
        download: fetch and unpack the part where it is not there.
        blist: the words, in capitals.

    Items are (waveform, sample rate, transcript, speaker, chapter, utterance, words).
    """

    def __init__(
        self,
        root: Location,
        url: str = URL,
        folder_in_archive: str = FOLDER_IN_ARCHIVE,
        download: bool = False,
        blist: list[str] | None = None,
    ) -> None:
        super().__init__(root, url, folder_in_archive, download)
        self.blist = blist

    def get_metadata(self, n: int) -> tuple[str, int, str, int, int, int, list[str]]:  # type: ignore[override]
        """The item with the path of the file instead of the waveform."""
        found = super().get_metadata(n)
        wanted = set(self.blist or ())
        return (*found, list(dict.fromkeys(w for w in found[2].split() if w in wanted)))
