"""The published data sets give torchtext 0.18's items (recorded) for small files of their forms."""

import inspect
import json
import sys

import dataset_files
import pytest

from rushlight.utils.data import DataLoader
from rushlight_text import datasets
from rushlight_text.datasets._published import TextPipe

NAMES = sorted(datasets.DATASETS)


def module(name):
    return sys.modules[f"rushlight_text.datasets.{name.lower()}"]


def without_digests(value):
    return dict.fromkeys(value) if isinstance(value, dict) else None


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """All files in the place of the network, which need not have the published digests."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    dataset_files.write(folder)
    monkeypatch.setenv("RUSHLIGHT_MIRRORS", str(folder))
    for name in NAMES:
        monkeypatch.setattr(module(name), "MD5", without_digests(module(name).MD5))
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_the_items(name, recorded, mirror, tmp_path):
    found = json.loads(json.dumps(dataset_files.answers(datasets, name, tmp_path)))
    expected = recorded("datasets")[name]
    assert found == expected
    again = json.loads(json.dumps(dataset_files.answers(datasets, name, tmp_path)))
    assert again == found


def test_there_are_all_of_them():
    assert len(NAMES) == 31 and set(NAMES) <= set(datasets.__all__)
    for name in NAMES:
        signature = list(inspect.signature(getattr(datasets, name)).parameters)
        assert signature[0] == "root", name
        assert module(name).DATASET_NAME == name
        assert hasattr(module(name), "URL")


def test_splits_and_options(mirror, tmp_path):
    root = str(tmp_path)
    train, test = datasets.AG_NEWS(root, ("train", "test"))
    assert len(list(train)) == 2 * len(list(test)) == 4
    assert next(iter(datasets.AG_NEWS(root, split="test"))) == (2, 'A "quoted" title and, a text')
    pair = next(iter(datasets.Multi30k(root, "valid", language_pair=("en", "de"))))
    assert pair == ("en one", "de one")
    english = datasets.CC100(root, "en")
    assert list(english) == [("en", "one line"), ("en", ""), ("en", "third")]
    talk = datasets.IWSLT2016(root, "test", ("de", "en"), test_set="tst2013")
    assert next(iter(talk)) == ("de three\n", "en three\n")


def test_wrong_options_are_named(tmp_path):
    with pytest.raises(TypeError, match=r"selection \('dev',\) of splits is not supported"):
        datasets.IMDB(split="dev")
    with pytest.raises(ValueError, match="split must be a string or a tuple"):
        datasets.IMDB(split=3)
    with pytest.raises(ValueError, match="Invalid language code xx"):
        datasets.CC100(language_code="xx")
    with pytest.raises(AssertionError, match="language_pair must be either"):
        datasets.Multi30k(language_pair=("fr", "en"))
    for options, message in (
        ({"language_pair": "de"}, "must be list or tuple"),
        ({"language_pair": ("xx", "en")}, "src_language 'xx' is not valid"),
        ({"language_pair": ("de", "fr")}, "tgt_language 'fr' is not valid"),
        ({"valid_set": "tst1"}, "valid_set 'tst1' is not valid"),
        ({"language_pair": ("en", "cs")}, "test_set 'tst2014' is not valid"),
    ):
        with pytest.raises(ValueError, match=message):
            datasets.IWSLT2016(**options)


def test_nothing_is_fetched_before_it_is_needed(tmp_path, monkeypatch):
    monkeypatch.setattr(module("SST2"), "URL", "file:///nowhere/SST-2.zip")
    pipe = datasets.SST2(str(tmp_path), split="train")
    with pytest.raises(RuntimeError, match=r"nowhere/SST-2\.zip.*put the file into .*SST2"):
        list(pipe)


def test_addresses_can_be_changed(tmp_path, monkeypatch):
    (tmp_path / "new.csv").write_text('"3","new","text"\n')
    monkeypatch.setitem(module("AG_NEWS").URL, "train", (tmp_path / "new.csv").as_uri())
    monkeypatch.setitem(module("AG_NEWS").MD5, "train", None)
    assert list(datasets.AG_NEWS(str(tmp_path), "train")) == [(3, "new text")]


def test_other_files_are_refused(tmp_path, mirror, monkeypatch):
    monkeypatch.setattr(module("QQP"), "MD5", "0" * 32)
    monkeypatch.setattr(module("QQP"), "URL", "file:///nowhere/quora_duplicate_questions.tsv")
    with pytest.raises(RuntimeError, match="quora_duplicate_questions"):
        list(datasets.QQP(str(tmp_path)))
    (mirror / "enwik9.zip").write_bytes(dataset_files._zip({"other": "x"}))
    with pytest.raises(FileNotFoundError, match=r"enwik9\.zip has no member 'enwik9'"):
        list(datasets.EnWik9(str(tmp_path)))


def test_items_are_changed_on_the_way(mirror, tmp_path):
    import random

    pipe = datasets.DBpedia(str(tmp_path), "train")
    assert list(pipe.map(lambda row: row[0])) == [2, 1, 2, 1]
    assert len(list(pipe.filter(lambda row: row[0] == 1))) == 2
    assert [len(rows) for rows in pipe.batch(3)] == [3, 1]
    assert [len(rows) for rows in pipe.batch(3, drop_last=True)] == [3]
    (columns,) = pipe.batch(4).rows2columnar(["label", "text"])
    assert columns["label"] == [2, 1, 2, 1] and len(columns["text"]) == 4
    random.seed(0)
    numbers = TextPipe(lambda: range(100))
    mixed = list(numbers.shuffle(10))
    assert sorted(mixed) == list(range(100)) and mixed != list(range(100))
    assert max(abs(value - place) for place, value in enumerate(mixed[:5])) <= 11


def test_workers_share_the_items(mirror, tmp_path):
    pipe = datasets.PennTreebank(str(tmp_path), "train").sharding_filter()
    assert sorted(DataLoader(pipe, batch_size=None)) == ["c", "train a b"]


def test_older_paths(tmp_path):
    from rushlight_text import data, legacy

    assert data.Field is legacy.data.Field and data.BucketIterator is legacy.data.BucketIterator
    assert datasets.TranslationDataset is legacy.datasets.TranslationDataset
    assert datasets.Multi30k.splits == legacy.datasets.Multi30k.splits
    for module_ in (data, datasets):
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            _ = module_.nothing
