"""Damaged sound files: short ones of every format, mutated; what must hold of each.

The tests try some hundred, ci/fuzz_audio.py tens of thousands.
"""

from __future__ import annotations

import io
import random
import struct

import numpy as np

import rushlight as rl
import rushlight_audio as ra

RATE = 8000
FRAMES = 300
# Name: format and options of `save`.
SEEDS = {
    "wav16": ("wav", {"bits_per_sample": 16}),
    "wav8": ("wav", {"bits_per_sample": 8}),
    "wav24": ("wav", {"bits_per_sample": 24}),
    "wav32": ("wav", {"encoding": "PCM_S", "bits_per_sample": 32}),
    "float": ("wav", {"encoding": "PCM_F", "bits_per_sample": 32}),
    "double": ("wav", {"encoding": "PCM_F", "bits_per_sample": 64}),
    "ulaw": ("wav", {"encoding": "ULAW"}),
    "alaw": ("wav", {"encoding": "ALAW"}),
    "rf64": ("rf64", {"bits_per_sample": 16}),
    "w64": ("w64", {"bits_per_sample": 16}),
    "aiff": ("aiff", {"bits_per_sample": 16}),
    "au": ("au", {"bits_per_sample": 16}),
    "caf": ("caf", {"bits_per_sample": 16}),
    "sph": ("sph", {"bits_per_sample": 16}),
    "flac": ("flac", {}),
    "ogg": ("ogg", {}),
    "opus": ("opus", {}),
    "mp3": ("mp3", {}),
}
# Formats of which every beginning is a beginning of the samples.
PLAIN = {name for name in SEEDS if name not in ("flac", "ogg", "opus", "mp3")}
# What a header may lie with: lengths, rates, channels.
LIES = (0, 1, 2, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 10_000_000)
ALLOWED = (RuntimeError, ValueError)
# No file of a few kilobytes holds more samples than this.
MOST = 50_000_000


def samples(channels=2):
    values = np.random.default_rng(0).uniform(-0.9, 0.9, (channels, FRAMES))
    return rl.from_numpy(values.astype(np.float32))


def seeds():
    """The bytes of a short file of each kind."""
    found = {}
    for name, (format, options) in SEEDS.items():
        file = io.BytesIO()
        ra.save(file, samples(), RATE, format=format, **options)
        found[name] = file.getvalue()
    return found


def mutated(data, source):
    """A damaged copy, and what was done to it."""
    data = bytearray(data)
    kind = source.choice(("bytes", "header", "cut", "insert", "drop", "repeat", "lie"))
    if kind in ("bytes", "header"):
        reach = len(data) if kind == "bytes" else min(len(data), 64)
        for _ in range(source.randint(1, 8)):
            data[source.randrange(reach)] = source.randrange(256)
    elif kind == "cut":
        del data[source.randrange(1, len(data)) :]
    elif kind == "lie":
        at = source.randrange(min(len(data), 128))
        order = source.choice("<>")
        data[at : at + 4] = struct.pack(f"{order}I", source.choice(LIES))
    else:
        begin = source.randrange(len(data))
        end = min(len(data), begin + source.randint(1, 40))
        part = bytes(data[begin:end])
        if kind == "drop":
            del data[begin:end]
        else:
            extra = part if kind == "repeat" else source.randbytes(len(part))
            data[begin:begin] = extra
    return bytes(data), kind


def fault(name, kind, data, backend=None):
    """What is wrong with how a damaged file is read; "" where it is an error that is allowed, or
    samples that can be right."""
    try:
        facts = ra.info(io.BytesIO(data), backend=backend)
        waveform, rate = ra.load(io.BytesIO(data), backend=backend)
    except ALLOWED as error:
        return "" if str(error) else "an error without a word"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if waveform.dim() != 2 or waveform.numel() == 0 or waveform.numel() > MOST:
        return f"a shape of {list(waveform.shape)}"
    if rate < 1 or rate != facts.sample_rate:
        return f"a rate of {rate}, said to be {facts.sample_rate}"
    if waveform.shape[0] != facts.num_channels:
        return f"{waveform.shape[0]} channels, said to be {facts.num_channels}"
    if waveform.shape[1] != facts.num_frames:
        return f"{waveform.shape[1]} frames, said to be {facts.num_frames}"
    return _part_fault(name, kind, data, waveform, facts, backend)


def _part_fault(name, kind, data, waveform, facts, backend):
    """What is wrong with a part of a file that reads as a whole, or with a file that was cut."""
    middle = facts.num_frames // 2
    part = ra.load(io.BytesIO(data), middle, 20, backend=backend)[0]
    whole = waveform[:, middle : middle + 20]
    if not rl.equal(part.nan_to_num(), whole.nan_to_num()):
        return "a part is not that part of the whole"
    if kind == "cut" and name in PLAIN and backend is None:
        original = ra.load(io.BytesIO(_SEEDS[name]))[0][:, : waveform.shape[1]]
        if waveform.shape == original.shape and not rl.equal(waveform, original):
            return "a file that was cut has other samples"
    return ""


_SEEDS = seeds()


def case(number, backend=None):
    """(name, kind, bytes, fault) of one case by its number."""
    source = random.Random(number)
    name = sorted(_SEEDS)[number % len(_SEEDS)]
    data, kind = mutated(_SEEDS[name], source)
    return name, kind, data, fault(name, kind, data, backend)
