"""Write down which numbers torchaudio's functions, transforms and networks draw, for the tests of
"the same draws for the same seed".

Usage: python ci/audio_draws.py      where torchaudio is
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1] / "audio" / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "models")]

import draws  # noqa: E402
import network_draws  # noqa: E402
import network_measures  # noqa: E402
import torchaudio_calls as calls  # noqa: E402

POSITIONS = TESTS / "recorded" / "draws.json"
VALUES = TESTS / "recorded" / "draws.npz"
WEIGHTS = TESTS / "recorded" / "network_draws.npz"
FAULTS = (IndexError,)  # where a mask of channels has no span


def main() -> int:
    import torch
    import torchaudio
    import torchaudio.compliance.kaldi
    from torchaudio import models

    warnings.simplefilter("ignore")
    library = calls.Library(torch, torchaudio)
    still = [draws.untouched(torch, seed) for seed in draws.SEEDS]
    found: dict[str, Any] = {"untouched": still, "calls": {}, "networks": {}}
    values, weights = {}, {}
    for name in draws.CALLS:
        positions, results = draws.measure(library, name)
        if positions != still:
            found["calls"][name], values[name] = positions, results
    for name in network_draws.CASES:
        found["networks"][name], weights[name] = network_draws.measure(torch, models, name, FAULTS)
    POSITIONS.write_text(json.dumps(found) + "\n")
    calls.save(VALUES, values)
    network_measures.save(str(WEIGHTS), weights)
    sizes = [path.stat().st_size // 1000 for path in (POSITIONS, VALUES, WEIGHTS)]
    print(f"{len(values)} of {len(draws.CALLS)} calls draw, {len(weights)} networks; {sizes} kB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
