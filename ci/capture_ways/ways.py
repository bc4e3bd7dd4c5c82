"""Ways to capture a network; each gives a function that does what the network does."""

from __future__ import annotations

import io
import re
import warnings
from pathlib import Path

import rushlight as rl
from rushlight.utils import _pytree as pytree

ROOT = Path(__file__).resolve().parents[2]
TOLERANCE = 1e-5  # of what is captured, as a part of the largest value


def by_fx(model, inputs):
    """A graph of what the program calls."""
    return rl.fx.symbolic_trace(model)


def by_export(model, inputs):
    """An exported program, written to an archive and read again."""
    buffer = io.BytesIO()
    rl.export.save(rl.export.export(model, inputs), buffer)
    buffer.seek(0)
    return rl.export.load(buffer).module()


def by_onnx(model, inputs):
    """An ONNX model, run by ONNX Runtime."""
    return rl.onnx.export(model, inputs)


def by_trace(model, inputs):
    """TorchScript of one call."""
    return rl.jit.trace(model, inputs, strict=False)


def by_script(model, inputs):
    """TorchScript of the source."""
    return rl.jit.script(model)


WAYS = {"fx": by_fx, "export": by_export, "onnx": by_onnx, "trace": by_trace, "script": by_script}


def tensors(result) -> list:
    """The tensors of a result, of named tuples and dataclasses too."""
    if hasattr(result, "__dataclass_fields__"):
        result = [getattr(result, name) for name in result.__dataclass_fields__]
    return [leaf for leaf in pytree.tree_leaves(result) if rl.is_tensor(leaf)]


def difference(found, expected) -> float:
    """The largest difference of two results, as a part of the largest value; inf if their forms
    are not alike."""
    ours, theirs = tensors(found), tensors(expected)
    if [tuple(t.shape) for t in ours] != [tuple(t.shape) for t in theirs]:
        return float("inf")
    worst = 0.0
    for one, other in zip(ours, theirs, strict=True):
        if not other.numel():
            continue
        wide = rl.complex128 if other.is_complex() else rl.float64
        one, other = one.detach().to(wide), other.detach().to(wide)
        if (one == other).all():  # infinities are no difference
            continue
        gap = (one - other).abs().max().item()
        worst = max(worst, gap / max(other.abs().max().item(), 1e-3))
    return worst


def judged(way, model, inputs) -> str:
    """``"equal"``, ``"differs by ..."``, or the first line of what stops it."""
    try:
        with warnings.catch_warnings(action="ignore"), rl.no_grad():
            rl.manual_seed(0)
            expected = model(*inputs)
            captured = WAYS[way](model, inputs)
            rl.manual_seed(0)
            gap = difference(captured(*inputs), expected)
    except Exception as error:  # noqa: BLE001 - what stops it is the result
        return _reason(error)
    return "equal" if gap <= TOLERANCE else f"differs by {gap:.0e}"


def _reason(error) -> str:
    """Kind and first line of an error, without addresses and this folder's name."""
    line = (str(error).strip().splitlines() or [""])[0]
    line = re.sub(r" at 0x[0-9a-f]+", "", line.replace(f"{ROOT}/", ""))
    return f"{type(error).__name__}: {line[:160]}"
