"""MNIST and FashionMNIST on tiny files of the same format."""

from __future__ import annotations

import gzip
import os
import pickle
import struct

import numpy as np
import pytest
from idx_files import NAMES, Server, idx_bytes, tiny_dataset, tiny_files
from PIL import Image

import rushlight as rl
from rushlight.utils.data import DataLoader
from rushlight_vision import datasets
from rushlight_vision.datasets.idx import idx_shape, read_idx
from rushlight_vision.transforms import ToTensor


@pytest.fixture(params=["MNIST", "FashionMNIST"])
def base(request):
    return getattr(datasets, request.param)


@pytest.fixture
def server():
    with Server() as running:
        yield running


def fill(folder, files):
    """Write files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


def check(dataset, files, train=True):
    """The data set holds what the files say."""
    part = "train" if train else "t10k"
    pixels = np.frombuffer(files[f"{part}-images-idx3-ubyte"][16:], np.uint8).reshape(-1, 28, 28)
    np.testing.assert_array_equal(dataset.data.numpy(), pixels)
    labels = list(files[f"{part}-labels-idx1-ubyte"][8:])
    assert dataset.targets.tolist() == labels and dataset.targets.dtype is rl.int64
    image, label = dataset[3]
    assert isinstance(image, Image.Image) and image.mode == "L" and type(label) is int
    np.testing.assert_array_equal(np.asarray(image), pixels[3])
    assert len(dataset) == len(labels)


def test_download(base, server, tmp_path):
    tiny, unpacked, packed = tiny_dataset(base, [f"{server.address}/gone/", f"{server.address}/"])
    server.files.update(packed)
    server.faults[f"/gone/{NAMES[0]}.gz"] = ["missing"]
    server.faults[f"/gone/{NAMES[2]}.gz"] = ["altered"]
    server.faults[f"/gone/{NAMES[1]}.gz"] = ["cut off"]
    check(tiny(tmp_path, download=True), unpacked)
    raw = tmp_path / base.__name__ / "raw"
    assert sorted(os.listdir(raw)) == sorted([*NAMES, *(f"{name}.gz" for name in NAMES)])
    server.requests.clear()
    check(tiny(str(tmp_path), train=False, download=True), unpacked, train=False)
    check(tiny(tmp_path), unpacked)
    assert server.requests == []


def test_without_network_the_way_is_told(base, tmp_path):
    tiny, _, _ = tiny_dataset(base, ["http://127.0.0.1:9/"])
    with pytest.raises(RuntimeError) as caught:
        tiny(tmp_path, download=True)
    message = str(caught.value)
    assert "train-images-idx3-ubyte.gz could not be downloaded: http://127.0.0.1:9/" in message
    assert "Without network, put these files, as published or unpacked" in message
    assert str(tmp_path / base.__name__ / "raw") in message
    assert all(f"{name}.gz" in message for name in NAMES)
    with pytest.raises(RuntimeError, match="not found in .*Use download=True.*Without network"):
        tiny(tmp_path)


@pytest.mark.parametrize("form", ["packed", "unpacked", "packed anew"])
def test_files_put_there_by_hand(base, tmp_path, form):
    tiny, unpacked, packed = tiny_dataset(base, ["http://127.0.0.1:9/"])
    anew = {f"{name}.gz": gzip.compress(data, 1, mtime=5) for name, data in unpacked.items()}
    files = {"packed": packed, "unpacked": unpacked, "packed anew": anew}[form]
    fill(tmp_path / base.__name__ / "raw", files)
    check(tiny(tmp_path), unpacked)
    check(tiny(tmp_path, download=True, train=False), unpacked, train=False)


@pytest.mark.parametrize("damage", ["truncated", "altered", "other content"])
def test_damaged_packed_files(server, tmp_path, damage):
    tiny, unpacked, packed = tiny_dataset(datasets.MNIST, [f"{server.address}/"])
    server.files.update(packed)
    name = f"{NAMES[0]}.gz"
    bad = {
        "truncated": packed[name][:-100],
        "altered": packed[name][:500] + b"??" + packed[name][502:],
        "other content": gzip.compress(unpacked[NAMES[2]]),
    }[damage]
    raw = tmp_path / "MNIST" / "raw"
    fill(raw, {**packed, name: bad})
    with pytest.warns(RuntimeWarning, match=r"train-images.*is not used"):
        with pytest.raises(RuntimeError, match="not found in .*: train-images-idx3-ubyte. Use"):
            tiny(tmp_path)
    with pytest.warns(RuntimeWarning, match="is truncated or altered .* fetching it again"):
        check(tiny(tmp_path, download=True), unpacked)
    assert [path for path, _ in server.requests] == [f"/{name}"]
    assert (raw / name).read_bytes() == packed[name]


def test_truncated_unpacked_files(server, tmp_path):
    tiny, unpacked, packed = tiny_dataset(datasets.MNIST, [f"{server.address}/"])
    server.files.update(packed)
    raw = tmp_path / "MNIST" / "raw"
    fill(raw, {**unpacked, NAMES[0]: unpacked[NAMES[0]][:-1]})
    with pytest.warns(RuntimeWarning, match="train-images-idx3-ubyte is truncated or altered"):
        with pytest.raises(RuntimeError, match="not found in"):
            tiny(tmp_path)
    with pytest.warns(RuntimeWarning, match="train-images-idx3-ubyte is truncated or altered"):
        check(tiny(tmp_path, download=True), unpacked)


def test_files_that_do_not_belong_together(tmp_path):
    tiny, unpacked, _ = tiny_dataset(datasets.MNIST, [])
    fill(tmp_path / "MNIST" / "raw", {**unpacked, NAMES[1]: unpacked[NAMES[3]]})
    with pytest.raises(ValueError, match=r"train-labels.*expected 20 bytes, one for each image"):
        tiny(tmp_path)
    fill(tmp_path / "MNIST" / "raw", {NAMES[0]: unpacked[NAMES[1]]})
    with pytest.raises(ValueError, match=r"train-images.*expected bytes of shape \(N, H, W\)"):
        tiny(tmp_path)


def test_transforms_and_loader(tmp_path):
    tiny, unpacked, _ = tiny_dataset(datasets.MNIST, [])
    fill(tmp_path / "MNIST" / "raw", unpacked)
    dataset = tiny(tmp_path, transform=ToTensor(), target_transform=lambda label: label * 2)
    batches = list(DataLoader(dataset, batch_size=8, shuffle=True))
    shapes = [(count, 1, 28, 28) for count in (8, 8, 4)]
    assert [images.shape for images, _ in batches] == shapes
    assert all(labels.dtype is rl.int64 for _, labels in batches)
    assert sorted(rl.cat([labels for _, labels in batches]).tolist()) == sorted(
        2 * label for label in unpacked[NAMES[1]][8:]
    )
    assert repr(dataset) == (
        "Dataset MNIST\n    Number of datapoints: 20\n"
        f"    Root location: {tmp_path}\n    Split: Train\n    StandardTransform\n"
        f"    Transform: ToTensor()\n    Target transform: {dataset.target_transform!r}"
    )


def test_names_of_classes():
    assert datasets.MNIST.classes[3] == "3 - three"
    assert datasets.FashionMNIST.classes[9] == "Ankle boot"
    dataset = datasets.FashionMNIST.__new__(datasets.FashionMNIST)
    assert dataset.class_to_idx["Bag"] == 8 and len(dataset.class_to_idx) == 10


def test_data_sets_can_be_sent_to_workers(tmp_path):
    fill(tmp_path / "MNIST" / "raw", tiny_files())
    dataset = datasets.MNIST(tmp_path, transform=ToTensor())
    again = pickle.loads(pickle.dumps(dataset))
    assert rl.equal(again[5][0], dataset[5][0])


@pytest.mark.parametrize(
    ("code", "letter", "dtype"),
    [
        (0x08, "u1", rl.uint8),
        (0x09, "i1", rl.int8),
        (0x0B, ">i2", rl.int16),
        (0x0C, ">i4", rl.int32),
        (0x0D, ">f4", rl.float32),
        (0x0E, ">f8", rl.float64),
    ],
)
def test_idx_of_all_types(tmp_path, code, letter, dtype):
    values = (np.arange(24) * 3 - 20).astype(letter).reshape(2, 3, 4)
    path = tmp_path / "file"
    path.write_bytes(idx_bytes(values, code))
    tensor = read_idx(path)
    assert tensor.dtype is dtype and idx_shape(path) == (2, 3, 4)
    np.testing.assert_array_equal(tensor.numpy(), values)
    (tmp_path / "file.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert rl.equal(read_idx(tmp_path / "file.gz"), tensor)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x89PNG....", r"file is not an idx file: it starts with b'\\x89PNG'"),
        (b"", "is not an idx file"),
        (struct.pack(">HBBI", 0, 8, 2, 4), "ends inside its header"),
        (struct.pack(">HBBI", 0, 8, 1, 4) + b"abc", "is truncated: .* needs 4 .* holds 3"),
        (struct.pack(">HBBI", 0, 8, 1, 4) + b"abcde", "is too long"),
    ],
)
def test_what_is_no_idx_file(tmp_path, data, message):
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=message):
        read_idx(path)
    assert idx_shape(path) is None


def test_single_files_of_the_format(tmp_path):
    path = tmp_path / "file"
    pictures = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    path.write_bytes(idx_bytes(pictures))
    found = datasets.mnist.read_image_file(path)
    assert found.dtype == rl.uint8 and found.tolist() == pictures.tolist()
    with pytest.raises(ValueError, match="file: expected 1 dimensions, got 3"):
        datasets.mnist.read_label_file(path)
    path.write_bytes(idx_bytes(pictures.ravel()))
    labels = datasets.mnist.read_label_file(str(path))
    assert labels.dtype == rl.int64 and labels.tolist() == list(range(12))
    with pytest.raises(ValueError, match="file: expected 3 dimensions, got 1"):
        datasets.mnist.read_image_file(path)
    path.write_bytes(idx_bytes(np.zeros((2, 2, 3), ">i4"), 0x0C))
    with pytest.raises(TypeError, match="file: expected values of uint8, got rushlight.int32"):
        datasets.mnist.read_image_file(path)
    path.write_bytes(idx_bytes(pictures)[:-1])
    with pytest.raises(ValueError, match="file is truncated"):
        datasets.mnist.read_image_file(path)
