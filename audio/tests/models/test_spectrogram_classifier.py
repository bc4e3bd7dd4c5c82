"""The spectrogram classifier learns to tell tones, chirps and noise, from the waveform on."""

import math

import pytest

import rushlight as rl
from rushlight import nn, optim
from rushlight.utils.data import DataLoader, TensorDataset
from rushlight_audio.models import SpectrogramClassifier

RATE = 8000
LENGTH = 2000
CLASSES = ("low tone", "high tone", "rising", "falling")


def sounds(count):
    """Sounds of random pitch and loudness in noise, a quarter of each class."""
    time = rl.arange(LENGTH) / RATE
    span = LENGTH / RATE
    labels = rl.arange(count) % len(CLASSES)
    low = 200 + 500 * rl.rand(count)
    high = 1500 + 1500 * rl.rand(count)
    start = rl.where((labels == 0) | (labels == 2), low, high).unsqueeze(1)
    end = rl.where((labels == 0) | (labels == 3), low, high).unsqueeze(1)
    turns = start * time + (end - start) * time.square() / (2 * span)
    loudness = 0.05 + 0.95 * rl.rand(count, 1)
    tone = rl.sin(2 * math.pi * (turns + rl.rand(count, 1)))
    return loudness * (tone + 0.3 * rl.randn(count, LENGTH)), labels


def test_learns_tones_and_chirps():
    rl.manual_seed(0)
    training, held_out = sounds(240), sounds(200)
    model = SpectrogramClassifier(len(CLASSES), RATE, n_fft=256, n_mels=24, channels=(8, 16))
    optimizer = optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(5):
        model.train()
        for waveforms, labels in DataLoader(TensorDataset(*training), 24, shuffle=True):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(waveforms), labels).backward()
            optimizer.step()
    model.eval()
    with rl.no_grad():
        found = model(held_out[0]).argmax(1)
    share = (found == held_out[1]).float().mean().item()
    assert share > 0.9, f"{100 * share:.1f} % of held-out sounds"


def test_shapes_loudness_and_gradient():
    rl.manual_seed(0)
    model = SpectrogramClassifier(3, RATE, n_fft=256, n_mels=24).eval()
    waveforms = rl.randn(2, LENGTH, requires_grad=True)
    logits = model(waveforms)
    assert logits.shape == (2, 3)
    assert rl.allclose(model(waveforms.unsqueeze(1)), logits)
    assert rl.allclose(model(0.1 * waveforms), logits, atol=1e-3)
    logits.square().sum().backward()
    assert waveforms.grad.abs().amax(dim=1).min().item() > 0


def test_bad_input():
    model = SpectrogramClassifier(3, RATE, n_fft=256, n_mels=24)
    with pytest.raises(ValueError, match=r"\[B, T\] or \[B, 1, T\], got \[2, 2, 2000\]"):
        model(rl.zeros(2, 2, LENGTH))
    with pytest.raises(ValueError, match="num_classes=0"):
        SpectrogramClassifier(0)
