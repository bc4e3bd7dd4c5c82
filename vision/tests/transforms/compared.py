"""Runs all cases with one library, and says where two runs differ."""

from __future__ import annotations

import json
import random
import warnings
from typing import Any

import cases
import inputs
import numpy as np

Results = dict[str, np.ndarray]
# Bytes that torchvision resamples with weights of 15 bits or less, by the processor.
ROUNDED = ("esize", "ShortestSize", "ScaleJitter", "jpeg", "JPEG")


def _outcome(call: Any) -> Results:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return inputs.leaves(call())
    except Exception as error:  # noqa: BLE001 - the error is the outcome
        return {"error": np.array(type(error).__name__), "message": np.array(str(error)[:200])}


def functionals(lib: Any) -> dict[str, Results]:
    """Every functional on every kind of input."""
    found = {}
    for name, variants in cases.FUNCTIONALS.items():
        for options in variants:
            for kind, value in inputs.inputs(lib).items():
                if kind in cases.SKIPPED.get(name, ()):
                    continue
                key = f"F.{name} {json.dumps(options)} | {kind}"
                given = cases.arguments(lib, options)
                lib.torch.manual_seed(0)
                found[key] = _outcome(lambda v=value, g=given, n=name: getattr(lib.F, n)(v, **g))
    return found


def _seeded(lib: Any, seed: int, call: Any) -> Results:
    lib.torch.manual_seed(seed)
    random.seed(seed)
    result = _outcome(call)
    result["next draw"] = lib.torch.rand(1).numpy()
    return result


def transforms(lib: Any) -> dict[str, Results]:
    """Every transform on a whole sample, and those of the first module on images."""
    found = {}
    for seed in cases.SEEDS:
        for name, options in cases.TRANSFORMS:
            key = f"v2.{name} {json.dumps(options)} | {seed}"
            given = cases.arguments(lib, options)
            value = inputs.sample(lib, alone=name in cases.ALONE)
            found[key] = _seeded(
                lib, seed, lambda n=name, g=given, v=value: getattr(lib.v2, n)(**g)(v)
            )
        for name, options in cases.FIRST:
            for kind in ("uint8", "PIL"):
                given = cases.arguments(lib, options)
                value = inputs.inputs(lib)[kind]
                found[f"v1.{name} {json.dumps(options)} | {kind} {seed}"] = _seeded(
                    lib, seed, lambda n=name, g=given, v=value: getattr(lib.v1, n)(**g)(v)
                )
    return found


def difference(key: str, got: Results, expected: Results) -> str:
    """Why two outcomes differ; empty where they agree."""
    if "error" in expected or "error" in got:
        if ("error" in expected) and ("error" in got):
            return ""  # both refuse
        return f"got {got.get('message', 'a result')}, expected {expected.get('message', 'one')}"
    if set(got) != set(expected):
        return f"leaves {sorted(set(got) ^ set(expected))}"
    share = 1.0 if any(each in key for each in ROUNDED) else 0.01
    for at, wanted in expected.items():
        why = _apart(got[at], wanted, share)
        if why:
            return f"{at}: {why}"
    return ""


def _apart(got: np.ndarray, wanted: np.ndarray, share: float) -> str:
    if got.dtype.kind in "UO" or wanted.dtype.kind in "UO":
        return "" if str(got) == str(wanted) else f"{got}, expected {wanted}"
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{got.dtype}{got.shape}, expected {wanted.dtype}{wanted.shape}"
    if got.dtype.kind == "f":
        if wanted.ndim and wanted.shape[-1] == 5:  # rotated boxes: half a turn has two signs
            got = np.where(np.arange(5) == 4, (got - wanted + 180) % 360 - 180 + wanted, got)
        close = np.isclose(got, wanted, 1e-4, 2e-4, equal_nan=True)
    else:
        # A level of an image may fall on the other side of a half.
        apart = np.abs(got.astype(np.int64) - wanted.astype(np.int64))
        close = (apart == 0) | ((apart == 1) & (got.dtype == np.uint8))
        close &= (apart > 0).mean() <= share if apart.size else True
    if close.all():
        return ""
    worst = np.nanmax(np.abs(got.astype(float) - wanted.astype(float)))
    return f"{(~close).sum()} of {close.size} differ by up to {worst:.3g}"


def save(path: str, table: dict[str, Results]) -> None:
    """Write a run as one compressed file."""
    blobs: dict[bytes, int] = {}
    index, data = {}, bytearray()
    for key, results in table.items():
        index[key] = {}
        for at, array in results.items():
            content = np.ascontiguousarray(array).tobytes()
            if content not in blobs:
                blobs[content] = len(data)
                data += content
            index[key][at] = [blobs[content], array.dtype.str, list(array.shape)]
    text = np.frombuffer(json.dumps(index).encode(), np.uint8)
    np.savez_compressed(path, index=text, data=np.frombuffer(bytes(data), np.uint8))


def load(path: str) -> dict[str, Results]:
    """What `save` wrote."""
    with np.load(path) as file:
        index, data = json.loads(file["index"].tobytes()), file["data"].tobytes()
    return {
        key: {
            at: np.frombuffer(data, dtype, int(np.prod(shape)), offset).reshape(shape)
            for at, (offset, dtype, shape) in results.items()
        }
        for key, results in index.items()
    }
