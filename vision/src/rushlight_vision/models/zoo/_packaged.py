"""Weights that are files of this package: float16 in safetensors, and what is known of them."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import rushlight as rl
from rushlight_vision.models._api import Builder, Weights, WeightsEnum, register_model

FOLDER = Path(__file__).with_name("weights")


class PackagedWeights(WeightsEnum):
    """Entries whose files are in the package; `url` is the file's own address on this machine."""

    @property
    def path(self) -> Path:
        """The file."""
        return FOLDER / self.meta["file"]

    def get_state_dict(self, *args: Any, check_hash: bool = True, **kwargs: Any) -> Mapping:
        """The state dict, read from the package, in float32.

        `check_hash` compares the file's SHA-256 with what training wrote down; RuntimeError if it
        is another. The arguments of a download (`progress`, `map_location`, ...) change nothing.
        """
        data = self.path.read_bytes()
        found = hashlib.sha256(data).hexdigest()
        if check_hash and found != self.meta["sha256"]:
            raise RuntimeError(
                f"{self.path} is damaged: SHA-256 {found}, expected {self.meta['sha256']}; "
                "install rushlight-vision again"
            )
        state = rl.safetensors.load(data)
        return {
            name: each.float() if each.is_floating_point() else each for name, each in state.items()
        }


@functools.cache
def _facts() -> dict[str, dict[str, Any]]:
    return json.loads((FOLDER / "facts.json").read_text(encoding="utf-8"))


def packaged(name: str, transforms: Callable[..., Any]) -> Weights:
    """The weights of the model called `name`, described by ``facts.json``.

    Their `meta` has ``data``, ``licence``, ``recipe`` (the command that trains them), ``date``,
    ``num_params``, ``categories`` (None where there are none), ``_metrics`` on the data held out,
    ``file`` and ``sha256``.
    """
    meta = _facts().get(name, {"file": f"{name}.safetensors"})  # none before the first training
    return Weights((FOLDER / meta["file"]).as_uri(), transforms, meta)


def zoo_model(weights: type[PackagedWeights]) -> Callable[[Builder], Builder]:
    """A decorator for builders: known by name, `weights` given as an entry, its name, or None."""

    def decorate(builder: Builder) -> Builder:
        @functools.wraps(builder)
        def call(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> Any:
            return builder(weights=enum.verify(weights), progress=progress, **kwargs)

        return register_model()(call)  # type: ignore[return-value]

    enum = weights
    return decorate
