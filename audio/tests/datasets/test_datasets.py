"""The 22 data sets give the items that torchaudio gives from the same small folders.

`recorded/datasets.json` is made by ci/audio_datasets.py; `folders.py` fills the folders.
"""

import importlib.util
import inspect
import json
from pathlib import Path

import pytest

from rushlight.utils.data import DataLoader
from rushlight_audio import datasets, prototype

HERE = Path(__file__).parent
RECORDED = json.loads((HERE.parent / "recorded" / "datasets.json").read_text())
_spec = importlib.util.spec_from_file_location("audio_dataset_folders", HERE / "folders.py")
folders = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(folders)


def test_all_data_sets_are_recorded():
    assert len(RECORDED) == 22
    assert set(RECORDED) == set(datasets.__all__) - {"utils", "Musan"} - set(datasets.PACKAGED)


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_items(name, tmp_path):
    found = folders.results(getattr(datasets, name), name, tmp_path)
    assert json.loads(json.dumps(found)) == RECORDED[name]["calls"]
    assert any(call["items"] for call in found)


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_signature(name):
    def shown(parameter):
        default = parameter.default
        plain = None if default is parameter.empty else repr(default)
        return [parameter.name, parameter.kind.name, plain]

    parameters = inspect.signature(getattr(datasets, name)).parameters.values()
    assert [shown(parameter) for parameter in parameters] == RECORDED[name]["signature"]


@pytest.mark.parametrize("name", sorted(set(RECORDED) - {"COMMONVOICE"}))
def test_nothing_there(name, tmp_path):
    options = {"MUSDB_HQ": {"subset": "train"}, "QUESST14": {"subset": "docs"}}
    options |= {"Snips": {"subset": "train"}}
    with pytest.raises(RuntimeError, match=str(tmp_path)):
        getattr(datasets, name)(root=str(tmp_path), **options.get(name, {}))


WRONG = [
    ("DR_VCTK", {"subset": "dev"}, RuntimeError, "subset"),
    ("FluentSpeechCommands", {"subset": "dev"}, ValueError, "subset"),
    ("GTZAN", {"subset": "train"}, ValueError, "subset"),
    ("IEMOCAP", {"utterance_type": "sung"}, ValueError, "utterance_type"),
    ("LIBRISPEECH", {"url": "train"}, ValueError, "url"),
    ("LibriLightLimited", {"subset": "2h"}, ValueError, "subset"),
    ("LibriMix", {"mode": "mean"}, ValueError, "mode"),
    ("LibriMix", {"sample_rate": 44100}, ValueError, "sample_rate"),
    ("MUSDB_HQ", {"subset": "dev"}, ValueError, "subset"),
    ("MUSDB_HQ", {"subset": "train", "split": "dev"}, ValueError, "split"),
    ("QUESST14", {"subset": "train"}, ValueError, "subset"),
    ("QUESST14", {"subset": "dev", "language": "latin"}, ValueError, "language"),
    ("Snips", {"subset": "dev"}, ValueError, "subset"),
    ("Snips", {"subset": "test", "audio_format": "ogg"}, ValueError, "audio_format"),
    ("SPEECHCOMMANDS", {"subset": "dev"}, ValueError, "subset"),
    ("TEDLIUM", {"release": "release4"}, RuntimeError, "release"),
    ("TEDLIUM", {"subset": "valid"}, RuntimeError, "subset"),
    ("VCTK_092", {"mic_id": "mic3"}, RuntimeError, "mic_id"),
    ("VoxCeleb1Identification", {"subset": "valid"}, ValueError, "subset"),
]


@pytest.mark.parametrize(("name", "options", "error", "argument"), WRONG)
def test_wrong_arguments(name, options, error, argument, tmp_path):
    folders.FOLDERS[name](tmp_path)
    with pytest.raises(error, match=f"`{argument}` must be one of .*got {options[argument]!r}"):
        getattr(datasets, name)(root=tmp_path, **options)


def test_gtzan_parts(tmp_path):
    folders.GTZAN(tmp_path)
    sizes = {}
    for subset in ("training", "validation", "testing"):
        part = datasets.GTZAN(tmp_path, subset=subset)
        sizes[subset] = len(part)
    assert sizes == {"training": 443, "validation": 197, "testing": 290}
    assert datasets.GTZAN(tmp_path, subset="training")[0][2] == "blues"


def test_musan(tmp_path):
    """torchaudio's prototype of it lists files in the order of the disk."""
    for name in ("free-sound/noise-1", "sound-bible/noise-0"):
        folders.sound(tmp_path / "noise" / f"{name}.wav")
    folders.text(tmp_path / "noise" / "free-sound" / "LICENSE", "free")
    data = prototype.datasets.Musan(tmp_path, "noise")
    assert [item[1:] for item in data] == [(16000, "noise-1.wav"), (16000, "noise-0.wav")]
    assert data[0][0].shape == (1, 400)
    assert data.get_metadata(1)[0] == str(tmp_path / "noise" / "sound-bible" / "noise-0.wav")
    with pytest.raises(ValueError, match="`subset` must be one of .*got 'songs'"):
        datasets.Musan(tmp_path, "songs")
    with pytest.raises(RuntimeError, match="music; http://www.openslr.org/resources/17"):
        datasets.Musan(tmp_path, "music")


def test_a_wrong_rate_is_named(tmp_path):
    folders.YESNO(tmp_path)
    folders.LIBRISPEECH(tmp_path)
    path = tmp_path / "LibriSpeech" / "train-clean-100" / "103" / "1240" / "103-1240-0000.flac"
    folders.sound(path, rate=8000)
    with pytest.raises(ValueError, match="103-1240-0000.flac: the sample rate should be 16000"):
        datasets.LIBRISPEECH(tmp_path)[0]


def test_subclasses_as_in_tutorials(tmp_path):
    """torchaudio's tutorial on commands sets `_walker` itself."""
    folders.SPEECHCOMMANDS(tmp_path)

    class Subset(datasets.SPEECHCOMMANDS):
        def __init__(self):
            super().__init__(str(tmp_path), download=False)
            listed = Path(self._path, "testing_list.txt").read_text().splitlines()
            self._walker = [str(Path(self._path) / line) for line in listed]

    assert [item[2] for item in DataLoader(Subset(), batch_size=None)] == ["bed"]
