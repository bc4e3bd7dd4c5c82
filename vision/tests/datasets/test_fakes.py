"""Every data set reads a small copy of its published layout."""

from __future__ import annotations

import importlib
import inspect
import pickle
import warnings
from pathlib import Path

import fakes_arrays  # noqa: F401 - registers fakes
import fakes_lists  # noqa: F401
import fakes_pairs  # noqa: F401
import fakes_targets  # noqa: F401
import fakes_videos  # noqa: F401
import pytest
from comparing import item, same
from faking import FAKES

from rushlight_vision import datasets
from rushlight_vision.datasets import integrity

# Not a published data set: tested elsewhere.
OTHERS = {
    "DatasetFolder",
    "DigitsSample",
    "GeneratedShapes",
    "FakeData",
    "ImageFolder",
    "LSUNClass",
    "VisionDataset",
    "from_folder",
    "wrap_dataset_for_transforms_v2",
}
NO_SUCH_FILES = (RuntimeError, FileNotFoundError, NotADirectoryError)


def place(name, root):
    """The folder that a data set of videos is given; others get the whole."""
    return str(root / "videos" if name in ("HMDB51", "UCF101") else root)


@pytest.fixture(autouse=True)
def any_sum(monkeypatch):
    """Files need not be the published ones."""
    monkeypatch.setattr(integrity, "check_integrity", lambda path, md5=None: path_is_file(path))


def path_is_file(path):
    return Path(path).is_file()


def made(name, root):
    """The class of a fake and its cases, made in a folder."""
    maker = FAKES[name]
    if maker.needs:
        pytest.importorskip(maker.needs)
    return getattr(datasets, name.partition(",")[0]), maker(root)


def test_every_data_set_has_a_fake():
    assert {name.partition(",")[0] for name in FAKES} == set(datasets.__all__) - OTHERS


@pytest.mark.parametrize("name", sorted(FAKES))
def test_items_are_what_the_files_hold(name, tmp_path):
    kind, cases = made(name, tmp_path)
    for case in cases:
        dataset = kind(place(name, tmp_path), **case.arguments)
        assert len(dataset) == len(case.items), case.arguments
        for number, expected in enumerate(case.items):
            found = item(dataset[number])
            assert same(found, expected), (case.arguments, number, found, expected)
        for attribute, expected in case.attributes.items():
            assert getattr(dataset, attribute) == expected, attribute
        assert repr(dataset).startswith(f"Dataset {kind.__name__}\n")
        assert f"Number of datapoints: {len(case.items)}" in repr(dataset)


@pytest.mark.parametrize("name", sorted(FAKES))
def test_the_root_may_be_relative(name, tmp_path, monkeypatch):
    folder = tmp_path / "made"
    folder.mkdir()
    kind, cases = made(name, folder)
    monkeypatch.chdir(tmp_path)
    case = next(case for case in cases if case.items)
    dataset = kind(place(name, Path("made")), **case.arguments)
    assert same(item(dataset[0]), case.items[0])


@pytest.mark.parametrize("name", sorted(FAKES))
def test_transforms_change_the_items(name, tmp_path):
    kind, cases = made(name, tmp_path)
    case = next(case for case in cases if case.items)
    names = inspect.signature(kind).parameters
    if "transform" in names or "kwargs" in names:
        arguments = {"transform": lambda image: ("changed", image)}
        if "target_transform" in names or "kwargs" in names:
            arguments["target_transform"] = lambda target: ("aim", target)
        found = kind(place(name, tmp_path), **case.arguments, **arguments)[0]
        found = found if isinstance(found, tuple) and len(case.items[0]) > 1 else (found,)
        assert found[0][0] == "changed"
        if case.items[0][-1] is not None and "target_transform" in arguments:
            assert found[-1][0] == "aim"
    if "transforms" in names:
        dataset = kind(
            place(name, tmp_path), **case.arguments, transforms=lambda *given: given[::-1]
        )
        plain_item = kind(place(name, tmp_path), **case.arguments)[0]
        if len(plain_item) == 2:
            assert same(item(dataset[0]), item(plain_item)[::-1])


@pytest.mark.parametrize("name", sorted(FAKES))
def test_data_sets_go_to_other_processes(name, tmp_path):
    kind, cases = made(name, tmp_path)
    case = next(case for case in cases if case.items)
    dataset = pickle.loads(pickle.dumps(kind(place(name, tmp_path), **case.arguments)))
    assert same(item(dataset[0]), case.items[0])


@pytest.mark.parametrize("name", sorted(FAKES))
def test_missing_files_are_named(name, tmp_path):
    full, empty = tmp_path / "full", tmp_path / "empty"
    full.mkdir(), empty.mkdir()
    kind, cases = made(name, full)
    arguments = dict(cases[0].arguments)
    if not {"annFile", "ann_file"} & set(arguments):
        with pytest.raises(NO_SUCH_FILES, match=str(empty)):
            kind(str(empty), **arguments)


@pytest.mark.parametrize("name", sorted(FAKES))
def test_words_that_are_not_known_are_refused(name, tmp_path):
    kind, cases = made(name, tmp_path)
    words = {
        parameter: value.default
        for parameter, value in inspect.signature(kind).parameters.items()
        if isinstance(value.default, str) or parameter in ("split", "name", "version")
    }
    words.pop("root", None)
    for parameter in words:
        with pytest.raises(ValueError, match=f"{parameter}.* must be .*'nonsense'"):
            kind(place(name, tmp_path), **{**cases[0].arguments, parameter: "nonsense"})


def test_modules_have_torchvisions_paths():
    for name in set(datasets.__all__) - {"DigitsSample", "GeneratedShapes", "from_folder"}:
        module = getattr(datasets, name).__module__.rsplit(".", 1)[-1]
        place = {"_mnist": "mnist", "_emnist": "mnist", "_middlebury": "_stereo_matching"}
        loaded = importlib.import_module(f"{datasets.__name__}.{place.get(module, module)}")
        assert getattr(loaded, name) is getattr(datasets, name)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        datasets.Nothing  # noqa: B018
    assert set(datasets.__all__) <= set(dir(datasets))


def test_former_names_of_mnist_warn(tmp_path):
    kind, _ = made("MNIST", tmp_path)
    dataset = kind(str(tmp_path))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert dataset.train_data is dataset.data and dataset.test_labels is dataset.targets
    assert [str(w.message) for w in caught] == [
        "train_data is now called data",
        "test_labels is now called targets",
    ]
