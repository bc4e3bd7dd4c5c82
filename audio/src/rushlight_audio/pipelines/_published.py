"""Where torchaudio publishes weights, and what is known of its bundles.

Files are looked for in the folders that torchaudio uses: ``checkpoints`` and ``torchaudio`` in
:func:`rushlight.hub.get_dir`.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import rushlight as rl

__all__ = ["asset", "state_at", "wav2vec2_facts", "with_weights"]

Network = TypeVar("Network", bound=rl.nn.Module)
ADDRESS = "https://download.pytorch.org/torchaudio"


@functools.cache
def wav2vec2_facts() -> dict[str, dict[str, Any]]:
    """Configurations of the bundles of wav2vec 2.0, HuBERT and WavLM, by name."""
    path = Path(__file__).with_name("published") / "wav2vec2.json"
    return json.loads(path.read_text(encoding="utf-8"))


def state_at(path: str, dl_kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
    """The state dict of a file among ``models``, or at an address, fetched unless the folder
    ``checkpoints`` has it."""
    url = path if path.startswith("https") else f"{ADDRESS}/models/{path}"
    return rl.hub.load_state_dict_from_url(url, **(dl_kwargs or {}))


def _folder(key: str) -> Path:
    return Path(rl.hub.get_dir()) / "torchaudio" / Path(key).parent


def with_weights(model: Network, key: str) -> Network:
    """A network with the weights of an asset such as ``"models/hdemucs_high_trained.pt"``, for
    evaluation."""
    state = rl.hub.load_state_dict_from_url(
        f"{ADDRESS}/{key}", model_dir=str(_folder(key)), map_location="cpu"
    )
    model.load_state_dict(state)
    return model.eval()


def asset(key: str) -> Path:
    """The path of an asset, fetched unless it is there."""
    folder = _folder(key)
    path = folder / Path(key).name
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        try:
            rl.hub.download_url_to_file(f"{ADDRESS}/{key}", str(path))
        except OSError as error:
            hint = f"Without network, put the file into {folder} as {path.name}"
            raise OSError(f"{error}. {hint}") from error
    return path
