"""Bundles ask for torchaudio's files, and give what torchaudio gives with the same weights."""

import json
import urllib.error
from pathlib import Path

import numpy as np
import pipeline_cases
import pytest

import rushlight as rl
import rushlight_audio
from rushlight_audio import pipelines
from rushlight_audio.pipelines._pieces import read_pieces

RECORDED = Path(__file__).parents[1] / "recorded"
FACTS = json.loads((RECORDED / "pipelines.json").read_text(encoding="utf-8"))
PATCHES = ["rushlight.hub.load_state_dict_from_url", "rushlight.hub.download_url_to_file"]


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """What small bundles give, from files in the folders that bundles look in."""
    folder = tmp_path_factory.mktemp("hub")
    before = rl.hub.get_dir()
    rl.hub.set_dir(str(folder))

    def provide(path, value):
        file = folder / ("torchaudio" if "/" in path else "checkpoints") / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith("json"):
            file.write_text(json.dumps(value))
        else:
            rl.save(value, str(file))

    yield pipeline_cases.measured(rl, rushlight_audio, provide)
    rl.hub.set_dir(before)


with np.load(RECORDED / "pipelines.npz") as _file:
    VALUES = {key: _file[key] for key in _file.files}


@pytest.mark.parametrize("key", VALUES)
def test_same_values(key, measured):
    found, expected = measured[key], VALUES[key]
    assert found.shape == expected.shape
    if expected.dtype.kind != "f":
        assert np.array_equal(found, expected)
        return
    scale = np.abs(expected).max()
    # Thirty-two rounds of Griffin and Lim's method multiply the rounding of the first.
    tolerance = 1e-3 if key.endswith("griffinlim") else 1e-5
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("name", FACTS["published"])
def test_published(name):
    found = pipeline_cases.published(rl, rushlight_audio, PATCHES, [name])
    assert found[name] == FACTS["published"][name]


@pytest.mark.parametrize("name", FACTS["signatures"])
def test_signatures(name):
    assert pipeline_cases.signatures(rushlight_audio)[name] == FACTS["signatures"][name]


@pytest.fixture
def hub(tmp_path):
    """An empty folder of files."""
    before = rl.hub.get_dir()
    rl.hub.set_dir(str(tmp_path))
    yield tmp_path
    rl.hub.set_dir(before)


def test_without_network_errors_say_where_files_go(hub, monkeypatch):
    monkeypatch.delenv("RUSHLIGHT_MIRRORS", raising=False)
    monkeypatch.setattr("urllib.request.urlopen", _offline)
    small = pipelines.Wav2Vec2Bundle("no.pth", pipeline_cases.SIZES, 16000, False, "Wav2Vec2")
    with pytest.raises(OSError, match=f"models/no.pth: .*put the file into {hub}/checkpoints"):
        small.get_model()
    bundle = pipelines.EMFORMER_RNNT_BASE_LIBRISPEECH
    folder = hub / "torchaudio" / "pipeline-assets"
    with pytest.raises(OSError, match=f"put the file into {folder} as spm_bpe_4096_librisp"):
        bundle.get_token_processor()
    with pytest.raises(OSError, match=f"put the file into {hub}/torchaudio/models as squim"):
        pipelines.SQUIM_OBJECTIVE.get_model()


def _offline(*args, **kwargs):
    raise urllib.error.URLError("there is no network in this test")


def test_files_with_the_names_of_older_weight_normalization(hub):
    """As the published ones have them."""
    model = rushlight_audio.models.wav2vec2_model(**pipeline_cases.SIZES).eval()
    older = {}
    for key, value in model.state_dict().items():
        key = key.replace("parametrizations.weight.original0", "weight_g")
        older[key.replace("parametrizations.weight.original1", "weight_v")] = value
    assert "encoder.transformer.pos_conv_embed.conv.weight_g" in older
    (hub / "checkpoints").mkdir()
    rl.save(older, str(hub / "checkpoints" / "older.pth"))
    bundle = pipelines.Wav2Vec2Bundle("older.pth", pipeline_cases.SIZES, 16000, False, "Wav2Vec2")
    waves = rl.randn(1, 120)
    assert rl.equal(bundle.get_model()(waves)[0], model(waves)[0])


def test_phonemes_refuse():
    with pytest.raises(NotImplementedError, match="bundles with CHAR in their name"):
        pipelines.TACOTRON2_WAVERNN_PHONE_LJSPEECH.get_text_processor()


def field(number, value):
    """A field of protocol buffers."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    return bytes([number << 3 | 2, len(value)]) + value


PIECES = [("<unk>", 2), ("<s>", 3), ("\u2581he", 1), ("llo", 1), ("\u2581you", 1), ("\u00e9", 1)]


def sentencepiece_file(path):
    """A model of PIECES with scores, and a trainer's settings behind them."""
    rows = [
        field(1, text.encode()) + b"\x15\0\0\x80\xbf" + (field(3, kind) if kind != 1 else b"")
        for text, kind in PIECES
    ]
    path.write_bytes(b"".join(field(1, row) for row in rows) + field(2, b"\x08\x01"))


def test_text_of_symbols(hub):
    folder = hub / "torchaudio" / "pipeline-assets"
    folder.mkdir(parents=True)
    sentencepiece_file(folder / "spm_bpe_4096_librispeech.model")
    text = pipelines.EMFORMER_RNNT_BASE_LIBRISPEECH.get_token_processor()
    assert text([4096, 1, 2, 3, 0, 4, 5]) == "hello you\u00e9"
    assert text([2, 3], lstrip=False) == " hello"


@pytest.mark.parametrize("damage", [b"", b"\x0a\xff", b"\x0b", b"\xff\xff", b"\x12\x00"])
def test_damaged_pieces(damage, tmp_path):
    path = tmp_path / "damaged.model"
    path.write_bytes(damage)
    with pytest.raises(ValueError, match="no SentencePiece model"):
        read_pieces(path)


def test_names():
    assert len(FACTS["published"]) == 40
    assert set(pipelines.__all__) == {*FACTS["published"], *pipeline_cases.CLASSES}
