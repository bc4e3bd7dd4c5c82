"""Trained models as files: a state dict, an exported program, ONNX."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rushlight as rl
from rushlight import export as programs
from rushlight import nn, onnx
from rushlight_vision.training.settings import EXPORTS

if TYPE_CHECKING:
    from os import PathLike


def export(
    model: nn.Module,
    folder: str | PathLike[str],
    formats: Iterable[str],
    example: rl.Tensor | None = None,
) -> dict[str, Path]:
    """Write a model into a folder in some formats.

    Parameters
    ----------
    model : Module
        It is exported as it is in evaluation; programs and ONNX for batches of `example`'s sizes.
    folder : path
        Made if it is not there.
    formats : iterable of str
        "state_dict" (``model.pt``, for ``load_state_dict``), "pt2" (``model.pt2``, for
        ``rushlight.export.load``), "onnx" (``model.onnx``, weights included).
    example : Tensor, optional
        A batch (N, C, H, W) of what the model takes; needed for "pt2" and "onnx".

    Returns
    -------
    dict of str to Path

    Raises
    ------
    ValueError
        For another format, or without `example` where it is needed.
    NotImplementedError
        For detection models in other formats than "state_dict".

    Example
    -------
    >>> import tempfile
    >>> export(nn.Linear(2, 3), tempfile.mkdtemp(), ["state_dict"])["state_dict"].name
    'model.pt'
    """
    formats = list(formats)
    unknown = sorted(set(formats) - set(EXPORTS))
    if unknown:
        raise ValueError(f"export: formats {unknown}; expected some of {list(EXPORTS)}")
    if hasattr(model, "roi_heads") or hasattr(model, "anchor_generator"):
        refused = [each for each in formats if each != "state_dict"]
        if refused:
            raise NotImplementedError(
                f"export: {refused} of a detection model, whose results have no fixed sizes; use "
                '"state_dict"'
            )
    where = Path(folder)
    where.mkdir(parents=True, exist_ok=True)
    training = model.training
    model.eval()
    try:
        return {each: _WRITERS[each](model, where, example) for each in formats}
    finally:
        model.train(training)


def _state_dict(model: nn.Module, where: Path, example: Any) -> Path:
    path = where / "model.pt"
    rl.save(model.state_dict(), path)
    return path


def _batch(example: Any) -> tuple[Any]:
    """The arguments to call the model with."""
    if example is None or example.ndim != 4:
        got = None if example is None else tuple(example.shape)
        raise ValueError(f"export: example {got}; expected a batch (N, C, H, W)")
    return (example,)


def _pt2(model: nn.Module, where: Path, example: Any) -> Path:
    path = where / "model.pt2"
    programs.save(programs.export(model, _batch(example)), path)
    return path


def _onnx(model: nn.Module, where: Path, example: Any) -> Path:
    path = where / "model.onnx"
    onnx.export(model, _batch(example), path, external_data=False, input_names=["image"])
    return path


_WRITERS = {"state_dict": _state_dict, "pt2": _pt2, "onnx": _onnx}
