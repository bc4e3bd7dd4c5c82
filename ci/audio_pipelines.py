"""Write down what torchaudio's pipelines give and ask for, for the tests of
`rushlight_audio.pipelines`.

Usage: python ci/audio_pipelines.py      where torchaudio is
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

TESTS = Path(__file__).resolve().parents[1] / "audio" / "tests"
sys.path.insert(0, str(TESTS / "models"))

import numpy as np  # noqa: E402
import pipeline_cases  # noqa: E402

VALUES = TESTS / "recorded" / "pipelines.npz"
FACTS = TESTS / "recorded" / "pipelines.json"
PATCHES = [
    "torchaudio.pipelines._wav2vec2.utils.load_state_dict_from_url",
    "torchaudio.pipelines._tts.impl.load_state_dict_from_url",
    "torchaudio.utils.download.download_url_to_file",
]


def small(torch: Any, audio: Any) -> dict[str, np.ndarray]:
    """Small bundles, whose files are made on the way."""
    states: dict[str, Any] = {}
    folder = Path(tempfile.mkdtemp())

    def provide(path: str, value: Any) -> None:
        states[path] = value
        file = folder / "torchaudio" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith("json"):
            file.write_text(json.dumps(value))
        else:
            torch.save(value, file)

    def load(url: str, **kwargs: Any) -> Any:
        return dict(states[url.rpartition("/")[2]])

    torch.hub.set_dir(str(folder))
    with mock.patch(PATCHES[0], load), mock.patch(PATCHES[1], load):
        return pipeline_cases.measured(torch, audio, provide)


def main() -> int:
    import torch
    import torchaudio

    found = small(torch, torchaudio)
    np.savez_compressed(VALUES, **found)
    torch.hub.set_dir(tempfile.mkdtemp())
    names = sorted(torchaudio.pipelines.__all__)
    facts = {
        "published": pipeline_cases.published(torch, torchaudio, PATCHES, names),
        "signatures": pipeline_cases.signatures(torchaudio),
    }
    FACTS.write_text(pipeline_cases.dump(facts), encoding="utf-8")
    print(f"{len(found)} values of small bundles, {len(facts['published'])} published ones")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
