"""How well speech is understood and how good it sounds, by the libraries that define it."""

from __future__ import annotations

import importlib
from typing import Any

import rushlight as rl

__all__ = ["perceptual_evaluation_speech_quality", "short_time_objective_intelligibility"]


def short_time_objective_intelligibility(
    preds: rl.Tensor, target: rl.Tensor, fs: int, extended: bool = False
) -> rl.Tensor:
    """STOI (Taal et al. 2010), by `pystoi`: 1 is understood as well as the clean speech.

    Args:
        preds: speech ``[..., T]``.
        target: clean speech, of the same shape.
        fs: sample rate.
        extended: the variant of Jensen and Taal 2016.

    Returns: ``[...]`` float32, without gradients.

    Raises:
        ImportError: `pystoi` is not there; ``pip install rushlight-audio[quality]``.
    """
    op = "short_time_objective_intelligibility"
    library = _library(op, "pystoi")
    return _each(op, lambda p, t: library.stoi(t, p, fs, extended), preds, target)


def perceptual_evaluation_speech_quality(
    preds: rl.Tensor, target: rl.Tensor, fs: int, mode: str
) -> rl.Tensor:
    """PESQ (ITU-T P.862), by `pesq`: from -0.5 (bad) to 4.5.

    Args:
        preds: speech ``[..., T]``.
        target: clean speech, of the same shape.
        fs: 8000 or 16000.
        mode: ``"nb"`` for the telephone's band, ``"wb"`` for the wide one, which needs 16000.

    Returns: ``[...]`` float32, without gradients.

    Raises:
        ImportError: `pesq` is not there; ``pip install rushlight-audio[quality]``.
    """
    op = "perceptual_evaluation_speech_quality"
    if fs not in (8000, 16000):
        raise ValueError(f"{op}(): fs must be 8000 or 16000, got {fs}")
    if mode not in ("nb", "wb") or (mode == "wb" and fs == 8000):
        raise ValueError(f"{op}(): mode must be 'nb', or 'wb' with 16000, got {mode!r}")
    library = _library(op, "pesq")
    return _each(op, lambda p, t: library.pesq(fs, t, p, mode), preds, target)


def _library(op: str, name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{op}() needs {name}: pip install rushlight-audio[quality]") from error


def _each(op: str, function: Any, preds: rl.Tensor, target: rl.Tensor) -> rl.Tensor:
    if preds.shape != target.shape:
        raise ValueError(
            f"{op}(): preds and target must have the same shape, got {list(preds.shape)} and "
            f"{list(target.shape)}"
        )
    length = preds.shape[-1]
    pairs = (each.detach().cpu().double().reshape(-1, length) for each in (preds, target))
    found = [float(function(p.numpy(), t.numpy())) for p, t in zip(*pairs, strict=True)]
    return rl.tensor(found, dtype=rl.float32).reshape(preds.shape[:-1])
