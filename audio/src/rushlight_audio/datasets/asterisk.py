"""The prompts of the Asterisk telephone exchange: five voices, five languages."""

from __future__ import annotations

from pathlib import Path

import rushlight as rl
from rushlight_audio.datasets.archives import Location
from rushlight_audio.datasets.packages import debian, folder_of
from rushlight_audio.datasets.recordings import Recordings, one_of
from rushlight_audio.io import load

__all__ = ["AsteriskPrompts"]

_POOL = "a/asterisk-core-sounds/asterisk-core-sounds-{}-wav_1.6.1-1_all.deb"
# Language: folder of the voice, sum of the package.
_VOICES = {
    "en": (
        "en_US_f_Allison",
        "2be3ea287d83299d143815fa804f11179a75b7affd4a758b98b55f5afc18a35d",
    ),
    "es": (
        "es_MX_f_Allison",
        "9283a09a6d56fccdcc2bcfe86c48f0f844289cfbd46a3184d8785a6f7f569903",
    ),
    "fr": (
        "fr_CA_f_June",
        "8d4e1bc32ed5ba7fbda40841ca1825ed20cc6232724a473c90f8bb0e53e6073e",
    ),
    "it": (
        "it_IT_m_Carlo",
        "5a26638089e134b8ac39363fe249c5c93c50cd8bfdc9b2499ae61ec4a35e2fcb",
    ),
    "ru": (
        "ru_RU_f_IvrvoiceRU",
        "ccbfaebfa450b7a9ddf644ae0f3d1e9017d5df7c0aebe816e946345589d38201",
    ),
}


class AsteriskPrompts(Recordings):
    """Prompts of a telephone exchange, spoken in a studio: numbers, letters, sentences.

    2,831 clips of 8 kHz in Debian's packages ``asterisk-core-sounds-LANGUAGE-wav`` (CC BY-SA 3.0
    for en, es and fr, CC BY 3.0 for it and ru). The name of a clip says what is spoken; there are
    no transcripts.

    Args:
        root: folder of the packages, or what they were unpacked into.
        languages: some of ``"en"``, ``"es"``, ``"fr"``, ``"it"``, ``"ru"``, or one of them.
        download: fetch and unpack packages that are not there.

    Items are (waveform ``[1, T]``, sample rate, name such as ``"digits/1"``, language, voice).
    """

    def __init__(
        self,
        root: Location,
        languages: str | tuple[str, ...] = "en",
        download: bool = False,
    ) -> None:
        chosen = (languages,) if isinstance(languages, str) else languages
        self._walker: list[tuple[Path, Path, str, str]] = []
        for language in chosen:
            voice, digest = _VOICES[one_of("languages", language, list(_VOICES))]
            package = debian(_POOL.format(language), digest)
            inside = f"usr/share/asterisk/sounds/{voice}"
            folder = folder_of(root, inside, package, download)
            speaker = voice.rsplit("_", 1)[-1]
            self._walker += [(folder, p, language, speaker) for p in sorted(folder.rglob("*.wav"))]

    def get_metadata(self, n: int) -> tuple[str, str, str, str]:
        """Path, name, language and voice of an item."""
        folder, path, language, speaker = self._walker[n]
        return str(path), path.relative_to(folder).with_suffix("").as_posix(), language, speaker

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int, str, str, str]:
        path, name, language, speaker = self.get_metadata(n)
        return (*load(path), name, language, speaker)
