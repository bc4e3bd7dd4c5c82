"""The networks have torchaudio's states and first weights and compute what it computes."""

import importlib
import json
from pathlib import Path

import network_measures
import pytest
from network_cases import CASES

import rushlight as rl
from rushlight_audio import models
from rushlight_audio.models.wav2vec2.masks import mask_indices

RECORDED = Path(__file__).parents[1] / "recorded"
NETWORKS = network_measures.load(str(RECORDED / "networks.npz"))
BUILDERS = json.loads((RECORDED / "builders.json").read_text())
ARGUMENTS = {
    "emformer_rnnt_base": (4097,),
    "hdemucs_high": (["drums", "bass", "other", "vocals"],),
    "hdemucs_low": (["speech", "noise"],),
    "hdemucs_medium": (["speech", "noise"],),
}


@pytest.mark.parametrize("name", CASES)
def test_same_numbers(name):
    found = network_measures.measure(rl, models, name)
    assert network_measures.differences(found, NETWORKS[name]) == []


@pytest.mark.parametrize("name", BUILDERS)
def test_same_signature(name):
    signature = network_measures.signature(getattr(models, name))
    assert signature == BUILDERS[name]["signature"]
    assert name in models.__all__


@pytest.mark.parametrize("name", [name for name in BUILDERS if "state" in BUILDERS[name]])
def test_same_state_of_published_sizes(name):
    with rl.device("meta"):
        model = getattr(models, name)(*ARGUMENTS.get(name, ()))
    assert network_measures.fingerprint(model.state_dict()) == BUILDERS[name]["state"]


INNER = json.loads((RECORDED / "inner.json").read_text())
# What it takes is the state of one library's encoder on the way to the other's.
ELSEWHERE = {"transform_wavlm_encoder_state"}


@pytest.mark.parametrize("path", INNER)
def test_names_inside_of_files(path):
    module = importlib.import_module(f"rushlight_audio.{path}")
    for name, signature in INNER[path].items():
        if name not in ELSEWHERE:
            assert [name, network_measures.signature(getattr(module, name))] == [name, signature]


def test_every_name_of_torchaudio():
    assert len(BUILDERS) == 41
    assert "Hypothesis" in models.__all__


def test_long_recurrence_of_hdemucs_runs_in_windows():
    from rushlight_audio.models import _hdemucs_layers as layers

    rl.manual_seed(0)
    recurrence = layers._BLSTM(4, layers=1, skip=True)
    x = rl.randn(2, 4, 450)
    found = recurrence(x)
    assert found.shape == x.shape
    first = recurrence(x[..., :200])
    assert rl.allclose(found[..., :150], first[..., :150], atol=1e-6)
    assert not rl.allclose(found[..., 150:200], first[..., 150:], atol=1e-6)


@pytest.mark.parametrize("name", ["wavlm-first", "wav2vec2-first"])
def test_what_stands_behind_the_end_does_not_count(name):
    rl.manual_seed(0)
    model = CASES[name].build(models).eval()
    waves, lengths = rl.randn(1, 200), rl.tensor([150])
    found, frames = model(waves, lengths)
    other, _ = model(rl.cat([waves[:, :150], rl.randn(1, 50)], 1), lengths)
    assert frames.tolist() == [36]
    assert rl.allclose(found[:, :36], other[:, :36], atol=1e-5)
    assert not rl.allclose(found[:, :36], model(waves)[0][:, :36], atol=1e-3)


def test_wide_masks_of_tasnet_keep_the_length():
    """torchaudio's network has no kernel but 3 that works."""
    sizes = {"enc_num_feats": 8, "msk_num_feats": 4, "msk_num_hidden_feats": 6}
    model = models.ConvTasNet(2, 4, msk_kernel_size=5, msk_num_layers=3, msk_num_stacks=1, **sizes)
    assert model(rl.randn(1, 1, 77)).shape == (1, 2, 77)


def test_no_span_masks_nothing():
    none = mask_indices((3, 20), None, 0.0, 4)
    assert none.shape == (3, 20) and not none.any()


BAD = {
    "none of": lambda: models.Wav2Letter(4, "pixels"),
    "product of upsample_scales": lambda: models.WaveRNN([2, 2], 8, 6),
    "msk_kernel_size must be odd": lambda: models.ConvTasNet(msk_kernel_size=4),
    "msk_activate": lambda: models.ConvTasNet(msk_activate="tanh"),
    r"shape \[batch, 1, frames\]": lambda: models.ConvTasNet(enc_num_feats=8)(rl.zeros(2, 9)),
    "must be odd": lambda: models.Conformer(8, 2, 16, 1, 4),
    "no multiple of num_heads": lambda: models.Emformer(8, 3, 16, 1, 4),
    "activation is one of": lambda: models.Emformer(8, 2, 16, 1, 4, activation="tanh"),
    "weight_init_scale_strategy": lambda: models.Emformer(
        8, 2, 16, 1, 4, weight_init_scale_strategy="width"
    ),
    "= 4 frames": lambda: models.Emformer(8, 2, 16, 1, 4).infer(rl.zeros(1, 3, 8), rl.tensor([3])),
    r"shape \[batch, 2, time\]": lambda: models.HDemucs(["a"], channels=8, depth=1, nfft=64)(
        rl.zeros(2, 900)
    ),
    r"\[batch, time\], got \[3\]": lambda: CASES["squim_objective"].build(models)(rl.zeros(3)),
    "extractor_mode": lambda: models.wav2vec2_model(
        "batch_norm", None, False, 8, 0, 2, 1, 1, 1, 0, 8, 0, 0, False, 0, None
    ),
    "must be between": lambda: (
        CASES["wav2vec2"].build(models).extract_features(rl.zeros(1, 200), num_layers=3)
    ),
    "labels for 49 frames": lambda: CASES["hubert"].build(models)(
        rl.zeros(1, 200), rl.zeros(1, 48, dtype=rl.int64)
    ),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input(message):
    with pytest.raises(ValueError, match=message):
        BAD[message]()
