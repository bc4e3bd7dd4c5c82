"""Every transform as a script: the values of the module, also of another length, of a batch, and
from an archive."""

from __future__ import annotations

import pytest

import rushlight as rl
from rushlight_audio import transforms as T

RATE = 8000
SMALL = {"n_fft": 64, "hop_length": 16}

# Arguments of modules; every transform is here or below.
MODULES = {
    "AddNoise": [{}],
    "AmplitudeToDB": [{}, {"stype": "magnitude", "top_db": 20.0}],
    "ComputeDeltas": [{}],
    "Convolve": [{}, {"mode": "same"}],
    "Deemphasis": [{}],
    "FFTConvolve": [{}, {"mode": "valid"}],
    "Fade": [
        {"fade_in_len": 100, "fade_out_len": 50, "fade_shape": shape}
        for shape in ("linear", "exponential", "logarithmic", "quarter_sine", "half_sine")
    ],
    "FrequencyMasking": [{"freq_mask_param": 9}, {"freq_mask_param": 9, "iid_masks": True}],
    "GriffinLim": [{"n_iter": 3, **SMALL}, {"n_iter": 2, "rand_init": False, **SMALL}],
    "InverseMelScale": [{"n_stft": 33, "n_mels": 6, "sample_rate": RATE}],
    "InverseSpectrogram": [SMALL, {"normalized": True, **SMALL}],
    "LFCC": [{"sample_rate": RATE, "n_filter": 12, "n_lfcc": 5, "speckwargs": SMALL}],
    "Loudness": [{"sample_rate": RATE}],
    "MFCC": [
        {"sample_rate": RATE, "n_mfcc": 5, "melkwargs": {"n_mels": 8, **SMALL}},
        {"sample_rate": RATE, "n_mfcc": 5, "log_mels": True, "melkwargs": {"n_mels": 8, **SMALL}},
    ],
    "MVDR": [
        {"solution": solution, "online": online}
        for solution in ("ref_channel", "stv_evd", "stv_power")
        for online in (False, True)
    ],
    "MelScale": [{"n_mels": 8, "sample_rate": RATE, "n_stft": 33}],
    "MelSpectrogram": [{"sample_rate": RATE, "n_mels": 8, **SMALL}],
    "MuLawDecoding": [{}],
    "MuLawEncoding": [{}],
    "PSD": [{}, {"normalize": False}],
    "Preemphasis": [{}],
    "RNNTLoss": [{}],
    "RTFMVDR": [{}],
    "Resample": [{"orig_freq": RATE, "new_freq": 6000}, {}],
    "SlidingWindowCmn": [{}, {"cmn_window": 7, "center": True, "norm_vars": True}],
    "SoudenMVDR": [{}],
    "SpecAugment": [
        {"n_time_masks": 2, "time_mask_param": 9, "n_freq_masks": 2, "freq_mask_param": 5, **more}
        for more in ({}, {"iid_masks": False, "zero_masking": True, "p": 0.5})
    ],
    "SpectralCentroid": [{"sample_rate": RATE, **SMALL}],
    "Spectrogram": [
        SMALL,
        {"power": None, "normalized": "frame_length", **SMALL},
        {"power": 1.0, "normalized": True, "pad": 3, "center": False, **SMALL},
    ],
    "Speed": [{"orig_freq": RATE, "factor": 0.8}],
    "SpeedPerturbation": [{"orig_freq": RATE, "factors": [0.8, 1.0, 1.25]}],
    "TimeMasking": [{"time_mask_param": 9}, {"time_mask_param": 9, "iid_masks": True, "p": 0.5}],
    "TimeStretch": [{"n_freq": 33, "fixed_rate": 1.25}],
    "Vad": [{"sample_rate": RATE, "pre_trigger_time": 0.05}],
    "Vol": [{"gain": 0.5}, {"gain": 3.0, "gain_type": "db"}],
}
# What runs as a script but is made of operators, or of Python, that no archive can hold.
NOT_SAVED = ("Deemphasis", "Loudness", "RNNTLoss", "Vad")
# Sums in another order: a convolution, where the module multiplies matrices.
ROUNDED = ("Resample", "Speed", "SpeedPerturbation")
SPECTRA = (
    "AmplitudeToDB ComputeDeltas FrequencyMasking GriffinLim MelScale SlidingWindowCmn "
    "SpecAugment TimeMasking"
).split()
CASES = [
    pytest.param(name, arguments, id=f"{name}-{number}")
    for name, rows in MODULES.items()
    for number, arguments in enumerate(rows)
]


def sound(*shape: int) -> rl.Tensor:
    return rl.randn(*shape) * 0.3


def complex_of(*shape: int) -> rl.Tensor:
    return rl.complex(rl.randn(*shape), rl.randn(*shape))


def covariances(*shape: int) -> rl.Tensor:
    rows = complex_of(*shape)
    return rows @ rows.mH


def inputs_of(name: str, length: int, *batch: int) -> tuple[rl.Tensor | int, ...]:
    """Inputs for a module, with `length` samples or a frame for every hundred."""
    frames = length // 100
    if name in SPECTRA:
        return (rl.rand(*batch, 33, frames) + 0.1,)
    if name in ("InverseSpectrogram", "TimeStretch"):
        return (complex_of(*batch, 33, frames),)
    if name == "InverseMelScale":
        return (rl.rand(*batch, 6, frames),)
    if name in ("PSD", "MVDR", "SoudenMVDR", "RTFMVDR"):
        return beams(name, frames, *batch)
    if name == "MuLawDecoding":
        return (rl.randint(0, 256, (*batch, length)),)
    if name == "RNNTLoss":
        targets = rl.tensor([[1, 2]], dtype=rl.int32).expand(2, 2).contiguous()
        lengths = [rl.tensor([each, each], dtype=rl.int32) for each in (frames, 2)]
        return (rl.randn(2, frames, 3, 4), targets, *lengths)
    if name in ("Convolve", "FFTConvolve"):
        return sound(*batch, length), sound(*batch, 30)
    if name == "AddNoise":
        return sound(*batch, length), sound(*batch, length), rl.randn(batch)
    if name == "Loudness":
        return (sound(*batch, 2, length),)
    if name == "Vad":
        return (spoken(length).expand(*batch[:1], length),)
    return (sound(*batch, length),)


def spoken(length: int) -> rl.Tensor:
    """Faint noise, then pulses at 160 Hz."""
    pulses = (rl.arange(length) % 50 == 0) & (rl.arange(length) > length // 2)
    return rl.randn(length) * 1e-3 + pulses


def beams(name: str, frames: int, *batch: int) -> tuple[rl.Tensor | int, ...]:
    specgram, mask = complex_of(*batch, 3, 5, frames), rl.rand(*batch, 5, frames)
    if name == "PSD":
        return specgram, mask
    if name == "MVDR":
        return specgram, mask, 1 - mask
    speech, noise = covariances(*batch, 5, 3, 3), covariances(*batch, 5, 3, 3)
    if name == "RTFMVDR":
        return specgram, speech[..., 0], noise, 1
    return specgram, speech, noise, 1


def assert_same(name: str, found: object, wanted: object) -> None:
    if isinstance(wanted, tuple):
        assert isinstance(found, tuple) and len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_same(name, one, other)
        return
    exact = {} if name in ROUNDED else {"rtol": 0.0, "atol": 0.0}
    rl.testing.assert_close(found, wanted, equal_nan=True, **exact)


def compare(name: str, script: object, module: object, given: tuple[object, ...]) -> None:
    rl.manual_seed(3)
    wanted = module(*given)
    rl.manual_seed(3)
    assert_same(name, script(*given), wanted)


def test_every_transform_is_here():
    assert sorted(T.__all__) == sorted([*MODULES, "PitchShift"])


@pytest.mark.parametrize("name, arguments", CASES)
def test_values_of_scripts(name, arguments):
    rl.manual_seed(1)
    module = getattr(T, name)(**arguments)
    script = rl.jit.script(getattr(T, name)(**arguments))
    assert list(script.state_dict()) == list(module.state_dict())
    for shape in ((4000,), (4000,), (5300,), (4000, 2), (3700, 2, 3)):
        if not arguments.get("online") or len(shape) == 1:
            compare(name, script, module, inputs_of(name, *shape))


@pytest.mark.parametrize(
    "name, arguments", [case for case in CASES if case.values[0] not in NOT_SAVED]
)
def test_values_from_archives(name, arguments, tmp_path):
    rl.manual_seed(1)
    module = getattr(T, name)(**arguments)
    rl.jit.save(rl.jit.script(module), tmp_path / "script.pt")
    loaded = rl.jit.load(tmp_path / "script.pt")
    compare(name, loaded, module, inputs_of(name, 4000, 2))


@pytest.mark.parametrize("name", NOT_SAVED)
def test_what_no_archive_holds(name, tmp_path):
    script = rl.jit.script(getattr(T, name)(**MODULES[name][0]))
    with pytest.raises(RuntimeError, match="cannot be written into an archive|Could not export"):
        rl.jit.save(script, tmp_path / "script.pt")


def test_errors_of_scripts():
    script = rl.jit.script(T.Spectrogram(n_fft=64))
    with pytest.raises(rl.jit.Error, match="needs a longer waveform than 20 samples"):
        script(rl.zeros(20))
    with pytest.raises(rl.jit.Error, match="must be of floating-point type"):
        script(rl.zeros(200, dtype=rl.int64))
    script = rl.jit.script(T.MuLawEncoding())
    with pytest.warns(UserWarning, match="expected a floating-point signal"):
        script(rl.zeros(20, dtype=rl.int64))


@pytest.mark.parametrize("make", [lambda: T.Resample(44101, 48000), lambda: T.PitchShift(RATE, 2)])
def test_large_filters_are_left_to_python(make, tmp_path):
    module, x = make(), sound(1, 900)
    script = rl.jit.script(module)
    rl.testing.assert_close(script(x), module(x), rtol=0.0, atol=0.0)
    with pytest.raises(RuntimeError, match="Could not export Python function call"):
        rl.jit.save(script, tmp_path / "script.pt")


def test_pitch_shift_before_and_after_its_first_call(tmp_path):
    module, x = T.PitchShift(RATE, 12), sound(2, 900)
    with pytest.raises(RuntimeError, match="'PitchShift' has uninitialized parameters kernel"):
        rl.jit.script(module)
    wanted = module(x)
    script = rl.jit.script(module)
    rl.jit.save(script, tmp_path / "script.pt")
    for found in (script(x), rl.jit.load(tmp_path / "script.pt")(x)):
        rl.testing.assert_close(found, wanted, rtol=0.0, atol=0.0)
