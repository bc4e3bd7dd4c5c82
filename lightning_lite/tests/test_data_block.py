"""DataBlock's pictures, classes and batches are fastai's; misuse is told by name."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

import rushlight as rl
from lightning_lite import easy
from rushlight import nn

PIL = pytest.importorskip("PIL.Image")
FOLDER = Path(__file__).with_name("recorded")
RECORDED = json.loads((FOLDER / "fastai_blocks.json").read_text())
_spec = importlib.util.spec_from_file_location("blocks", FOLDER / "fastai_blocks.py")
program = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(program)


def plain(found):
    return json.loads(json.dumps(found))


def test_sizes_are_fastais(tmp_path):
    found = program.resized(easy, program.draw(tmp_path)[0])
    assert plain(found) == RECORDED["resized"]


def test_batches_are_fastais(tmp_path):
    program.draw(tmp_path)
    found, expected = program.batches(easy, tmp_path), RECORDED["batches"]
    assert found.pop("x") == pytest.approx(expected["x"], abs=2e-5)
    assert found == {name: value for name, value in expected.items() if name != "x"}


def test_classes_are_fastais():
    assert plain(program.classes(easy)) == RECORDED["classes"]


def test_training_cuts_anywhere():
    image = PIL.new("RGB", (40, 10))
    image.putdata([(column, 0, 0) for _ in range(10) for column in range(40)])
    change, firsts = easy.Resize(10), set()
    for _ in range(30):
        (cut,) = change((image,), ("image",), 0)
        firsts.add(cut.getpixel((0, 0))[0])
    assert len(firsts) > 5 and change((image,), ("image",), 1)[0].getpixel((0, 0))[0] == 15


def ways(path, files):
    """Every way to say the classes of the same files."""
    labels = [each.parent.name for each in files]
    of, options = easy.ImageDataLoaders, {"bs": 4, "seed": 3, "item_tfms": easy.Resize(4)}
    return {
        "path": of.from_path_func(path, files, easy.parent_label, **options),
        "name": of.from_name_func(path, files, lambda name: name.split("_")[0], **options),
        "path_re": of.from_path_re(path, files, r"([a-z]+)_\d+\.png$", **options),
        "name_re": of.from_name_re(path, files, r"^([a-z]+)_", **options),
        "lists": of.from_lists(path, [each.relative_to(path) for each in files], labels, **options),
    }


def test_loaders_of_pictures_agree(tmp_path):
    files = program.draw(tmp_path)
    seen = {}
    for name, dls in ways(tmp_path, files).items():
        x, y = next(iter(dls.valid))
        assert x.shape == (2, 3, 4, 4) and dls.vocab == ["ant", "cat", "dog"]
        assert [len(dls.train_ds), len(dls.valid_ds), len(dls.train), dls.bs] == [10, 2, 2, 4]
        seen[name] = (x.tolist(), y.tolist())
    assert all(each == seen["path"] for each in seen.values())
    again = easy.ImageDataLoaders.from_folder(tmp_path / "train", valid_pct=0.5, seed=1, bs=2)
    assert [len(again.train_ds), len(again.valid_ds)] == [5, 4]


def test_grey_pictures_and_masks(tmp_path):
    files = program.draw(tmp_path)
    block = easy.DataBlock(
        (easy.ImageBlock(easy.PILImageBW), easy.MaskBlock(["sky", "tree"])),
        get_items=easy.get_image_files, splitter=easy.EndSplitter(0.25),
        item_tfms=easy.Resize(6),
    )  # fmt: skip
    dls = block.dataloaders(tmp_path, bs=3)
    image, mask = dls.one_batch()
    assert image.shape == (3, 1, 6, 6) and mask.shape == (3, 6, 6) and mask.dtype == rl.int64
    assert dls.vocab == ["sky", "tree"] and len(files) == 12 and float(image.max()) <= 1


def test_other_items(tmp_path):
    files = program.draw(tmp_path)
    dls = easy.ImageDataLoaders.from_folder(tmp_path, bs=3, item_tfms=easy.Resize(4))
    held = [file for file in sorted(files) if file.parent.parent.name == "valid"]
    (x,), (both, y) = next(iter(dls.test_dl(held))), next(iter(dls.test_dl(held, True)))
    expected, target = next(iter(dls.valid))
    assert rl.equal(x, expected) and rl.equal(both, expected) and rl.equal(y, target)


def test_normalize_is_undone():
    change, x = easy.Normalize.from_stats(*program.STATS), rl.rand(2, 3, 4, 4)
    assert rl.allclose(change.decode(change(x)), x, atol=1e-6)


def test_learns_from_a_block():
    block = easy.DataBlock(
        (easy.RegressionBlock, easy.CategoryBlock), splitter=easy.RandomSplitter(seed=0),
        get_x=lambda item: [item / 50 - 1, 1.0], get_y=lambda item: "high" if item > 50 else "low",
    )  # fmt: skip
    rl.manual_seed(0)
    dls = block.dataloaders(range(100), bs=8)
    learn = easy.Learner(
        dls, nn.Linear(2, 2), nn.CrossEntropyLoss(), metrics=easy.accuracy,
        enable_progress_bar=False,
    )  # fmt: skip
    learn.fit_one_cycle(8, 0.3)
    assert learn.validate()[1] >= 0.9


def block(**options):
    return easy.DataBlock((easy.RegressionBlock, easy.CategoryBlock), **options)


def test_misuse_is_named(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="3 getters for 2 blocks"):
        block(get_x=[abs, abs])
    with pytest.raises(ValueError, match=r"found nothing in \[\]"):
        block().datasets([])
    with pytest.raises(TypeError, match="item_tfms holds 3"):
        block(get_y=str).dataloaders(range(9), item_tfms=[3])
    with pytest.raises(ValueError, match="2 samples make no batch of 8"):
        block(get_y=str, splitter=easy.IndexSplitter([0])).dataloaders(
            range(3), bs=8, drop_last=True
        ).one_batch()
    held = block(get_y=str, splitter=easy.IndexSplitter([0])).datasets(range(3))
    with pytest.raises(KeyError, match="'0' is not among the 2"):
        held.valid[0]
    with pytest.raises(ValueError, match="method='zoom'"):
        easy.Resize(3, "zoom")
    with pytest.raises(ValueError, match="pad_mode='wrap'"):
        easy.Resize(3, "pad", "wrap")
    with pytest.raises(ValueError, match="needs vocab"):
        easy.MultiCategoryBlock(encoded=True)
    with pytest.raises(ValueError, match="2 fnames and 1 labels"):
        easy.ImageDataLoaders.from_lists(tmp_path, ["a", "b"], ["c"])
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ModuleNotFoundError, match="needs Pillow"):
        easy.PILImage.create("a.png")


def test_sizes_that_differ_are_told(tmp_path):
    sides = [4, 5, 6, 7, 8]
    for side in sides:
        PIL.new("RGB", (side, 4)).save(tmp_path / f"a_{side}.png")
    files = easy.get_image_files(tmp_path)
    dls = easy.ImageDataLoaders.from_name_re(tmp_path, files, "^(.)", bs=4)
    with pytest.raises(RuntimeError, match=r"item_tfms=Resize\(224\)"):
        dls.one_batch()


def test_a_block_with_other_transforms():
    block = easy.DataBlock(
        (easy.RegressionBlock, easy.CategoryBlock), get_y=lambda item: item % 3, item_tfms=[len]
    )
    other = block.new(item_tfms=[])
    assert other.item_tfms == [] and block.item_tfms == [len] and other.splitter is block.splitter
    dls = other.dataloaders(list(range(30)), bs=4)
    assert dls.vocab == [0, 1, 2] and dls.c == 3
    numbers = easy.DataBlock(
        (easy.RegressionBlock, easy.RegressionBlock(2)), get_y=lambda n: [n, n]
    )
    assert numbers.dataloaders(list(range(10)), bs=2).c == 2
