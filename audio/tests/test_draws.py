"""The same draws for the same seed: every call takes as many numbers of the generator as torchaudio
2.9.1's, and gives its values at other seeds too."""

from __future__ import annotations

import json
import warnings

import draws
import pytest
import torchaudio_calls as calls

import rushlight
import rushlight_audio

RECORD = json.loads((calls.RECORDED / "draws.json").read_text())
VALUES = calls.load(calls.RECORDED / "draws.npz")
LIBRARY = calls.Library(rushlight, rushlight_audio)
SAME = "the same draws for the same seed"
# What draws, by torchaudio's sources; a name of functional or transforms that is not here does not.
RANDOM = {
    *("dither", "griffinlim", "GriffinLim", "mask_along_axis", "mask_along_axis_iid"),
    *("FrequencyMasking", "TimeMasking", "SpecAugment", "SpeedPerturbation"),
    *("fbank", "mfcc", "spectrogram"),  # of compliance.kaldi
}


def test_generators_begin_alike():
    found = [draws.untouched(rushlight, seed) for seed in draws.SEEDS]
    assert found == RECORD["untouched"]


@pytest.mark.parametrize("name", draws.CALLS)
def test_same_draws_for_the_same_seed(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        positions, values = draws.measure(LIBRARY, name)
    assert positions == RECORD["calls"].get(name, RECORD["untouched"]), SAME
    assert calls.differences(values, VALUES.get(name, {})) == [], SAME


def test_every_random_name_is_among_them():
    drawn = {name.split(" ")[0].removeprefix("kaldi.") for name in RECORD["calls"]}
    assert drawn == RANDOM
    names = {name.split(" ")[0].removeprefix("kaldi.") for name in draws.CALLS}
    public = {*rushlight_audio.functional.__all__, *rushlight_audio.transforms.__all__}
    ours = {"compute_kaldi_pitch", "TokenSpan"}  # refuses; is a result
    theirs = {p.removesuffix(".forward").rpartition(".")[2] for p in calls.load_signatures(
        calls.RECORDED / "signatures.json")}  # fmt: skip
    assert (public & theirs) - names <= ours
