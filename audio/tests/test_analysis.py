"""Music analysis against recorded results of librosa 0.11, definitions, and known sounds."""

import math
import sys

import analysis_inputs as inputs
import numpy as np
import pytest
import torchaudio_calls

import rushlight as rl
from rushlight_audio import analysis as A
from rushlight_audio import functional as F
from rushlight_audio import transforms as T
from rushlight_audio.analysis import constant_q

RECORDED = np.load(torchaudio_calls.RECORDED / "librosa.npz")
SOUND = rl.from_numpy(inputs.melody())


def near(found, name, tolerance=1e-5):
    np.testing.assert_allclose(found.numpy(), RECORDED[name], tolerance, tolerance)


def test_chroma_agrees_with_librosa():
    near(A.chroma_filters(8000, 256), "chroma_filters", 1e-6)
    near(A.chroma_filters(8000, 256, 24, 0.3), "chroma_filters 24", 1e-6)
    near(A.Chromagram(8000, 1024, 512)(SOUND), "chromagram")
    assert A.Chromagram(8000, 512)(rl.zeros(2, 3, 4000)).abs().max() == 0
    with pytest.raises(ValueError, match="multiple of 12, got 13"):
        A.chroma_filters(8000, 256, 13)


def test_chroma_hears_the_notes():
    found = A.Chromagram(8000, 2048)(SOUND)
    classes = found[:, [2, 10, 18, 26]].argmax(0)  # a frame in each note: A, C sharp, E, A
    assert classes.tolist() == [9, 1, 4, 9]


def test_onset_strength_agrees_with_librosa():
    near(A.onset_strength(SOUND, 8000, 512, 128, 40), "onset_strength", 1e-4)
    batch = A.onset_strength(rl.stack([SOUND, SOUND.flip(0)]), 8000, 512, 128, 40)
    near(batch[0], "onset_strength", 1e-4)


OPTIONS = {
    "even": {},
    "margins": {"margin": (1.5, 2.0), "power": 1.0},
    "sizes": {"kernel_size": (7, 45)},
    "hard": {"power": math.inf},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_masks_agree_with_librosa(name):
    magnitudes = rl.from_numpy(np.abs(inputs.noise(20, 24, seed=3)))
    found = A.harmonic_percussive_masks(magnitudes, **{"kernel_size": 5, **OPTIONS[name]})
    near(rl.stack(found).float(), f"masks {name}", 1e-6)


def test_parts_add_up_and_are_told_apart():
    time = rl.arange(16000) / 8000
    tone, knocks = 0.3 * rl.sin(2 * rl.pi * 500 * time), rl.zeros(16000)
    knocks[2000::4000] = 1.0
    harmonic, percussive = A.harmonic_percussive(tone + knocks, 512)
    rl.testing.assert_close(harmonic + percussive, tone + knocks, atol=1e-5, rtol=0)
    inner = slice(1000, 15000)
    assert (harmonic - tone)[inner].square().mean() < 0.05 * tone.square().mean()
    assert percussive[2000::4000].min() > 0.7
    assert [list(p.shape) for p in A.harmonic_percussive(rl.randn(2, 3, 999), 64)] == [
        [2, 3, 999]
    ] * 2


def test_masks_are_checked():
    with pytest.raises(ValueError, match="kernel_size must be odd, got 4"):
        A.harmonic_percussive_masks(rl.ones(5, 5), 4)
    with pytest.raises(ValueError, match="margin must be 1 or more"):
        A.harmonic_percussive_masks(rl.ones(5, 5), 3, margin=0.5)
    with pytest.raises(ValueError, match="expected magnitudes"):
        A.harmonic_percussive_masks(rl.ones(5, 5, dtype=rl.complex64))


def test_constant_q_is_its_definition():
    rate, hop, fmin, bins = 4000, 100, 220.0, 24
    x = inputs.noise(1500).astype(np.float64)
    found = A.ConstantQ(rate, hop, fmin, bins, 12, scale=False)(rl.from_numpy(x)).numpy()
    quality = (2 ** (1 / 6) + 1) / (2 ** (1 / 6) - 1)
    for k in range(0, bins, 5):
        frequency = fmin * 2 ** (k / 12)
        length = quality * rate / frequency
        time = np.arange(math.ceil(-length / 2), math.ceil(length / 2))
        window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(len(time)) / len(time))
        wave = window / window.sum() * np.exp(-2j * np.pi * frequency / rate * time)
        padded = np.pad(x, 2000)
        for t in range(found.shape[1]):
            at = 2000 + t * hop + time
            expected = (padded[at] * wave).sum()
            assert abs(found[k, t] - expected) < 2e-4  # the filter's other half is left out


def test_constant_q_agrees_with_librosa():
    """librosa resamples the sound for the lower octaves, which changes up to a hundredth."""
    found = A.ConstantQ(8000, 256, 110.0, 48, 24)(SOUND).abs().numpy()
    expected = RECORDED["constant_q"]
    assert np.abs(found - expected).max() < 0.01 * expected.max()


def test_constant_q_of_a_sine():
    time = rl.arange(22050) / 22050
    transform = A.ConstantQ(scale=False)
    found = transform(rl.sin(2 * rl.pi * 440 * time).expand(2, -1)).abs()[1, :, 20]
    assert int(found.argmax()) == 45
    assert float(found[45]) == pytest.approx(0.5, abs=1e-3)
    with pytest.raises(ValueError, match="within half the sample_rate 8000"):
        A.ConstantQ(8000)


@pytest.mark.parametrize("bpm", [90, 120, 150])
def test_beats_of_clicks(bpm):
    sound = rl.from_numpy(inputs.clicks(22050, bpm, 8.0))
    strength = A.onset_strength(sound, 22050)
    found, beats = A.tempo(strength, 22050), A.track_beats(strength, 22050).tolist()
    assert found == pytest.approx(bpm, rel=0.015)
    theirs = RECORDED[f"beats {bpm}"].tolist()
    assert set(theirs) <= set(beats)
    assert len(beats) <= len(theirs) + 1
    _, times = A.beat_times(sound, 22050)
    true = 0.3 + np.arange(len(times) + 2) * 60 / bpm
    late = times.numpy() - true[np.abs(times.numpy()[:, None] - true).argmin(1)]
    assert np.abs(late).max() < 0.05
    onsets = A.detect_onsets(strength, 22050).numpy() * 512 / 22050
    assert len(onsets) == len(np.arange(0.3, 8 - 0.05, 60 / bpm))
    assert np.abs(onsets[:, None] - true).min(1).max() < 0.05


def test_silence_has_no_beats():
    strength = A.onset_strength(rl.zeros(22050), 22050)
    assert A.tempo(strength, 22050) == 0.0
    assert A.track_beats(strength, 22050).tolist() == []
    assert A.detect_onsets(strength, 22050).tolist() == []
    for call in (A.tempo, A.track_beats, A.detect_onsets):
        with pytest.raises(ValueError, match="shape \\[frames\\]"):
            call(rl.zeros(2, 9), 22050)


@pytest.mark.parametrize("norm", ["ortho", None])
@pytest.mark.parametrize("log_mels", [False, True])
def test_cepstra_survive_their_inversion(norm, log_mels):
    options = {"n_fft": 256, "hop_length": 64, "n_mels": 20}
    transform = T.MFCC(8000, 13, norm=norm, log_mels=log_mels, melkwargs=options)
    inverse = A.InverseMFCC(transform)
    cepstra = transform(SOUND.expand(2, -1))
    mel = inverse(cepstra)
    levels = (mel + 1e-6).log() if log_mels else 10 * mel.log10()
    again = rl.matmul(levels.transpose(-1, -2), transform.dct_mat).transpose(-1, -2)
    rl.testing.assert_close(again, cepstra, atol=2e-3, rtol=1e-3)
    with pytest.raises(ValueError, match="expected \\[..., 13, frames\\]"):
        inverse(cepstra[:, :5])


def test_cepstra_become_sound():
    options = {"n_fft": 512, "hop_length": 128, "n_mels": 40}
    transform = T.MFCC(8000, 40, melkwargs=options)
    rl.manual_seed(0)
    sound = A.InverseMFCC(transform).waveform(transform(SOUND))
    mel = transform.MelSpectrogram
    one, other = (mel(x[: len(sound)]).sqrt()[:, 5:-5] for x in (SOUND, sound))
    assert rl.nn.functional.cosine_similarity(one.flatten(), other.flatten(), 0) > 0.95


def test_blocks_of_frames(monkeypatch):
    """Long sounds are looked at in blocks, which changes nothing."""
    transform, x = A.ConstantQ(8000, 100, 220.0, 24), SOUND.expand(2, -1)
    whole = transform(x)
    monkeypatch.setattr(constant_q, "_BLOCK", 1 << 13)
    rl.testing.assert_close(transform(x), whole)
    pitches = F.detect_pitch_frequency(x, 8000)
    monkeypatch.setattr(sys.modules["rushlight_audio.functional.pitch"], "_BLOCK", 1 << 11)
    assert rl.equal(F.detect_pitch_frequency(x, 8000), pitches)
