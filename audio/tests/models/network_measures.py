"""What a network is and computes, measured the same way by torchaudio, which writes it down, and by
Rushlight, which must measure the same."""

from __future__ import annotations

import hashlib
import inspect
import warnings
from typing import Any

import numpy as np
from network_cases import CASES, SEARCH, searched

SEED = 5
MOST = 1000
TOLERANCE = 1e-5  # of the largest value, in float32

Arrays = dict[str, np.ndarray]


def fingerprint(state: dict[str, Any]) -> str:
    """The beginning of a digest of names and shapes of a state dict, in their order."""
    rows = [f"{key} {tuple(value.shape)}" for key, value in state.items()]
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]


def _numbers(value: Any) -> np.ndarray:
    return np.array(value.detach().numpy())


def _some(value: Any) -> np.ndarray:
    """The numbers of a result; of a large one as many as MOST, at even distances."""
    numbers = _numbers(value)
    return numbers if numbers.size <= MOST else numbers.reshape(-1)[:: -(-numbers.size // MOST)]


def summary(values: list[np.ndarray]) -> np.ndarray:
    """Of every array its mean magnitude, and the value in its middle."""
    rows = []
    for value in values:
        flat = value.reshape(-1).astype(np.float64)
        rows.append((np.abs(flat).mean(), flat[flat.size // 2]))
    return np.array(rows, np.float32)


def _flat(result: Any) -> list[Any]:
    """The tensors of a result."""
    if isinstance(result, (tuple, list)):
        return [each for part in result for each in _flat(part)]
    return [] if result is None else [result]


def _computed(torch: Any, model: Any, call: Any) -> list[Any]:
    torch.manual_seed(SEED + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a synthesis that does not end
        return _flat(call(torch, model))


def _gradients(torch: Any, model: Any, results: list[Any]) -> np.ndarray:
    """A summary of the gradients of all parameters, of a sum of all results."""
    total = 0.0
    for result in results:
        if result.requires_grad:
            weights = torch.cos(torch.arange(result.numel())).view(result.shape)
            whole = torch.where(torch.isfinite(result), result, torch.zeros_like(result))
            total = total + (whole * weights).sum()
    model.zero_grad()
    total.backward()
    zeros = np.zeros(1)
    parameters = list(model.parameters())
    return summary([zeros if p.grad is None else _numbers(p.grad) for p in parameters])


def measure(torch: Any, models: Any, name: str) -> Arrays:
    """Everything that is compared of a case."""
    case = CASES[name]
    torch.manual_seed(SEED)
    model = case.build(models)
    state = model.state_dict()
    found = {
        "state": np.array(fingerprint(state)),
        "init": summary([_numbers(value) for value in state.values()]),
    }
    for mode in ("eval", "train") if case.training else ("eval",):
        model.train(mode == "train")
        results = _computed(torch, model, case.call)
        for number, result in enumerate(results):
            found[f"{mode} {number}"] = _some(result)
        if case.training and case.gradients:
            found[f"grad {mode}"] = _gradients(torch, model, results)
    if name == SEARCH:
        results = _computed(torch, model, lambda torch, model: searched(models, torch, model))
        found.update({f"search {n}": _numbers(each) for n, each in enumerate(results)})
    return found


def apart(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, as a part of the largest value."""
    same = found == expected  # infinite values
    scale = float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0)) or 1.0
    return float(np.abs(np.where(same, 0.0, found - expected)).max(initial=0.0)) / scale


def differences(found: Arrays, expected: Arrays) -> list[str]:
    """What differs between two measurements."""
    if set(found) != set(expected):
        return [f"{sorted(found)} instead of {sorted(expected)}"]
    lines = []
    for kind, value in expected.items():
        own = found[kind]
        if value.dtype.kind != "f" or value.shape != own.shape:
            if not (value.shape == own.shape and np.array_equal(own, value)):
                lines.append(f"{kind}: {own} instead of {value}")
            continue
        with np.errstate(invalid="ignore"):
            distance = apart(own, value)
        if not distance <= TOLERANCE:
            lines.append(f"{kind}: differs by {distance:.1e}")
    return lines


def signature(function: Any) -> list[list[str]]:
    """Names, kinds and plain defaults of parameters."""
    rows = []
    for name, each in inspect.signature(function).parameters.items():
        plain = each.default is None or isinstance(each.default, (int, float, str))
        rows.append([name, each.kind.name, repr(each.default) if plain else ""])
    return rows


def save(path: str, table: dict[str, Arrays]) -> None:
    """Write measurements by case as one compressed file."""
    np.savez_compressed(
        path,
        **{f"{name}/{kind}": each for name, row in table.items() for kind, each in row.items()},
    )


def load(path: str) -> dict[str, Arrays]:
    """What :func:`save` wrote."""
    table: dict[str, Arrays] = {}
    with np.load(path) as file:
        for key in file.files:
            name, _, kind = key.partition("/")
            table.setdefault(name, {})[kind] = file[key]
    return table
