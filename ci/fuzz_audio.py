"""Damaged sound files, by the ten thousand: a documented error, or samples that can be right.

Short files of eighteen kinds are mutated (`audio/tests/damage.py`: bytes, headers that lie, pieces
lost, repeated and put in, cuts) and read by libsndfile, and by FFmpeg, in child processes: one that
crashes, hangs or takes memory is found by its number. Then files of ten hours are read in parts and
streamed, in bounded memory.

Usage: python ci/fuzz_audio.py [--cases 50000] [--seed 0] [--show NUMBER]
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

from fuzz_children import tried

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "audio" / "tests"))

BATCH = 2500
SECONDS = 120  # of a batch, after which it hangs
MEMORY = 600 << 20  # bytes that a child may hold at most
BACKENDS = ("any", "ffmpeg")
HOURS = 10


def batch(begin: int, end: int, backend: str) -> None:
    """Try cases in this process; print those with a fault."""
    import damage

    chosen = None if backend == "any" else backend
    for number in range(begin, end):
        name, kind, _, fault = damage.case(number, chosen)
        if fault:
            print(f"case {number} ({name}, {kind}, {backend}): {fault}")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    if most > MEMORY:
        print(f"cases {begin} to {end} ({backend}): {most >> 20} MB were held")


def sparse(path: Path, rate: int, seconds: int) -> int:
    """A WAV of silence that takes no room on the disk; gives its frames."""
    import struct

    frames = rate * seconds
    size = 2 * frames
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", size + 36, b"WAVE", b"fmt ", 16, 1, 1, rate,
                       2 * rate, 2, 16, b"data", size)  # fmt: skip
    with open(path, "wb") as file:
        file.write(head)
        file.truncate(len(head) + size)
        file.seek(len(head) + 2 * (frames - 2))
        file.write(struct.pack("<hh", 1000, -1000))
    return frames


def long_files() -> list[str]:
    """Faults of files of ten hours, read in parts and streamed."""
    import rushlight_audio as ra

    faults = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.wav"
        frames = sparse(path, 16000, HOURS * 3600)
        ra.io.StreamReader(path)  # what is imported at the first use does not count
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if ra.info(path).num_frames != frames:
            faults.append(f"info says {ra.info(path).num_frames} of {frames} frames")
        end = ra.load(path, frame_offset=frames - 3)[0][0].mul(32768).tolist()
        if end != [0.0, 1000.0, -1000.0]:
            faults.append(f"the last samples are {end}")
        reader = ra.io.StreamReader(path)
        reader.add_basic_audio_stream(160000, 2)
        seen = sum(len(chunk) for (chunk,) in reader.stream())
        if seen != frames:
            faults.append(f"{seen} of {frames} frames streamed")
        more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
        if more > 100 << 20:
            faults.append(f"{more >> 20} MB more were held for {HOURS} hours")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=50000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, help="say what one case gives")
    parser.add_argument("--batch", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.batch:
        batch(int(options.batch[0]), int(options.batch[1]), options.batch[2])
        return 0
    if options.show is not None:
        import damage

        name, kind, data, fault = damage.case(options.show)
        print(f"{name}, {kind}, {len(data)} bytes: {fault or 'no fault'}")
        return 0
    started, faults = time.monotonic(), long_files()
    first = options.seed * options.cases
    share = options.cases // len(BACKENDS)
    for backend in BACKENDS:
        for begin in range(first, first + share, BATCH):
            faults += tried(__file__, begin, min(begin + BATCH, first + share), SECONDS, backend)
    print("\n".join(faults))
    print(
        f"fuzz_audio: {options.cases} damaged files, {len(faults)} faults, "
        f"{time.monotonic() - started:.0f} s"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
