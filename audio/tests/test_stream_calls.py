"""Streams and effects give what torchaudio 2.8 gives, the last version that had them.

`recorded/streams.json` is made by ci/audio_streams.py from the scenarios in `stream_calls.py`.
"""

import importlib.util
import json
import math
from pathlib import Path

import pytest

import rushlight as rl
import rushlight_audio as ra

pytest.importorskip("av")
HERE = Path(__file__).parent
RECORDED = json.loads((HERE / "recorded" / "streams.json").read_text())
_spec = importlib.util.spec_from_file_location("audio_stream_calls", HERE / "stream_calls.py")
stream_calls = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(stream_calls)


def test_all_scenarios_are_recorded():
    assert set(RECORDED) == set(stream_calls.SCENARIOS)


def differences(ours, theirs, where=""):
    if isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            return [f"{where}: {len(ours)} instead of {len(theirs)}"]
        pairs = enumerate(zip(ours, theirs, strict=True))
        return [d for i, (a, b) in pairs for d in differences(a, b, f"{where}[{i}]")]
    if isinstance(ours, float) and isinstance(theirs, (int, float)):
        # FFmpeg of another version: filters differ in the last bits of float32.
        alike = math.isclose(ours, theirs, rel_tol=1e-4, abs_tol=1e-4)
    else:
        alike = ours == theirs
    return [] if alike else [f"{where}: {ours} instead of {theirs}"]


# Where this differs on purpose: PCM has its bits; a chunk behind dropped ones has its own time
# (torchaudio gives it that of the first); what an effector gives has a time.
MEANT = {
    "source_info": lambda found: found[:3] + [0] + found[4:],
    "small_buffer": lambda found: [
        [[*chunk[:2], chunk[2] - 1.0, *chunk[3:]] if chunk else None for chunk in chunks]
        for chunks in found
    ],
    "effects": lambda found: [[*chunk[:2], None, *chunk[3:]] for chunk in found],
    "effect_dtypes": lambda found: [[*chunk[:2], None, *chunk[3:]] for chunk in found],
    "effect_lengths": lambda found: [
        [*chunk[:2], None, *chunk[3:]] if len(chunk) > 2 else chunk for chunk in found
    ],
}


@pytest.mark.parametrize("name", sorted(stream_calls.SCENARIOS))
def test_scenario(name, tmp_path):
    found = json.loads(json.dumps(stream_calls.SCENARIOS[name](rl, ra.io, tmp_path)))
    found = MEANT.get(name, lambda value: value)(found)
    assert differences(found, RECORDED[name]) == []
