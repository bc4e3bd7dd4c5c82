"""Effects give SoX's numbers.

`recorded/sox.npz` is made by ci/audio_sox.py from the calls in `sox_calls.py`: shape, rate and
level of each result, and about sixty samples of it.
"""

import importlib.util
import io
import re
from pathlib import Path

import numpy as np
import pytest

import rushlight as rl
import rushlight_audio as ra
from rushlight_audio import sox_effects
from rushlight_audio.utils import sox_utils

HERE = Path(__file__).parent
RECORDED = np.load(HERE / "recorded" / "sox.npz")
_spec = importlib.util.spec_from_file_location("audio_sox_calls", HERE / "sox_calls.py")
sox_calls = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sox_calls)
CALLS = sox_calls.calls()


def sound(name):
    return rl.from_numpy(sox_calls.waveform(name, np)), sox_calls.RATES.get(name, sox_calls.RATE)


@pytest.mark.parametrize(
    ("kind", "name", "words"), CALLS, ids=[f"{name} {' '.join(words)}" for _, name, words in CALLS]
)
def test_the_numbers_of_sox(kind, name, words):
    key = f"{name}: {' '.join(words)}"
    channels, frames, rate, level = RECORDED[f"{key}|facts"]
    found, found_rate = sox_effects.apply_effects_tensor(*sound(name), [words])
    assert tuple(found.shape) == (channels, frames)
    assert found_rate == round(rate)
    assert (found**2).mean().sqrt().item() == pytest.approx(
        level, rel=1e-5 if kind == "exact" else 0.01
    )
    samples = found[:, :: max(1, int(frames) // 60)]
    if kind == "exact":
        np.testing.assert_allclose(samples, RECORDED[f"{key}|samples"], atol=2e-6)
    elif "-q" not in words:  # SoX's quick resampling is another curve
        np.testing.assert_allclose(samples, RECORDED[f"{key}|samples"], atol=0.01)


def test_every_effect_is_called():
    called = {words[0] for _, _, words in CALLS}
    assert called == set(sox_effects.effect_names()) - {"dither"}
    assert set(sox_utils.list_effects()) == called | {"dither"}
    assert len(called) == 46


def test_dither_is_the_noise_of_16_bits():
    quiet = rl.zeros(1, 8000, dtype=rl.float64)
    sox_utils.set_seed(0)
    noise = sox_effects.apply_effects_tensor(quiet, 8000, [["dither"]])[0]
    assert 0 < noise.abs().max().item() <= 2**-14
    sox_utils.set_seed(0)
    assert rl.equal(sox_effects.apply_effects_tensor(quiet, 8000, [["dither"]])[0], noise)
    shaped = sox_effects.apply_effects_tensor(quiet + 0.1, 8000, [["dither", "-s"]])[0]
    assert 0 < (shaped - 0.1).abs().max().item() < 2**-12


def test_a_chain():
    """As torchaudio's tutorial on augmentation has it."""
    waveform, rate = sound("stereo")
    effects = [
        ["lowpass", "-1", "300"],
        ["speed", "0.8"],
        ["rate", str(rate)],
        ["reverb", "-w"],
    ]
    found, found_rate = sox_effects.apply_effects_tensor(waveform.float(), rate, effects)
    assert (found.shape, found.dtype, found_rate) == ((2, 5000), rl.float32, rate)
    step = waveform.float(), rate
    for effect in effects:
        step = sox_effects.apply_effects_tensor(*step, [effect])
    # Between two calls rates are integers and samples float32.
    np.testing.assert_allclose(found, step[0], atol=1e-5)


def test_a_tone_moves():
    """Pitch and speed move a tone, tempo does not."""
    rate = 16000
    tone = rl.sin(2 * rl.pi * 400 * rl.arange(2 * rate) / rate)[None] * 0.5

    def tallest(effects):
        found, found_rate = sox_effects.apply_effects_tensor(tone, rate, effects)
        assert found_rate == rate
        middle = found[0, found.shape[1] // 4 :][: rate // 2]
        spectrum = rl.fft.rfft(middle * rl.hann_window(len(middle))).abs()
        return spectrum.argmax().item() * rate / len(middle), found.shape[1]

    back = ["rate", str(rate)]
    assert tallest([["speed", "1.5"], back]) == (pytest.approx(600, abs=4), 21333)
    assert tallest([["pitch", "1200"], back]) == (pytest.approx(800, abs=4), 2 * rate)
    assert tallest([["tempo", "2"]]) == (pytest.approx(400, abs=4), rate)
    assert tallest([["tempo", "0.5"]]) == (pytest.approx(400, abs=4), 4 * rate)


@pytest.mark.parametrize("dtype", [rl.uint8, rl.int16, rl.int32, rl.float32, rl.float64])
def test_dtypes(dtype):
    rl.manual_seed(0)
    if dtype.is_floating_point:
        waveform = (rl.rand(2, 50) - 0.5).to(dtype)
    else:
        bounds = rl.iinfo(dtype)
        waveform = rl.randint(bounds.min, bounds.max, (2, 50)).to(dtype)
    same, rate = sox_effects.apply_effects_tensor(waveform, 8000, [])
    assert rl.equal(same, waveform) and rate == 8000
    turned = sox_effects.apply_effects_tensor(waveform.T, 8000, [["reverse"]], False)[0]
    assert rl.equal(turned, waveform.flip(1).T)
    loud = sox_effects.apply_effects_tensor(waveform, 8000, [["vol", "9"]])[0]
    assert loud.dtype is dtype
    top = 1.0 if dtype.is_floating_point else rl.iinfo(dtype).max
    assert loud.max().item() == top


def test_integers_agree_with_floats():
    waveform, rate = sound("mono")
    for dtype, full in ((rl.int16, 2**15), (rl.int32, 2**31)):
        integers = (waveform * full).round().to(dtype)
        found = sox_effects.apply_effects_tensor(integers, rate, [["bass", "3"]])[0]
        floats = sox_effects.apply_effects_tensor(integers.double() / full, rate, [["bass", "3"]])[
            0
        ]
        assert (found.double() - floats * full).abs().max().item() <= 0.5


@pytest.mark.parametrize("format", ["wav", "flac", "mp3", "ogg"])
def test_files(tmp_path, format):
    waveform, rate = sound("stereo")
    path = tmp_path / f"a.{format}"
    ra.save(path, waveform.float(), rate)
    effects = [["gain", "-n"], ["remix", "-"], ["trim", "0.1", "0.2"]]
    found, found_rate = sox_effects.apply_effects_file(path, effects)
    expected, _ = sox_effects.apply_effects_tensor(*ra.load(path), effects)
    assert (found_rate, found.shape) == (rate, (1, 1600))
    assert rl.equal(found, expected)
    assert rl.equal(
        sox_effects.apply_effects_file(str(path), effects, channels_first=False)[0], found.T
    )
    with open(path, "rb") as file:
        assert rl.equal(sox_effects.apply_effects_file(file, effects)[0], found)


def test_files_as_they_are_stored():
    file = io.BytesIO()
    ra.save(file, (rl.arange(100) * 300 - 15000).to(rl.int16)[None], 8000, format="wav")
    file.seek(0)
    found, _ = sox_effects.apply_effects_file(file, [["reverse"]], normalize=False)
    assert found.dtype is rl.int16 and found[0, 0].item() == 99 * 300 - 15000


FAULTS = [
    (["rate"], "rate is missing; it is called as: rate"),
    (["rate", "fast"], "rate must be a number, got 'fast'"),
    (["rate", "0"], r"rate must be in \[1, inf\], got '0'"),
    (["gain", "-n", "3", "4"], "'4' is too much"),
    (["gain", "-x", "3"], "the option -x is not there"),
    (["lowpass", "9000"], "frequency must be between 0 and half the rate, 4000, got 9000"),
    (["lowpass", "-1", "300", "1q"], "one pole has no width"),
    (["equalizer", "300", "1q"], "gain is missing"),
    (["trim", "x"], "must be seconds, h:m:s or samples .8000s., got 'x'"),
    (["trim", "0.3", "=0.1"], "is before the position before it"),
    (["trim", "-9"], "is before the beginning"),
    (["pad", "1@9"], "behind the end"),
    (["fade", "0.4", "0", "0.4"], "the fades have"),
    (["remix", "3"], "there are 2 channels"),
    (["remix", "a"], "'a' is no channel"),
    (["remix"], "a channel is missing"),
    (["vol", "1", "loud"], "the type must be amplitude"),
    (["repeat", "1.5"], "count must be an integer"),
    (["biquad", "1", "0", "0", "0", "0", "0"], "a0 must not be 0"),
    (["bass", "20", "100", "9s"], "too steep"),
    (["echo", "1", "1"], "delay is missing"),
    (["echos", "1", "1"], "delay is missing"),
    (["chorus", "1", "1", "20", "0.4", "1", "2", "-x"], "-s or -t is expected, got '-x'"),
    (["flanger", "0", "2", "0", "71", "0.5", "square"], "the shape is sine or triangle"),
    (["compand", "1", "-60,-30"], "attack and decay are needed"),
    (["compand", "1,1", "-30,-60,-40,-20"], "levels of the curve must rise"),
    (["silence", "1", "0.1"], "threshold is missing"),
    (["silence", "1", "0.1", "200%"], r"threshold must be in \[0, 100\]"),
    (["delay", "1", "1", "1"], "3 times for 2 channels"),
    (["vad", "-z", "1"], "'-z' is no option"),
    (["sinc", "-t", "100"], "a frequency is missing"),
    (["fir"], "a coefficient is missing"),
    (["tempo", "0.01"], "factor must be in"),
]


@pytest.mark.parametrize(("words", "message"), FAULTS, ids=[" ".join(w) for w, _ in FAULTS])
def test_faulty_arguments(words, message):
    with pytest.raises(ValueError, match=f"effect '{words[0]}': .*{message}"):
        sox_effects.apply_effects_tensor(*sound("stereo"), [words])


def test_other_faults():
    waveform, rate = sound("mono")
    with pytest.raises(RuntimeError, match="unknown effect 'louder'; known are"):
        sox_effects.apply_effects_tensor(waveform, rate, [["louder"]])
    with pytest.raises(NotImplementedError, match="'stretch' is not there; use tempo"):
        sox_effects.apply_effects_tensor(waveform, rate, [["stretch", "2"]])
    with pytest.raises(ValueError, match="a list of a name and arguments, got 'gain'"):
        sox_effects.apply_effects_tensor(waveform, rate, ["gain"])
    with pytest.raises(ValueError, match=r"2 dimensions, got \[4000\]"):
        sox_effects.apply_effects_tensor(waveform[0], rate, [])
    with pytest.raises(ValueError, match="got rushlight.int64"):
        sox_effects.apply_effects_tensor(waveform.long(), rate, [])
    with pytest.raises(ValueError, match="pairs of channels are needed, there are 1"):
        sox_effects.apply_effects_tensor(waveform, rate, [["swap"]])


def test_what_sox_has_and_is_not_here_is_refused_by_name():
    from rushlight_audio.sox_effects.applying import _ELSEWHERE

    # `sox --help` of 14.4.2.
    every = """allpass band bandpass bandreject bass bend biquad chorus channels compand contrast
    dcshift deemph delay dither divide downsample earwax echo echos equalizer fade fir firfit
    flanger gain highpass hilbert ladspa loudness lowpass mcompand noiseprof noisered norm oops
    overdrive pad phaser pitch rate remix repeat reverb reverse riaa silence sinc spectrogram speed
    splice stat stats stretch swap synth tempo treble tremolo trim upsample vad vol""".split()
    assert set(every) == set(sox_effects.effect_names()) | set(_ELSEWHERE)
    assert len(sox_effects.effect_names()) == 47


def test_empty_and_short_sounds():
    for frames in (1, 2, 30):
        for words in (["lowpass", "1000"], ["reverb"], ["tempo", "1.5"], ["fade", "0"], ["vad"]):
            found, _ = sox_effects.apply_effects_tensor(rl.zeros(1, frames), 8000, [words])
            assert rl.isfinite(found).all()


@pytest.mark.parametrize("words", [words for _, _, words in CALLS], ids=" ".join)
def test_no_samples(words):
    try:
        found, _ = sox_effects.apply_effects_tensor(rl.zeros(2, 0), 44100, [words])
    except ValueError as error:
        assert str(error).startswith(f"effect '{words[0]}': ")
    else:
        assert rl.isfinite(found).all()


def test_a_fade_counts_its_stop_from_the_end():
    wave = rl.ones(1, 100)
    whole, _ = sox_effects.apply_effects_tensor(wave, 100, [["fade", "t", "0.1", "-0", "0.2"]])
    until, _ = sox_effects.apply_effects_tensor(wave, 100, [["fade", "t", "0.1", "-0.3", "0.2"]])
    same, _ = sox_effects.apply_effects_tensor(wave, 100, [["fade", "t", "0.1", "0.7", "0.2"]])
    assert whole.shape == (1, 100) and rl.equal(until, same) and until.shape == (1, 70)


def test_settings():
    before = sox_utils.get_buffer_size()
    sox_utils.set_buffer_size(16384)
    assert sox_utils.get_buffer_size() == 16384
    sox_utils.set_buffer_size(before)
    with pytest.raises(ValueError, match="must be positive, got 0"):
        sox_utils.set_buffer_size(0)
    assert sox_utils.set_verbosity(3) is sox_utils.set_use_threads(True) is None
    assert {"wav", "flac", "mp3"} <= set(sox_utils.list_read_formats())
    assert {"wav", "flac", "mp3"} <= set(sox_utils.list_write_formats())
    assert sox_effects.init_sox_effects() is sox_effects.shutdown_sox_effects() is None
    assert all(re.fullmatch("[a-z]+", name) for name in sox_utils.list_effects())


@pytest.mark.parametrize("ratio", [160 / 147, 147 / 160, 0.8909, 1.1892071150027])
@pytest.mark.parametrize("frequency", [440, 3000, 6000])
def test_rates_without_a_simple_ratio(ratio, frequency):
    """A tone keeps its phase: the curves between finer samples are exact to 1e-4."""
    from rushlight_audio.sox_effects.speeds import interpolated

    time = rl.arange(16000, dtype=rl.float64) / 16000
    found = interpolated(0.4 * rl.sin(2 * rl.pi * frequency * time)[None], ratio, 64, 0.95)[0]
    later = rl.arange(len(found), dtype=rl.float64) / (16000 * ratio)
    expected = 0.4 * rl.sin(2 * rl.pi * frequency * later)
    assert (found - expected)[500:-500].abs().max().item() < 1e-4
