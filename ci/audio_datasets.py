"""Items of torchaudio's data sets from small imitated folders, and the signatures of all classes,
for the tests of rushlight_audio.

torchaudio 2.9 needs TorchCodec to read files; here PyAV takes its place.

Usage: python ci/audio_datasets.py [FOLDER]      in an environment with torchaudio and av
"""

from __future__ import annotations

import inspect
import json
import sys
import tempfile
from pathlib import Path

import av
import numpy as np
import torch
import torchaudio

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT / "audio" / "tests" / "recorded"
sys.path.insert(0, str(ROOT / "audio" / "tests" / "datasets"))

from folders import FOLDERS, results  # noqa: E402


def load(uri, frame_offset=0, num_frames=-1):
    """What `torchaudio.load` gives, of a WAV of 16 bits."""
    with av.open(str(uri)) as container:
        stream = container.streams.audio[0]
        parts = [frame.to_ndarray().reshape(-1, stream.channels) for frame in container.decode()]
    whole = torch.from_numpy(np.concatenate(parts).T.astype(np.float32) / 32768)
    stop = None if num_frames == -1 else frame_offset + num_frames
    return whole[:, frame_offset:stop], stream.rate


def signature(kind):
    """Names, kinds and defaults of the arguments."""
    return [
        [p.name, p.kind.name, None if p.default is p.empty else repr(p.default)]
        for p in inspect.signature(kind).parameters.values()
    ]


def main() -> int:
    torchaudio.load = load
    found = {}
    for name in sorted(FOLDERS):
        kind = getattr(torchaudio.datasets, name)
        with tempfile.TemporaryDirectory() as root:
            found[name] = {"signature": signature(kind), "calls": results(kind, name, root)}
    assert set(found) == set(torchaudio.datasets.__all__), "a data set has no folder"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else RECORDED
    (folder / "datasets.json").write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
