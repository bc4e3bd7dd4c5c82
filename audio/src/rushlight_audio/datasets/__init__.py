"""Data sets of sound: torchaudio's 22, and recordings that other packages carry.

Each is in a module with its addresses and sums. `archives` fetches and unpacks; `recordings` has
what the data sets share.
"""

from rushlight_audio.datasets import utils
from rushlight_audio.datasets.asterisk import AsteriskPrompts
from rushlight_audio.datasets.cmuarctic import CMUARCTIC
from rushlight_audio.datasets.cmudict import CMUDict
from rushlight_audio.datasets.commonvoice import COMMONVOICE
from rushlight_audio.datasets.dr_vctk import DR_VCTK
from rushlight_audio.datasets.fluentcommands import FluentSpeechCommands
from rushlight_audio.datasets.gtzan import GTZAN
from rushlight_audio.datasets.hydrogen import HydrogenDrumkits
from rushlight_audio.datasets.iemocap import IEMOCAP
from rushlight_audio.datasets.japanese_vowels import JapaneseVowels
from rushlight_audio.datasets.librilight_limited import LibriLightLimited
from rushlight_audio.datasets.librimix import LibriMix
from rushlight_audio.datasets.librispeech import LIBRISPEECH
from rushlight_audio.datasets.librispeech_biasing import LibriSpeechBiasing
from rushlight_audio.datasets.libritts import LIBRITTS
from rushlight_audio.datasets.ljspeech import LJSPEECH
from rushlight_audio.datasets.musan import Musan
from rushlight_audio.datasets.musdb_hq import MUSDB_HQ
from rushlight_audio.datasets.pocketsphinx import PocketSphinxClips
from rushlight_audio.datasets.pyannote import PyannoteSample
from rushlight_audio.datasets.quesst14 import QUESST14
from rushlight_audio.datasets.snips import Snips
from rushlight_audio.datasets.sonic_pi import SonicPiSamples
from rushlight_audio.datasets.speechcommands import SPEECHCOMMANDS
from rushlight_audio.datasets.tedlium import TEDLIUM
from rushlight_audio.datasets.vctk import VCTK_092
from rushlight_audio.datasets.voxceleb1 import VoxCeleb1Identification, VoxCeleb1Verification
from rushlight_audio.datasets.yesno import YESNO

__all__ = [
    "AsteriskPrompts",
    "CMUARCTIC",
    "CMUDict",
    "COMMONVOICE",
    "DR_VCTK",
    "FluentSpeechCommands",
    "GTZAN",
    "HydrogenDrumkits",
    "IEMOCAP",
    "JapaneseVowels",
    "LIBRISPEECH",
    "LIBRITTS",
    "LJSPEECH",
    "LibriLightLimited",
    "LibriMix",
    "LibriSpeechBiasing",
    "Musan",
    "MUSDB_HQ",
    "PocketSphinxClips",
    "PyannoteSample",
    "QUESST14",
    "SPEECHCOMMANDS",
    "Snips",
    "SonicPiSamples",
    "TEDLIUM",
    "VCTK_092",
    "VoxCeleb1Identification",
    "VoxCeleb1Verification",
    "YESNO",
    "utils",
]

# Recordings that other packages carry.
PACKAGED = [
    "AsteriskPrompts",
    "HydrogenDrumkits",
    "JapaneseVowels",
    "PocketSphinxClips",
    "PyannoteSample",
    "SonicPiSamples",
]
