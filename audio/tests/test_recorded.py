"""All names against recorded results of torchaudio 2.9.1: values, gradients, errors, signatures."""

from __future__ import annotations

import warnings

import filtering_calls
import kaldi_calls
import pytest
import signal_calls
import spectral_calls
import torchaudio_calls as calls
import transform_calls

import rushlight
import rushlight_audio

PARTS = {
    "filtering": filtering_calls,
    "kaldi": kaldi_calls,
    "signal": signal_calls,
    "spectral": spectral_calls,
    "transform": transform_calls,
}
CALLS = [(part, name) for part, module in PARTS.items() for name in module.CALLS]
RECORDS = {part: calls.load(calls.RECORDED / f"{part}.npz") for part in PARTS}
SIGNATURES = calls.load_signatures(calls.RECORDED / "signatures.json")
LIBRARY = calls.Library(rushlight, rushlight_audio)


@pytest.mark.parametrize("part, name", CALLS, ids=[name for _, name in CALLS])
def test_results(part, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = calls.outcome(LIBRARY, PARTS[part].CALLS[name])
    assert not calls.differences(found, RECORDS[part][name])


@pytest.mark.parametrize("path", SIGNATURES)
def test_signatures(path):
    found = rushlight_audio
    for name in path.split("."):
        found = getattr(found, name)
    assert calls.signature(found) == SIGNATURES[path]


def test_every_name_has_calls():
    names = {path.removesuffix(".forward").rpartition(".")[2] for path in SIGNATURES}
    assert names - {name.split(" ")[0] for _, name in CALLS} == {"TokenSpan"}  # by merge_tokens


def test_a_name_that_refuses():
    with pytest.raises(NotImplementedError, match="use detect_pitch_frequency"):
        rushlight_audio.functional.compute_kaldi_pitch(rushlight.zeros(9), 8000)
