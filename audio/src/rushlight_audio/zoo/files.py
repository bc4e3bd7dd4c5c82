"""Files of packaged networks: weights in float16, the sizes of the network beside them."""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from rushlight import nn
from rushlight.serialization import safetensors

__all__ = ["Packaged", "facts", "packaged_file"]

FOLDER = Path(__file__).with_name("weights")
Network = TypeVar("Network", bound="Packaged")


@functools.cache
def facts() -> dict[str, dict[str, Any]]:
    """What is known of each network: ``data``, ``licence``, ``recipe``, ``date``, ``num_params``,
    ``_metrics`` on data held out, ``file``, ``sha256``.

    >>> from rushlight_audio.zoo import facts
    >>> facts()["vad"]["num_params"]
    49729
    """
    return json.loads((FOLDER / "facts.json").read_text(encoding="utf-8"))


def packaged_file(name: str) -> Path:
    """The file of a packaged network.

    Raises ValueError for an unknown name, RuntimeError where the file is damaged.
    """
    if name not in facts():
        raise ValueError(f"no packaged network is called {name!r}; there are {sorted(facts())}")
    path = FOLDER / facts()[name]["file"]
    if hashlib.sha256(path.read_bytes()).hexdigest() != facts()[name]["sha256"]:
        raise RuntimeError(f"{path} is damaged: install rushlight-audio again")
    return path


class Packaged(nn.Module):
    """A network whose sizes, in `config`, are the arguments of its class."""

    config: dict[str, Any]
    predict: Callable[..., Any]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one file."""
        state = {
            name: value.half() if value.is_floating_point() else value
            for name, value in self.state_dict().items()
        }
        notes = {"kind": type(self).__name__, "config": json.dumps(self.config)}
        safetensors.save_file(state, path, metadata=notes)

    @classmethod
    def load(cls: type[Network], path: str | os.PathLike[str]) -> Network:
        """Read what :meth:`save` wrote, in evaluation mode.

        Raises ValueError for a file of another kind.
        """
        notes = _notes(path)
        if notes.get("kind") != cls.__name__:
            raise ValueError(f"{os.fspath(path)}: no packaged {cls.__name__}")
        network = cls(**json.loads(notes["config"]))
        state = {
            name: value.float() if value.is_floating_point() else value
            for name, value in safetensors.load_file(path).items()
        }
        network.load_state_dict(state)
        return network.eval()


def _notes(path: str | os.PathLike[str]) -> dict[str, str]:
    """The strings in the header of a safetensors file."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return header.get("__metadata__", {})
