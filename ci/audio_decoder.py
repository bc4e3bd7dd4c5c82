"""Write down what torchaudio's CTC decoder (flashlight's and KenLM's) finds, for the tests of
`rushlight_audio.models.decoder`.

Usage: python ci/audio_decoder.py      where torchaudio and flashlight-text are
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "audio" / "tests"
sys.path.insert(0, str(TESTS / "models"))

import decoder_cases  # noqa: E402
import network_measures  # noqa: E402

PATH = TESTS / "recorded" / "decoder.json"
SIGNATURES = (
    "ctc_decoder", "download_pretrained_files", "CUCTCDecoder", "CUCTCHypothesis",
    "cuda_ctc_decoder", "CTCHypothesis", "CTCDecoder",
)  # fmt: skip


def main() -> int:
    import torch
    from torchaudio.models import decoder

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        decoder_cases.write_files(Path(folder))
        for name in decoder_cases.CASES:
            made = decoder.ctc_decoder(**decoder_cases.options(name, Path(folder)))
            seeds = decoder_cases.SEEDS
            found[name] = [decoder_cases.searched(torch, made, seed) for seed in seeds]
        drawn = []
        for seed in decoder_cases.DRAWN:
            options, scores = decoder_cases.drawn(seed, Path(folder))
            made = decoder.ctc_decoder(**options)
            drawn.append(decoder_cases.result(made(torch.tensor(scores))))
    signatures = {name: network_measures.signature(getattr(decoder, name)) for name in SIGNATURES}
    PATH.write_text(json.dumps({"cases": found, "drawn": drawn, "signatures": signatures}) + "\n")
    print(f"{len(found)} cases: {PATH.stat().st_size // 1000} kB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
