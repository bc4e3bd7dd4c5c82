"""The names of torchaudio's decoder for NVIDIA GPUs, which is not here."""

from __future__ import annotations

from typing import NamedTuple, NoReturn

__all__ = ["CUCTCDecoder", "CUCTCHypothesis", "cuda_ctc_decoder"]

REASON = (
    "decodes on an NVIDIA GPU with a library of its own, which is not here: use "
    "rushlight_audio.models.decoder.ctc_decoder on emissions.cpu()"
)


class CUCTCHypothesis(NamedTuple):
    """What :class:`CUCTCDecoder` would return."""

    tokens: list[int]
    words: list[str]
    score: float


class CUCTCDecoder:
    """Not here; use :func:`ctc_decoder`."""

    def __init__(
        self,
        vocab_list: list[str],
        blank_id: int = 0,
        beam_size: int = 10,
        nbest: int = 1,
        blank_skip_threshold: float = 0.95,
        cuda_stream: object = None,
    ) -> None:
        raise NotImplementedError(f"CUCTCDecoder {REASON}")


def cuda_ctc_decoder(
    tokens: str | list[str],
    nbest: int = 1,
    beam_size: int = 10,
    blank_skip_threshold: float = 0.95,
) -> NoReturn:
    """Not here; use :func:`ctc_decoder`."""
    raise NotImplementedError(f"cuda_ctc_decoder {REASON}")
