"""Folders of images, and FakeData."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pictures import picture

import rushlight as rl
from rushlight.utils.data import DataLoader
from rushlight_vision import transforms as T
from rushlight_vision.datasets import DatasetFolder, FakeData, ImageFolder, VisionDataset
from rushlight_vision.datasets.folder import is_image_file, make_dataset


@pytest.fixture
def root(tmp_path):
    for number, name in enumerate(["b/2.png", "b/1.PNG", "a/x.jpg", "a/deep/y.bmp", "c/z.webp"]):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        picture(seed=number, mode="L" if number == 0 else "RGB").save(path)
    (tmp_path / "a" / "notes.txt").write_text("no image")
    (tmp_path / "top.png").write_bytes(b"")
    return tmp_path


def test_images_in_folders(root):
    folder = ImageFolder(root)
    assert folder.classes == ["a", "b", "c"] and folder.class_to_idx == {"a": 0, "b": 1, "c": 2}
    names = [path[len(str(root)) + 1 :] for path, _ in folder.samples]
    assert names == ["a/x.jpg", "a/deep/y.bmp", "b/1.PNG", "b/2.png", "c/z.webp"]
    assert folder.targets == [0, 0, 1, 1, 2] and folder.imgs is folder.samples
    image, target = folder[3]
    assert image.mode == "RGB" and target == 1
    np.testing.assert_array_equal(np.asarray(image)[..., 1], np.asarray(picture(mode="L")))
    assert repr(folder).startswith("Dataset ImageFolder\n    Number of datapoints: 5\n    Root")


def test_batches(root):
    transform = T.Compose([T.Resize((8, 8)), T.ToTensor()])
    folder = ImageFolder(root, transform, target_transform=lambda target: 10 + target)
    images, targets = next(iter(DataLoader(folder, batch_size=5)))
    assert images.shape == (5, 3, 8, 8) and targets.tolist() == [10, 10, 11, 11, 12]


def test_a_text_among_images_is_named(root):
    path = root / "b" / "0.png"
    path.write_text("this is no image")
    with pytest.raises(ValueError, match=r"b/0\.png is not an image that Pillow can read \(16 by"):
        ImageFolder(root)[2]


def test_a_damaged_image_is_named(root):
    path = root / "b" / "2.png"
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ValueError, match=r"b/2\.png is a damaged image"):
        ImageFolder(root)[3]


def test_a_vanished_image_is_named(root):
    folder = ImageFolder(root)
    (root / "c" / "z.webp").unlink()
    with pytest.raises(FileNotFoundError, match=r"c/z\.webp does not exist"):
        folder[4]


def test_missing_folders_and_classes(tmp_path, root):
    with pytest.raises(FileNotFoundError, match="nowhere is not a folder"):
        ImageFolder(tmp_path / "nowhere")
    (tmp_path / "bare").mkdir()
    with pytest.raises(FileNotFoundError, match="Couldn't find any class folder in .*bare"):
        ImageFolder(tmp_path / "bare")
    with pytest.raises(FileNotFoundError, match="no valid file for the classes bare .*: .jpg"):
        ImageFolder(root)
    assert len(ImageFolder(root, allow_empty=True)) == 5


def test_other_samples(root):
    read = lambda path: Path(path).read_text()
    folder = DatasetFolder(root, read, extensions=(".txt",), allow_empty=True)
    assert [folder[0]] == [("no image", 0)]
    only_png = ImageFolder(root, is_valid_file=lambda path: path.endswith("png"), allow_empty=True)
    assert [path[-5:] for path, _ in only_png.samples] == ["2.png"]
    for arguments in ({}, {"extensions": ".png", "is_valid_file": is_image_file}):
        with pytest.raises(ValueError, match="either extensions or is_valid_file"):
            make_dataset(root, **arguments)
    assert is_image_file("A.JPEG") and not is_image_file("a.txt")


def test_fake_data():
    rl.manual_seed(7)
    expected = float(rl.rand(1))
    rl.manual_seed(7)
    data = FakeData(size=4, image_size=(3, 6, 5), num_classes=3, random_offset=10)
    image, target = data[2]
    assert float(rl.rand(1)) == expected  # the generator goes on undisturbed
    assert image.size == (5, 6) and image.mode == "RGB" and target in range(3)
    rl.manual_seed(12)
    noise = rl.randn(3, 6, 5)
    assert int(rl.randint(0, 3, size=(1,))) == target
    assert image.tobytes() == T.ToPILImage()(noise).tobytes()
    assert sum(1 for _ in DataLoader(FakeData(4, (1, 2, 2), transform=T.ToTensor()))) == 4
    with pytest.raises(IndexError, match="index 4 of 4"):
        data[4]


def test_transforms_of_pairs():
    with pytest.raises(ValueError, match="only transforms or transform/target_transform"):
        VisionDataset(transforms=lambda a, b: (a, b), transform=lambda a: a)
    both = VisionDataset("somewhere", transform=lambda a: a + 1, target_transform=lambda b: b * 2)
    assert both.transforms(1, 2) == (2, 4)
    with pytest.raises(NotImplementedError, match="defines no __len__"):
        len(both)
    with pytest.raises(NotImplementedError, match="defines no __getitem__"):
        both[0]
