"""Calls that torchaudio, whose results are recorded, and Rushlight run the same way.

Inputs come of seeds: both generators give the same numbers. A result is a dict of arrays: tensors
in order, gradients of the inputs that want them, or the name of an error.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

NO_GRADIENT = "no gradient"
RECORDED = Path(__file__).parent / "recorded"


class Library:
    """PyTorch's or Rushlight's names, and torchaudio's or rushlight_audio's."""

    def __init__(self, torch: Any, audio: Any) -> None:
        self.torch, self.audio = torch, audio
        self.F, self.T = audio.functional, audio.transforms
        self.inputs: list[Any] = []

    def randn(self, *shape: int, seed: int = 0, dtype: str = "float64", grad: bool = True) -> Any:
        """Normal numbers; complex ones of two draws."""
        generator = self.torch.Generator().manual_seed(seed)
        kind = getattr(self.torch, dtype)
        if dtype.startswith("complex"):
            pair = self.torch.randn(*shape, 2, generator=generator, dtype=self.torch.float64)
            made = self.torch.view_as_complex(pair).to(kind)
        else:
            made = self.torch.randn(*shape, generator=generator, dtype=self.torch.float64).to(kind)
        return self.wanted(made) if grad else made

    def sound(self, *shape: int, seed: int = 0, dtype: str = "float64", grad: bool = True) -> Any:
        """Noise of which few samples reach 1."""
        made = self.randn(*shape, seed=seed, dtype=dtype, grad=False) * 0.3
        return self.wanted(made) if grad else made

    def wanted(self, tensor: Any) -> Any:
        """The tensor, whose gradient is compared."""
        self.inputs.append(tensor.detach().requires_grad_())
        return self.inputs[-1]

    def tensor(self, values: Any, dtype: str = "float64") -> Any:
        return self.torch.tensor(values, dtype=getattr(self.torch, dtype))


Call = Callable[[Library], Any]


def named(name: str, calls: list[Call]) -> Iterator[tuple[str, Call]]:
    """Calls of one function with their names."""
    for number, call in enumerate(calls):
        yield f"{name} {number}", call


def collected(*parts: Callable[[], Iterator[tuple[str, Call]]]) -> dict[str, Call]:
    """All calls by their names."""
    return {name: call for part in parts for name, call in part()}


def outcome(library: Library, call: Call, seed: int = 0) -> dict[str, np.ndarray]:
    """What a call gives, by name."""
    library.inputs.clear()
    library.torch.manual_seed(seed)
    try:
        result = call(library)
    except Exception as error:  # noqa: BLE001 - that a call fails is a result
        return {"error": np.array(f"{type(error).__name__}")}
    results = [each for each in _flat(result) if each is not None]
    found = {f"result {i}": _array(library, each) for i, each in enumerate(results)}
    outputs = [each for each in results if getattr(each, "requires_grad", False)]
    if outputs and library.inputs:
        found |= _gradients(library, outputs)
    return found


def _gradients(library: Library, outputs: list[Any]) -> dict[str, np.ndarray]:
    seeds = [_cotangent(library, each) for each in outputs]
    try:
        got = library.torch.autograd.grad(outputs, library.inputs, seeds, allow_unused=True)
    except RuntimeError:  # torchaudio writes into what it needs again
        return {NO_GRADIENT: np.array(True)}
    return {f"gradient {i}": _array(library, g) for i, g in enumerate(got) if g is not None}


def _flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _array(library: Library, value: Any) -> np.ndarray:
    if isinstance(value, library.torch.Tensor):
        return np.array(value.detach().resolve_conj().numpy())
    return np.array(value)


def _cotangent(library: Library, output: Any) -> Any:
    numbers = (np.arange(output.numel()) % 7 - 3) / 4
    tensor = library.torch.tensor(numbers.reshape(output.shape))
    return tensor.to(output.dtype)


def signature(function: Any) -> list[list[str]]:
    """Names, kinds and defaults of parameters; functions and classes by their last name."""
    target = function.__init__ if inspect.isclass(function) else function
    if target.__qualname__ == "Module.__init__":  # PyTorch's takes anything
        return []
    return [
        [name, parameter.kind.name, _default(parameter)]
        for name, parameter in inspect.signature(target).parameters.items()
    ]


def _default(parameter: inspect.Parameter) -> str:
    value = parameter.default
    if value is parameter.empty:
        return ""
    return value.__name__ if callable(value) else repr(value)


def differences(
    found: dict[str, np.ndarray], expected: dict[str, np.ndarray], scale: float = 1.0
) -> list[str]:
    """What differs, by name; `scale` widens the tolerance of float32."""
    if NO_GRADIENT in expected:
        expected = {name: value for name, value in expected.items() if name != NO_GRADIENT}
        found = {name: found[name] for name in expected if name in found}
    if set(found) != set(expected):
        what = [str(found[name]) for name in ("error",) if name in found]
        return [f"values {sorted(found)} {what}, expected {sorted(expected)}"]
    pairs = ((name, _differs(found[name], expected[name], scale)) for name in sorted(expected))
    return [f"{name}: {why}" for name, why in pairs if why]


def _differs(found: np.ndarray, expected: np.ndarray, scale: float) -> str:
    if found.shape != expected.shape:
        return f"shape {found.shape}, expected {expected.shape}"
    if expected.dtype.kind not in "fc":
        return "" if np.array_equal(found, expected) else f"{found} instead of {expected}"
    if found.dtype != expected.dtype:
        return f"dtype {found.dtype}, expected {expected.dtype}"
    relative = 1e-5 * scale if expected.dtype in (np.float32, np.complex64) else 1e-9
    finite = np.abs(expected[np.isfinite(expected)])
    absolute = relative * max(float(finite.max(initial=0.0)), 1e-30)
    if np.allclose(found, expected, relative, absolute, equal_nan=True):
        return ""
    return f"differs by {np.nanmax(np.abs(found - expected))} of {finite.max(initial=0.0)}"


def save(path: Path, records: dict[str, dict[str, np.ndarray]]) -> None:
    """Write results by the name of their call as one compressed file."""
    arrays = {
        f"{call}|{name}": value for call, each in records.items() for name, value in each.items()
    }
    np.savez_compressed(path, **arrays)


def load(path: Path) -> dict[str, dict[str, np.ndarray]]:
    """What :func:`save` wrote."""
    records: dict[str, dict[str, np.ndarray]] = {}
    with np.load(path) as file:
        for key in file.files:
            call, _, name = key.partition("|")
            records.setdefault(call, {})[name] = file[key]
    return records


def load_signatures(path: Path) -> dict[str, list[list[str]]]:
    return json.loads(path.read_text())
