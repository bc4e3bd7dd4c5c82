"""What the host decides of tensors on a GPU: the beginning of speech, tempo and beats. Run by
`test_cuda.py` on the emulator; fails where a result differs from the CPU's or leaves the device."""

from __future__ import annotations

import rushlight as rl
from rushlight_audio import analysis as A
from rushlight_audio import functional as F


def speech() -> rl.Tensor:
    """Noise, then a voiced sound from 0.8 s on."""
    time = rl.arange(16000) / 8000
    voice = sum(rl.sin(6.283185307179586 * 120 * k * time) / k for k in range(1, 12))
    noise = rl.randn(1, 16000, generator=rl.Generator().manual_seed(0)) * 0.003
    return noise + 0.2 * voice * (time > 0.8)


def pulses() -> rl.Tensor:
    """Onset strength of two beats a second at 43 frames a second."""
    strength = rl.zeros(344)
    strength[::21] = 1.0
    return strength


waveform, strength = speech(), pulses()
expected = F.vad(waveform, 8000)
found = F.vad(waveform.cuda(), 8000)
assert found.is_cuda and 0 < found.shape[-1] < 16000
assert rl.equal(found.cpu(), expected)

beats = A.track_beats(strength.cuda(), 22050)
assert beats.is_cuda and beats.numel() > 10
assert rl.equal(beats.cpu(), A.track_beats(strength, 22050))
assert A.tempo(strength.cuda(), 22050) == A.tempo(strength, 22050) > 0
print("speech and beats")
