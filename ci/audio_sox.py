"""What SoX 14.4.2 makes of the chains in audio/tests/sox_calls.py, for the tests of
rushlight_audio: of each result its shape, rate, and some samples.

Usage: python ci/audio_sox.py [FOLDER]      where a command `sox` is found, or $SOX names it
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT / "audio" / "tests" / "recorded"
SOX = os.environ.get("SOX", "sox")
sys.path.insert(0, str(ROOT / "audio" / "tests"))

from sox_calls import RATE, RATES, calls, waveform  # noqa: E402

# Effects that change the rate that the sound is said to have; the command would resample it back.
CHANGING = {"speed", "pitch", "rate", "upsample", "downsample"}


def rate_after(words: list[str]) -> float:
    """The rate that SoX gives a chain's sound."""
    name, value = words[0], words[-1]
    if name == "rate":
        return float(value.replace("k", "000"))
    if name == "speed":
        return RATE * (2 ** (float(value[:-1]) / 1200) if value[-1] == "c" else float(value))
    if name == "pitch":
        return RATE * 2 ** (float(value) / 1200)
    return RATE * float(value) if name == "upsample" else RATE / float(value)


def result(name: str, words: list[str], work: Path) -> tuple[np.ndarray, float]:
    """Samples ``[C, T]`` of a chain, and their rate."""
    samples = waveform(name, np)
    source, target = work / "in.s32", work / "out.f64"
    (samples.T * 2.0**31).astype("<i4").tofile(source)
    before = RATES.get(name, RATE)
    rate = rate_after(words) if words[0] in CHANGING else before
    form = ["-t", "raw", "-e", "signed-integer", "-b", "32", "-r", str(before)]
    form += ["-c", str(len(samples)), str(source)]
    channels = _channels(words, len(samples))
    out = ["-t", "raw", "-e", "floating-point", "-b", "64", "-r", repr(rate), "-c", str(channels)]
    done = subprocess.run(
        [SOX, "-D", "-R", *form, *out, str(target), *words], capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{words}: {done.stderr}")
    found = np.fromfile(target, "<f8")
    return found.reshape(-1, channels).T, rate


def _channels(words: list[str], before: int) -> int:
    if words[0] == "channels":
        return int(words[1])
    if words[0] == "remix":
        return len([word for word in words[1:] if word not in ("-m", "-a", "-p")])
    is_wide = words[0] == "reverb" and not (len(words) > 4 and words[-1] == "0")
    return 2 if is_wide and before == 1 else before


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else RECORDED
    found = {}
    with tempfile.TemporaryDirectory() as work:
        for _, name, words in calls():
            samples, rate = result(name, words, Path(work))
            key = f"{name}: {' '.join(words)}"
            found[f"{key}|facts"] = np.array([*samples.shape, rate, np.sqrt((samples**2).mean())])
            step = max(1, samples.shape[1] // 60)
            found[f"{key}|samples"] = samples[:, ::step].astype(np.float32)
    np.savez_compressed(folder / "sox.npz", **found)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
