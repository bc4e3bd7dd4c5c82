"""Audio: resampling, spectrograms, vowels in noise.

    rushlight examples run learn_audio

Sound is a long row of numbers, and networks seldom see it as such: they see spectrograms. Here you
write and read sound, see what resampling without a filter does, choose the window of a spectrogram,
follow a melody, and train a network to tell five vowels apart, in silence and in noise. The vowels
are synthesised by the script, of voices from deep to high. Names and results are those of
torchaudio. Read [modules and training](learn_modules.md) first. It takes fifteen seconds, and
leaves runs/learn_audio/ with pictures and sounds.
"""

# %% A waveform and its rate
# A waveform is `[C, T]`: channels, then samples, floats from -1 to 1. The sample rate is not in the
# tensor, you carry it beside; most mistakes with sound are a rate that was assumed. As in
# torchaudio, `save` writes the floats as they are. Most programs want 16 bits, though, and then
# what is beyond 1 is cut off, which is heard as crackling: scale before, not after.
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt

import rushlight as rl
import rushlight_audio as ra
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_audio import transforms as T
from rushlight_audio.models import SpectrogramClassifier
from rushlight_audio.streaming import stream

out = Path("runs/learn_audio")
out.mkdir(parents=True, exist_ok=True)
RATE = 16000
time = rl.arange(2 * RATE) / RATE
sines = ((2 * rl.pi * pitch * time).sin() for pitch in (220.0, 277.2, 329.6))
chord = sum(sines, start=rl.tensor(0.0))
for name, sound in (("as it is", chord), ("scaled", 0.9 * chord / chord.abs().max())):
    ra.save(out / "chord.wav", sound[None], RATE, bits_per_sample=16)
    read, rate = ra.load(out / "chord.wav")
    off = (read[0] - sound).abs().max()
    print(
        f"{name}: {tuple(read.shape)} at {rate}, wrong by {off:.5f}, a step is {2**-15:.5f}"
    )  # figures vary

# %%
# Parts of a file are read without reading the rest.
info = ra.info(out / "chord.wav")
part, _ = ra.load(out / "chord.wav", frame_offset=RATE, num_frames=400)
print(
    info.num_frames / info.sample_rate,
    "seconds,",
    info.bits_per_sample,
    "bits; the part is the slice:",
    rl.equal(part, read[:, RATE : RATE + 400]),
)

# %% Resampling, and what is not resampling
# 4,000 samples a second hold frequencies up to 2,000 Hz. To take every fourth sample of 16,000 does
# not remove what is above: it comes back as a false lower tone, which nothing can remove
# afterwards. A tone that rises to 6,000 Hz shows it. `Resample` filters before.
rising = (2 * rl.pi * (200 * time + 1450 * time**2)).sin()
wrong, right = rising[::4], T.Resample(RATE, 4000)(rising)
power = T.Spectrogram(n_fft=128, hop_length=32)
late = slice(4500, None)  # when the tone is above 2,000 Hz: nothing should be left
for name, low in (("every fourth sample", wrong), ("Resample", right)):
    print(f"{name}: loudness of what should be silence {low[late].square().mean().sqrt():.4f}")
figure, axes = plt.subplots(1, 2, figsize=(8.5, 3), layout="constrained", sharey=True)
for axis, (name, low) in zip(
    axes, (("every fourth sample", wrong), ("Resample", right)), strict=True
):
    decibels = T.AmplitudeToDB(top_db=60)(power(low))
    axis.imshow(
        decibels.numpy(),
        origin="lower",
        aspect="auto",
        extent=(0, 2, 0, 2000),
        vmin=decibels.max() - 60,
    )
    axis.set(title=name, xlabel="seconds")
axes[0].set_ylabel("Hz")
figure.savefig(out / "resampled.png", dpi=100)

# %% Time or frequency
# A spectrogram cuts sound into windows and takes the Fourier transform of each. A long window tells
# close tones apart and blurs time, a short one the reverse; there is no third. Two tones 100 Hz
# apart, and a click after one second: a window of 64 ms separates the tones and smears the click,
# one of 8 ms finds the click and takes the tones for one that throbs.
tones = (2 * rl.pi * 1000 * time).sin() + (2 * rl.pi * 1100 * time).sin()
tones[RATE] += 60
figure, axes = plt.subplots(1, 2, figsize=(8.5, 3), layout="constrained", sharey=True)
for axis, size in zip(axes, (1024, 128), strict=True):
    found = T.AmplitudeToDB(top_db=80)(T.Spectrogram(n_fft=size, hop_length=size // 4)(tones))
    axis.imshow(found.numpy(), origin="lower", aspect="auto", extent=(0, 2, 0, 8000))
    axis.set(
        title=f"window of {1000 * size // RATE} ms",
        xlabel="seconds",
        xlim=(0.8, 1.2),
        ylim=(600, 1500),
    )
    print(f"{1000 * size / RATE:.0f} ms: a bin is {RATE / size:.1f} Hz wide")
axes[0].set_ylabel("Hz")
figure.savefig(out / "windows.png", dpi=100)

# %% Follow a melody
# The pitch of a sound is the rate at which it repeats itself. `detect_pitch_frequency` finds the
# shift at which a frame looks most like itself, and takes the median of thirty frames (0.3 s)
# against single errors, so it can be trusted in the middle of a note.
notes = {"A3": 220.0, "C4": 261.6, "D4": 293.7, "E4": 329.6, "G4": 392.0}
tune = ["E4", "D4", "C4", "D4", "E4", "G4", "A3"]
second = rl.arange(RATE // 2) / RATE
beat = []
for note in tune:
    overtones = ((2 * rl.pi * k * notes[note] * second).sin() / k for k in range(1, 6))
    beat.append(sum(overtones, start=rl.tensor(0.0)))
melody = T.Fade(400, 400)(rl.stack(beat)).flatten()
ra.save(out / "melody.wav", (0.3 * melody)[None], RATE)
pitch = ra.functional.detect_pitch_frequency(melody[None], RATE)[0]
heard = [pitch[50 * i + 15 : 50 * i + 25].median().item() for i in range(len(tune))]
names, hertz = list(notes), rl.tensor(list(notes.values()))
print([names[(hertz - each).abs().argmin()] for each in heard], "as it was:", tune)

# %% What tells vowels apart
# The voice gives a buzz of many overtones; mouth and throat let some bands of it pass. These bands
# (formants) make the vowel, whatever the pitch. So do ears and networks look at the envelope of the
# spectrum, and not at single overtones: mel bands, which are wide at the top, on a scale of
# decibels, since loudness is heard in ratios.
FORMANTS = {  # Hz, after Peterson and Barney (1952)
    "a": (730, 1090, 2440), "e": (530, 1840, 2480), "i": (270, 2290, 3010),
    "o": (570, 840, 2410), "u": (300, 870, 2240),
}  # fmt: skip
VOWELS = list(FORMANTS)


def sung(count: int, random: rl.Generator) -> tuple[rl.Tensor, rl.Tensor]:
    """Vowels of a third of a second at 8,000 samples a second: `[N, 2667]`, and which `[N]`."""
    which = rl.arange(count) % len(VOWELS)
    size = 0.85 + 0.4 * rl.rand(count, 1, generator=random)  # of the head: scales all formants
    pitch = 90 * 2.8 ** rl.rand(count, 1, generator=random)
    seconds = rl.arange(2667) / 8000
    wobble = 1 + 0.02 * (2 * rl.pi * 5 * seconds).sin()
    phase = 2 * rl.pi * (pitch * wobble).cumsum(1) / 8000
    formants = rl.tensor([FORMANTS[vowel] for vowel in VOWELS])[which] * size
    waves = rl.zeros(count, 2667)
    for overtone in range(1, 36):
        hertz = overtone * pitch
        near = 1 / (1 + ((hertz - formants) / 80) ** 2)
        strength = (near * rl.tensor([1.0, 0.5, 0.25])).sum(1, keepdim=True) * (hertz < 3900)
        waves += strength * (overtone * phase).sin()
    return waves / waves.abs().amax(1, keepdim=True), which


train = sung(600, rl.Generator().manual_seed(0))
test = sung(400, rl.Generator().manual_seed(1))
ra.save(out / "vowels.wav", train[0][:10].flatten()[None] * 0.8, 8000)
mels = T.AmplitudeToDB(top_db=60)(
    T.MelSpectrogram(8000, n_fft=512, hop_length=80, n_mels=40)(train[0][:10])
)
figure, axes = plt.subplots(2, 5, figsize=(8.5, 3.6), layout="constrained")
for axis, mel, label in zip(axes.flat, mels, train[1].tolist(), strict=False):
    axis.imshow(mel.numpy(), origin="lower", aspect="auto")
    axis.set(title=VOWELS[label], xticks=[], yticks=[])
axes[0, 0].set_ylabel("mel bands")
figure.savefig(out / "vowels.png", dpi=100)

# %% Train, in silence and in noise
# The model takes waveforms and makes the spectrogram itself: so it cannot be given another one than
# it was trained on. The baseline is the nearest of five mean cepstra (MFCC). Both are tested in
# noise as well, up to noise three times as strong as the voice. The means, learnt in silence, soon
# know nothing, for noise shifts all cepstra. The network keeps its ground for longer; `AddNoise` in
# training is what makes it hold.


def fit(noisy: bool, epochs: int = 12) -> nn.Module:
    """A classifier of vowels, trained with or without noise."""
    rl.manual_seed(2)
    model = SpectrogramClassifier(5, 8000, n_fft=512, hop_length=160, n_mels=40)
    optimizer = rl.optim.AdamW(model.parameters(), lr=5e-3)
    add = T.AddNoise()
    for _ in range(epochs):
        for rows in rl.randperm(len(train[0])).split(50):
            waves = train[0][rows]
            if noisy:
                ratio = 25 * rl.rand(len(rows)) - 5  # of signal to noise, in decibels
                waves = add(waves, rl.randn(waves.shape), ratio)
            loss = F.cross_entropy(model(waves), train[1][rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model.eval()


cepstra = T.MFCC(8000, n_mfcc=20, melkwargs={"n_fft": 512, "hop_length": 160, "n_mels": 40})
known = cepstra(train[0]).mean(-1)[:, 1:]  # without the first: loudness
means = rl.stack([known[train[1] == label].mean(0) for label in range(5)])


def by_means(waves: rl.Tensor) -> rl.Tensor:
    """Scores by nearness to the mean cepstrum of each vowel."""
    return -rl.cdist(cepstra(waves).mean(-1)[:, 1:], means)


models: dict[str, Callable[[rl.Tensor], rl.Tensor]] = {
    "nearest mean": by_means,
    "trained in silence": fit(False),
    "trained in noise": fit(True),
}
levels = [20, 10, 5, 0, -5]
noise = rl.randn(test[0].shape, generator=rl.Generator().manual_seed(3))
figure, axis = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
for name, model in models.items():
    right = []
    for level in levels:  # figures vary
        waves = ra.functional.add_noise(test[0], noise, rl.full((400,), float(level)))
        with rl.no_grad():
            right.append((model(waves).argmax(1) == test[1]).float().mean().item())
    print(
        f"{name:18}",
        "  ".join(f"{level} dB: {share:.2f}" for level, share in zip(levels, right, strict=True)),
    )
    axis.plot(levels, right, "o-", label=name)
axis.axhline(0.2, color="grey", linestyle=":", label="by chance")
axis.set(xlabel="signal to noise (dB)", ylabel="vowels right", ylim=(0, 1.05), xlim=(21, -6))
axis.legend()
figure.savefig(out / "noise.png", dpi=100)

# %% Sound that has not ended
# A microphone gives pieces. To transform each alone is wrong at every border, where windows reach
# across. `stream` keeps what is needed between pieces, and together they give what the transform
# gives for the whole.
mel = T.MelSpectrogram(RATE, n_fft=512, n_mels=64)
whole = mel(melody)
pieces = melody.split(3000)
alone = rl.cat([mel(piece) for piece in pieces], dim=-1)
streamed = stream(mel).run(pieces)
print(
    "frames of the whole",
    whole.shape[1],
    "- pieces alone",
    alone.shape[1],
    "- streamed",
    streamed.shape[1],
)
print("streamed as the whole:", rl.allclose(streamed, whole, rtol=1e-3, atol=1e-3))

# %% What next
# The [gallery](gallery.md) writes down Morse code from a noisy radio (spectrograms, a recurrent
# network, CTC) and takes noise away from melodies. [Audio: functions and
# transforms](audio_functions.md), [effects](audio_effects.md), [files and streams](audio_files.md),
# and [networks](audio_models.md) such as wav2vec 2.0 and Whisper have pages of their own.
# [Data](learn_data.md) pads recordings of different lengths.
