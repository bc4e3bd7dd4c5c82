"""Runs all cases with one library, and says where two runs differ."""

from __future__ import annotations

import inspect
import json
import random
import warnings
from typing import Any

import cases
import inputs
import numpy as np

Results = dict[str, np.ndarray]
OURS = {"generator", "per_sample", "fuse"}  # parameters that torchvision's transforms do not have
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


def everything(lib: Any, seeds: Any) -> dict[str, Results]:
    """All cases, and the public names."""
    return names(lib) | functionals(lib) | transforms(lib, seeds)


def transforms(lib: Any, seeds: Any) -> dict[str, Results]:
    """Every transform on a whole sample, and those of the first module on images."""
    found = {}
    for seed in seeds:
        for name, options in cases.TRANSFORMS:
            key = f"v2.{name} {json.dumps(options)} | {seed}"
            given = cases.arguments(lib, options)
            value = inputs.sample(lib, alone=name in cases.ALONE)
            found[key] = _seeded(
                lib, seed, lambda n=name, g=given, v=value: getattr(lib.v2, n)(**g)(v)
            )
        found |= _batches(lib, seed)
        for name, options in cases.FIRST:
            for kind in ("uint8", "PIL"):
                given = cases.arguments(lib, options)
                value = inputs.inputs(lib)[kind]
                found[f"v1.{name} {json.dumps(options)} | {kind} {seed}"] = _seeded(
                    lib, seed, lambda n=name, g=given, v=value: getattr(lib.v1, n)(**g)(v)
                )
    return found


def _batches(lib: Any, seed: int) -> dict[str, Results]:
    """Transforms of batches, of PIL images and of arrays."""
    found = {}
    kinds = inputs.inputs(lib)
    batch = lib.torch.cat([kinds["batch"], 1 - kinds["batch"]])
    batch = (batch, lib.torch.tensor([0, 2, 1, 2]))
    array = np.asarray(kinds["PIL"]).copy()
    tables = [
        (cases.BATCHES, {"batch": batch}),
        (cases.PICTURES, {"PIL": kinds["PIL"], "array": array}),
    ]
    for table, values in tables:
        for name, options in table:
            for kind, value in values.items():
                given = cases.arguments(lib, options)
                found[f"v2.{name} {json.dumps(options)} | {kind} {seed}"] = _seeded(
                    lib, seed, lambda n=name, g=given, v=value: getattr(lib.v2, n)(**g)(v)
                )
    return found


def names(lib: Any) -> dict[str, Results]:
    """The public names of all modules, and the parameters of their functions and classes."""
    found = {}
    for module in ("tv", "v1", "v2", "F"):
        holder = getattr(lib, module)
        for name in dir(holder):
            value = getattr(holder, name)
            if name.startswith("_") or not callable(value):
                continue
            if name == "set_return_type":  # a class here, a function there
                continue
            target = value.__init__ if inspect.isclass(value) else value
            found[f"{module}.{name}"] = {"parameters": np.array(_parameters(target))}
    return found


def _parameters(function: Any) -> str:
    """Names of parameters but for the first, which is the input or the object."""
    try:
        every = list(inspect.signature(function).parameters.values())
    except ValueError:
        return ""
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    shown = (each for each in every[1:] if each.kind not in kinds and each.name not in OURS)
    return " ".join(each.name for each in shown)


def difference(key: str, got: Results, expected: Results) -> str:
    """Why two outcomes differ; empty where they agree."""
    # torchvision looks corners of boxes on the lower and right edges up beyond the displacement.
    if str(expected.get("error")) == "IndexError":
        return ""
    if "error" in expected or "error" in got:
        if ("error" in expected) and ("error" in got):
            return ""  # both refuse
        return f"got {got.get('message', 'a result')}, expected {expected.get('message', 'one')}"
    if set(got) != set(expected):
        return f"leaves {sorted(set(got) ^ set(expected))}"
    share = 1.0 if any(each in key for each in ROUNDED) else 0.015
    for at, wanted in expected.items():
        why = _apart(at, got[at], wanted, share)
        if why:
            return f"{at}: {why}"
    return ""


def _apart(at: str, got: np.ndarray, wanted: np.ndarray, share: float) -> str:
    if got.dtype.kind in "UO" or wanted.dtype.kind in "UO":
        return "" if str(got) == str(wanted) else f"{got}, expected {wanted}"
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{got.dtype}{got.shape}, expected {wanted.dtype}{wanted.shape}"
    if got.dtype.kind == "f":
        if wanted.ndim and wanted.shape[-1] == 5:  # rotated boxes: half a turn has two signs
            got = np.where(np.arange(5) == 4, (got - wanted + 180) % 360 - 180 + wanted, got)
        close = np.isclose(got, wanted, 1e-4, 2e-4, equal_nan=True)
    else:
        # A level of an image may fall on the other side of a half, twice in a chain of changes.
        apart = np.abs(got.astype(np.int64) - wanted.astype(np.int64))
        close = (apart == 0) | ((apart <= 2) & (got.dtype == np.uint8))
        close &= (apart > 0).mean() <= share if apart.size else True
        # The nearest pixel of a mask may fall on the other side, too.
        close |= at.endswith("masks") and (apart > 0).mean() <= 0.005
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
