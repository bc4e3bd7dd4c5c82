"""What torchaudio 2.8, the last with streams, gives for the scenarios of stream_calls.py.

It needs the FFmpeg that its wheel was made for (4 to 6) besides PyTorch 2.8.

Usage: python ci/audio_streams.py [FOLDER]      in an environment with torchaudio 2.8 and FFmpeg
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import torch
import torchaudio

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT / "audio" / "tests" / "recorded"
sys.path.insert(0, str(ROOT / "audio" / "tests"))

from stream_calls import results  # noqa: E402


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else RECORDED
    with tempfile.TemporaryDirectory() as work:
        found = results(torch, torchaudio.io, Path(work))
    (folder / "streams.json").write_text(json.dumps(found, indent=0) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
