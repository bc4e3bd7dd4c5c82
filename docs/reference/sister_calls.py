"""Examples of names of the sister packages that have none in their docstrings; see
:mod:`reference.calls`."""

from __future__ import annotations

PICTURE = "picture = rushlight.arange(48, dtype=rushlight.uint8).reshape(3, 4, 4) * 5"
FLOATS = "picture = rushlight.linspace(0, 1, 48).reshape(3, 4, 4)"
# Transforms by the arguments of their constructors; "float" ones take no bytes.
TRANSFORMS = {
    "AugMix": "", "AutoAugment": "", "CenterCrop": "2", "ColorJitter": "brightness=0.5",
    "ConvertImageDtype": "rushlight.float32", "FiveCrop": "2",
    "ElasticTransform": "alpha=5.0, sigma=0.5", "GaussianBlur": "3", "Grayscale": "",
    "Pad": "1", "RandAugment": "",
    "RandomAdjustSharpness": "2.0, p=1.0", "RandomAffine": "30", "RandomAutocontrast": "p=1.0",
    "RandomCrop": "2", "RandomEqualize": "p=1.0", "RandomGrayscale": "p=1.0",
    "RandomHorizontalFlip": "p=1.0", "RandomInvert": "p=1.0", "RandomPerspective": "p=1.0",
    "RandomPosterize": "4, p=1.0", "RandomResizedCrop": "2", "RandomRotation": "90",
    "RandomSolarize": "100, p=1.0", "RandomVerticalFlip": "p=1.0", "Resize": "2",
    "TenCrop": "2", "TrivialAugmentWide": "", "ToPILImage": "",
    "Lambda": "lambda picture: 255 - picture",
}  # fmt: skip
FLOAT_TRANSFORMS = {
    "Normalize": "[0.5] * 3, [0.25] * 3", "RandomErasing": "p=1.0",
    "LinearTransformation": "rushlight.eye(48), rushlight.zeros(48)",
}  # fmt: skip
NEWER = {
    "Identity": "", "JPEG": "50", "RGB": "", "RandomChannelPermutation": "",
    "RandomPhotometricDistort": "", "RandomResize": "2, 6", "RandomShortestSize": "2",
    "RandomZoomOut": "p=1.0", "ScaleJitter": "(4, 4)", "ToDtype": "rushlight.float32, scale=True",
    "ToImage": "", "ToPureTensor": "", "GaussianNoise": "",
}  # fmt: skip
# Functions by what follows the picture.
FUNCTIONS = {
    "adjust_brightness": "1.5", "adjust_contrast": "1.5", "adjust_gamma": "2.0",
    "adjust_hue": "0.2", "adjust_saturation": "0.5", "adjust_sharpness": "2.0",
    "affine": "30.0, [1, 0], 1.0, [0.0, 0.0]", "autocontrast": "", "center_crop": "[2, 2]",
    "crop": "1, 1, 2, 3", "equalize": "", "five_crop": "[2, 2]", "gaussian_blur": "[3, 3]",
    "hflip": "", "horizontal_flip": "", "vertical_flip": "", "invert": "", "pad": "[1, 1, 1, 1]",
    "posterize": "3", "resize": "[2, 2]", "resized_crop": "0, 0, 2, 2, [4, 4]",
    "rgb_to_grayscale": "", "rotate": "90.0", "solarize": "100.0", "ten_crop": "[2, 2]",
    "vflip": "", "get_dimensions": "", "get_image_num_channels": "", "get_num_channels": "",
    "get_image_size": "", "get_size": "", "to_pil_image": "",
    "grayscale_to_rgb": "", "permute_channels": "[2, 0, 1]", "jpeg": "50", "to_dtype":
    "rushlight.float32, scale=True", "convert_image_dtype": "rushlight.float32",
    "erase": "1, 1, 2, 2, rushlight.zeros(3, 1, 1, dtype=rushlight.uint8)",
    "perspective": "[[0, 0], [3, 0], [3, 3], [0, 3]], [[0, 0], [3, 1], [3, 3], [0, 2]]",
    "elastic": "rushlight.zeros(1, 4, 4, 2)", "elastic_transform": "rushlight.zeros(1, 4, 4, 2)",
    "to_image": "",
}  # fmt: skip
FLOAT_FUNCTIONS = {"normalize": "[0.5] * 3, [0.25] * 3", "gaussian_noise": ""}
# Kernels of single kinds: what they are given.
KINDS = {"_image": "picture", "_video": "picture[None]", "_mask": "picture[:1]"}
WAVE = "wave = rushlight.sin(rushlight.arange(800) * 0.1)"
AUDIO_FUNCTIONS = {
    **dict.fromkeys("band_biquad bandpass_biquad bandreject_biquad".split(), "8000, 440.0"),
    **dict.fromkeys("highpass_biquad lowpass_biquad allpass_biquad".split(), "8000, 440.0"),
    "bass_biquad": "8000, 3.0", "treble_biquad": "8000, 3.0",
    "equalizer_biquad": "8000, 440.0, 3.0", "deemph_biquad": "44100", "riaa_biquad": "44100",
    "biquad": "1.0, 0.5, 0.0, 1.0, 0.0, 0.0", "contrast": "", "dcshift": "0.1",
    "deemphasis": "", "preemphasis": "", "dither": "", "gain": "6.0", "overdrive": "",
    "phaser": "8000", "flanger": "8000", "mu_law_encoding": "256",
    "resample": "8000, 4000", "pitch_shift": "8000, 2", "speed": "8000, 1.25", "vad": "8000",
    "sliding_window_cmn": "", "compute_deltas": "",
    "lfilter": "rushlight.tensor([1.0, -0.5]), rushlight.tensor([1.0, 0.5])",
    "filtfilt": "rushlight.tensor([1.0, -0.5]), rushlight.tensor([1.0, 0.5])",
    "convolve": "rushlight.tensor([1.0, 0.5])", "fftconvolve": "rushlight.tensor([1.0, 0.5])",
    "add_noise": "rushlight.ones(800), rushlight.tensor(10.0)",
    "detect_pitch_frequency": "8000, win_length=5", "spectral_centroid":
    "8000, 0, rushlight.hann_window(200), 200, 100, 200",
    "spectrogram": "0, rushlight.hann_window(200), 200, 100, 200, 2.0, False",
}  # fmt: skip
_TWO = "wave[None], "  # functions that take channels
AUDIO_TRANSFORMS = {
    "AmplitudeToDB": "", "ComputeDeltas": "", "Deemphasis": "", "Preemphasis": "",
    "Fade": "100, 100", "LFCC": "8000, n_lfcc=13", "MFCC": "8000, n_mfcc=13",
    "MelSpectrogram": "8000, n_mels=40", "MuLawEncoding": "", "PitchShift": "8000, 2",
    "Resample": "8000, 4000", "SlidingWindowCmn": "", "SpectralCentroid": "8000",
    "Spectrogram": "n_fft=200", "Speed": "8000, 1.25", "Vad": "8000", "Vol": "0.5",
}  # fmt: skip
AUDIO_PLAIN = {
    "create_dct": "rushlight_audio.functional.create_dct(3, 4, 'ortho')",
    "melscale_fbanks": "rushlight_audio.functional.melscale_fbanks(5, 0.0, 4000.0, 3, 8000)",
    "linear_fbanks": "rushlight_audio.functional.linear_fbanks(5, 0.0, 4000.0, 3, 8000)",
    "edit_distance": "rushlight_audio.functional.edit_distance('kitten', 'sitting')",
    "DB_to_amplitude": "rushlight_audio.functional.DB_to_amplitude("
                       "rushlight.tensor([0.0, 20.0]), 1.0, 0.5)",
    "amplitude_to_DB": "rushlight_audio.functional.amplitude_to_DB("
                       "rushlight.tensor([1.0, 100.0]), 10.0, 1e-10, 0.0)",
    "mu_law_decoding": "rushlight_audio.functional.mu_law_decoding("
                       "rushlight.tensor([0, 128, 255]), 256)",
    "loudness": "_ = rushlight.manual_seed(0)\n"
                "rushlight_audio.functional.loudness(rushlight.rand(1, 8000), 8000)",
}  # fmt: skip


def _transform(path, name, given, picture=PICTURE):
    return f"_ = rushlight.manual_seed(0)\n{picture}\n{path}.{name}({given})(picture)"


def _function(path, name, given, picture=PICTURE, what="picture"):
    following = f", {given}" if given else ""
    return f"{picture}\n{path}.{name}({what}{following})"


def _transforms(path, tables):
    found = {n: _transform(path, n, g) for table in tables for n, g in table.items()}
    return {**found, **{n: _transform(path, n, g, FLOATS) for n, g in FLOAT_TRANSFORMS.items()}}


def _functions(path):
    found = {n: _function(path, n, g) for n, g in FUNCTIONS.items()}
    found |= {n: _function(path, n, g, FLOATS) for n, g in FLOAT_FUNCTIONS.items()}
    for ending, what in KINDS.items():
        for table, picture in ((FUNCTIONS, PICTURE), (FLOAT_FUNCTIONS, FLOATS)):
            for n, g in table.items():
                found[n + ending] = _function(path, n + ending, g, picture, what)
    return found


_V1, _V2 = "rushlight_vision.transforms", "rushlight_vision.transforms.v2"
_AF, _AT = "rushlight_audio.functional", "rushlight_audio.transforms"
CALLS = {
    _V1: _transforms(_V1, [TRANSFORMS]),
    _V2: _transforms(_V2, [TRANSFORMS, NEWER]),
    f"{_V1}.functional": _functions(f"{_V1}.functional"),
    f"{_V2}.functional": _functions(f"{_V2}.functional"),
    _AF: {
        **{n: f"{WAVE}\n{_AF}.{n}(wave[None]{f', {g}' if g else ''})"
           for n, g in AUDIO_FUNCTIONS.items()},
        **{n: f"{WAVE}\n{_AF}.{n}(wave, {AUDIO_FUNCTIONS[n]})"
           for n in ("convolve", "fftconvolve", "lfilter", "filtfilt", "add_noise")},
        **AUDIO_PLAIN,
    },
    _AT: {n: f"{WAVE}\n{_AT}.{n}({g})(wave[None])" for n, g in AUDIO_TRANSFORMS.items()},
}  # fmt: skip


def weights_or_model(path, name, value):
    """Examples of enumerations of weights and of builders of networks, which make them without
    memory; None for other names."""
    if name.endswith("_Weights") and len(list(value)):
        return f"{path}.{name}.DEFAULT.meta['num_params']"
    if isinstance(value, type) or not path.startswith(_BUILDERS) or name.startswith(_NO_BUILDERS):
        return None
    none = ", weights_backbone=None" if path.endswith(("detection", "segmentation")) else ""
    given = f"weights=None{none}" if path.startswith("rushlight_vision") else ""
    return (
        f"with rushlight.device('meta'): model = {path}.{name}({given})\n"
        "sum(p.numel() for p in model.parameters())"
    )


_BUILDERS = ("rushlight_vision.models", "rushlight_audio.models")
_NO_BUILDERS = ("get_", "list_", "load", "ast_", "create_", "register", "decode", "download")
