"""Calls of `ops` as data, run the same way by torchvision, which records what comes out, and by
Rushlight, which must give the same.

Values that are no arrays, numbers or strings are objects with one key that says what they are.
"""

from __future__ import annotations

import inspect
import json
import re
from collections import OrderedDict
from typing import Any

import numpy as np

ARRAY, MAPPING, LAYER, BLOCK, TUPLE = "array", "mapping", "nn", "ops", "tuple"


class Library:
    """PyTorch's or Rushlight's names: the package and the family's `ops`."""

    def __init__(self, torch: Any, ops: Any) -> None:
        self.torch, self.ops = torch, ops

    def found(self, path: str) -> Any:
        """Something of `ops` by its dotted path, by way of modules where names hide them."""
        value = self.ops
        module, _, name = path.rpartition(".")
        if module:
            value = __import__(f"{self.ops.__name__}.{module}", fromlist=[name])
        return getattr(value, name)

    def built(self, spec: Any, arrays: dict[str, Any]) -> Any:
        """The argument that a specification describes."""
        if isinstance(spec, list):
            return [self.built(each, arrays) for each in spec]
        if not isinstance(spec, dict):
            return spec
        ((kind, value),) = ((k, v) for k, v in spec.items() if k not in ("args", "options"))
        if kind == ARRAY:
            return arrays[value]
        if kind == MAPPING:
            return OrderedDict((name, self.built(each, arrays)) for name, each in value)
        if kind == TUPLE:
            return tuple(self.built(value, arrays))
        if kind == LAYER:
            return getattr(self.torch.nn, value)
        return self.found(value)(*self.built(spec.get("args", []), arrays))


def cotangent(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """The gradient that goes in: small numbers that are exact in every dtype."""
    count = int(np.prod(shape))
    return ((np.arange(count) % 7 - 3) / 4).reshape(shape).astype(dtype)


def tensors(value: Any) -> list[Any]:
    """The tensors of a result: one, or those of a mapping or list."""
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, (list, tuple)) else [value]


def outcome(library: Library, case: dict[str, Any], given: dict[str, np.ndarray]) -> dict[str, Any]:
    """Arrays by name: results, gradients, the state of a layer; or the name of an error."""
    torch = library.torch
    arrays = {name: torch.tensor(value) for name, value in given.items()}
    for name in case.get("gradients", []):
        arrays[name].requires_grad_()
    torch.manual_seed(case.get("seed", 0))
    try:
        return _values(library, case, arrays)
    except Exception as error:
        if "error" not in case:
            raise
        return {"error": np.array(type(error).__name__)}


def _values(library: Library, case: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    torch = library.torch
    called, found = library.found(case["name"]), {}
    if "layer" in case:
        layer = called(*library.built(case["layer"], arrays), **_options(library, case, arrays))
        layer.train(case.get("training", True))
        # Since version 2.11 PyTorch's normalisations say whether they have a bias.
        found["repr"] = np.array(re.sub(r"(affine=\w+), bias=\w+", r"\1", repr(layer)))
        found["keys"] = np.array(json.dumps(list(layer.state_dict())))
        for key, value in layer.state_dict().items():
            found[f"state {key}"] = np.array(value.detach().cpu().numpy())
        called, options = layer, {}
    else:
        options = _options(library, case, arrays)
    result = called(*library.built(case.get("args", []), arrays), **options)
    if isinstance(result, dict):
        found["names"] = np.array(json.dumps(list(result)))
    outputs = [each for each in tensors(result) if isinstance(each, torch.Tensor)]
    for number, each in enumerate(outputs):
        found[f"result {number}"] = np.array(each.detach().cpu().numpy())
    if case.get("gradients"):
        seeds = [torch.tensor(cotangent(o.shape, o.detach().cpu().numpy().dtype)) for o in outputs]
        wanted = [arrays[name] for name in case["gradients"]]
        got = torch.autograd.grad(outputs, wanted, seeds)
        for name, each in zip(case["gradients"], got, strict=True):
            found[f"gradient {name}"] = np.array(each.detach().cpu().numpy())
    return found


def _options(library: Library, case: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    return {name: library.built(each, arrays) for name, each in case.get("options", {}).items()}


def signature(function: Any) -> list[list[str]]:
    """Names, kinds and defaults of parameters; classes and modules by their last name."""
    target = function.__init__ if inspect.isclass(function) else function
    rows = []
    for name, parameter in inspect.signature(target).parameters.items():
        default = parameter.default
        text = default.__name__ if inspect.isclass(default) else repr(default)
        rows.append([name, parameter.kind.name, "" if default is parameter.empty else text])
    return rows


def agree(got: np.ndarray, expected: np.ndarray) -> str:
    """Why two recorded values differ; empty where they agree."""
    if got.dtype != expected.dtype and got.dtype.kind not in "UO":
        return f"dtype {got.dtype}, expected {expected.dtype}"
    if got.shape != expected.shape:
        return f"shape {got.shape}, expected {expected.shape}"
    if got.dtype.kind != "f":
        return "" if np.array_equal(got, expected) else f"{got} instead of {expected}"
    relative = 2e-5 if got.dtype == np.float32 else 1e-11
    finite = expected[np.isfinite(expected)]
    absolute = relative / 4 * max(1.0, float(np.abs(finite).max(initial=0.0)))
    if np.allclose(got, expected, relative, absolute, equal_nan=True):
        return ""
    return f"differs by up to {np.nanmax(np.abs(got - expected))}"


def differences(found: dict[str, Any], expected: dict[str, np.ndarray]) -> list[str]:
    """All values of a case that differ, by name."""
    if set(found) != set(expected):
        return [f"values {sorted(found)}, expected {sorted(expected)}"]
    pairs = ((name, agree(np.asarray(found[name]), expected[name])) for name in sorted(expected))
    return [f"{name}: {why}" for name, why in pairs if why]


class Blob:
    """Arrays one after the other, equal ones once; each is known by offset, dtype and shape."""

    def __init__(self, data: bytes = b"") -> None:
        self.data, self.offsets = bytearray(data), {}

    def add(self, value: np.ndarray) -> list[Any]:
        content = value.tobytes()
        if content not in self.offsets:
            self.offsets[content] = len(self.data)
            self.data += content
        return [self.offsets[content], value.dtype.str, list(value.shape)]

    def get(self, entry: list[Any]) -> np.ndarray:
        offset, dtype, shape = entry
        count = int(np.prod(shape))
        return np.frombuffer(self.data, dtype, count, offset).reshape(shape).copy()


Record = tuple[dict[str, Any], dict[str, np.ndarray], dict[str, np.ndarray]]


def save(path: str, records: list[Record], signatures: dict[str, Any]) -> None:
    """Write cases, what they are given and what came out as one compressed file."""
    blob = Blob()
    rows = [
        [case, *({name: blob.add(each) for name, each in values.items()} for values in arrays)]
        for case, *arrays in records
    ]
    index = json.dumps({"records": rows, "signatures": signatures}).encode()
    np.savez_compressed(
        path, index=np.frombuffer(index, np.uint8), blob=np.frombuffer(blob.data, np.uint8)
    )


def load(path: str) -> tuple[list[Record], dict[str, Any]]:
    """What :func:`save` wrote."""
    with np.load(path) as file:
        index, blob = json.loads(file["index"].tobytes()), Blob(file["blob"].tobytes())
    records = [
        (case, *({name: blob.get(each) for name, each in values.items()} for values in arrays))
        for case, *arrays in index["records"]
    ]
    return records, index["signatures"]
