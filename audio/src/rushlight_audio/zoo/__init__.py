"""Small trained networks that are in the package: they answer without network.

`clips.py`: a label for a clip (who speaks, in which language, what was struck); `activity.py`: when
somebody speaks; `denoising.py`: speech without noise; `recognition.py`: what is said;
`synthesis.py`: a text as speech; `weights/`: their files, with `facts.json` on data, licences and
figures. Trained by ``audio/zoo/train.py`` of the repository.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from rushlight_audio.zoo.activity import VoiceActivity
from rushlight_audio.zoo.clips import ClipClassifier
from rushlight_audio.zoo.denoising import Denoiser
from rushlight_audio.zoo.files import Packaged, facts, packaged_file
from rushlight_audio.zoo.recognition import Recogniser
from rushlight_audio.zoo.synthesis import Synthesiser

__all__ = [
    "NETWORKS",
    "ClipClassifier",
    "Denoiser",
    "Recogniser",
    "Synthesiser",
    "VoiceActivity",
    "facts",
    "load_network",
    "pipeline",
]

NETWORKS: dict[str, Any] = {
    "denoise": Denoiser,
    "drums": ClipClassifier,
    "language": ClipClassifier,
    "recognise": Recogniser,
    "speaker": ClipClassifier,
    "synthesise": Synthesiser,
    "vad": VoiceActivity,
}


def load_network(name: str) -> Packaged:
    """The packaged network of a name in `NETWORKS`, in evaluation mode.

    Args:
        name: one of ``"denoise"``, ``"drums"``, ``"language"``, ``"recognise"``, ``"speaker"``,
            ``"synthesise"``, ``"vad"``.

    Raises:
        ValueError: no network has this name.
        RuntimeError: its file is damaged.

    >>> from rushlight_audio.zoo import load_network
    >>> load_network("drums").labels
    ['clap', 'cymbal', 'hihat', 'kick', 'snare', 'tom']
    """
    if name not in NETWORKS:
        raise ValueError(f"no packaged network is called {name!r}; there are {sorted(NETWORKS)}")
    return NETWORKS[name].load(packaged_file(name))


@functools.cache
def pipeline(task: str) -> Callable[..., Any]:
    """A function of a sound: a path, a file object, or a waveform ``[C, T]`` or ``[T]`` with its
    `sample_rate`; ``"synthesise"`` is one of a text.

    Args:
        task: ``"vad"`` gives a list of dicts of ``start`` and ``end`` in seconds; ``"speaker"``
            (one of four voices of telephone prompts), ``"language"`` (English, Spanish, French,
            Italian, Russian) and ``"drums"`` (clap, cymbal, hihat, kick, snare, tom) a dict of
            ``label`` and ``score``; ``"denoise"`` a waveform ``[1, T]`` of 8 kHz; ``"recognise"``
            a dict of ``text`` and ``words`` (English telephone prompts of one voice);
            ``"synthesise"`` a waveform ``[1, T]`` of 8 kHz, of English words in that voice.

    Raises:
        ValueError: an unknown task, or a waveform without its rate.

    >>> import rushlight as rl
    >>> from rushlight_audio.zoo import pipeline
    >>> pipeline("vad")(rl.zeros(16000), sample_rate=16000)
    []
    """
    return load_network(task).predict
