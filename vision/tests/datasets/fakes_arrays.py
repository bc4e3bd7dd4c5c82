"""Fakes of data sets that are arrays in a few files."""

from __future__ import annotations

import bz2
import pickle
import struct

import numpy as np
from faking import Case, fake, generator, mat, picture, text
from PIL import Image


def _cifar(root, folder, parts, label_key, meta, names):
    """Files of one edition; the items of each list of files."""
    place = root / folder
    place.mkdir()
    found = {}
    for name, count in parts.items():
        data = generator(name).integers(0, 256, (count, 3072)).astype(np.uint8)
        labels = generator(name + "labels").integers(0, len(names), count).tolist()
        (place / name).write_bytes(pickle.dumps({"data": data, label_key: labels}, protocol=2))
        pictures = data.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        found[name] = list(zip(pictures, labels, strict=True))
    (place / meta[0]).write_bytes(pickle.dumps({meta[1]: names}, protocol=2))
    return found


@fake("CIFAR10")
def cifar10(root):
    names = "airplane automobile bird cat deer dog frog horse ship truck".split()
    parts = {**{f"data_batch_{number}": 3 for number in range(1, 6)}, "test_batch": 4}
    meta = ("batches.meta", "label_names")
    found = _cifar(root, "cifar-10-batches-py", parts, "labels", meta, names)
    test = found.pop("test_batch")
    train = [item for items in found.values() for item in items]
    return [
        Case(train, attributes={"classes": names}),
        Case(test, {"train": False}, {"class_to_idx": {n: i for i, n in enumerate(names)}}),
    ]


@fake("CIFAR100")
def cifar100(root):
    names = [f"thing {number}" for number in range(100)]
    meta = ("meta", "fine_label_names")
    parts = {"train": 6, "test": 3}
    found = _cifar(root, "cifar-100-python", parts, "fine_labels", meta, names)
    return [Case(found["train"]), Case(found["test"], {"train": False}, {"classes": names})]


@fake("STL10")
def stl10(root):
    place = root / "stl10_binary"
    place.mkdir()
    found = {}
    for part, count in (("train", 6), ("test", 3), ("unlabeled", 2)):
        data = generator(part).integers(0, 256, (count, 3, 96, 96)).astype(np.uint8)
        data.tofile(place / f"{part}_X.bin")  # channel, column, row
        labels = np.full(count, 0)
        if part != "unlabeled":
            labels = generator(part + "y").integers(1, 11, count)
            labels.astype(np.uint8).tofile(place / f"{part}_y.bin")
        found[part] = list(zip(data.transpose(0, 3, 2, 1), (labels - 1).tolist(), strict=True))
    text(place / "class_names.txt", ["airplane", "bird"])
    text(place / "fold_indices.txt", [f"{n % 6} {(n + 2) % 6} " for n in range(10)])
    both = found["train"] + found["unlabeled"]
    return [
        Case(found["train"], attributes={"classes": ["airplane", "bird"]}),
        Case(found["test"], {"split": "test"}),
        Case(found["unlabeled"], {"split": "unlabeled"}),
        Case(both, {"split": "train+unlabeled"}),
        Case([found["train"][3], found["train"][5]], {"folds": 3}),
    ]


@fake("SVHN", needs="scipy")
def svhn(root):
    cases = []
    for part in ("train", "test", "extra"):
        data = generator(part).integers(0, 256, (32, 32, 3, 4)).astype(np.uint8)
        labels = np.array([[1], [10], [7], [2]], np.uint8)
        mat(root / f"{part}_32x32.mat", X=data, y=labels)
        items = list(zip(data.transpose(3, 0, 1, 2), [1, 0, 7, 2], strict=True))
        cases.append(Case(items, {"split": part}))
    return cases


@fake("SEMEION")
def semeion(root):
    bits = generator("semeion").integers(0, 2, (4, 256))
    labels = [3, 0, 9, 5]
    one_hot = np.eye(10, dtype=int)[labels]
    text(
        root / "semeion.data",
        [
            " ".join([*(f"{b}.0000" for b in row), *map(str, digit)]) + " "
            for row, digit in zip(bits, one_hot, strict=True)
        ],
    )
    pictures = (bits * 255).astype(np.uint8).reshape(-1, 16, 16)
    return [Case(list(zip(pictures, labels, strict=True)), {"download": False})]


@fake("USPS")
def usps(root):
    cases = []
    for name, train in (("usps.bz2", True), ("usps.t.bz2", False)):
        values = generator(name).choice([-1.0, -0.5, 0.0, 0.25, 1.0], (3, 256))
        labels = [10, 1, 4]
        lines = [
            f"{label} " + " ".join(f"{place}:{v}" for place, v in enumerate(row, 1))
            for label, row in zip(labels, values, strict=True)
        ]
        (root / name).write_bytes(bz2.compress("\n".join(lines).encode() + b"\n"))
        pictures = ((values + 1) / 2 * 255).astype(np.uint8).reshape(-1, 16, 16)
        cases.append(Case(list(zip(pictures, [9, 0, 3], strict=True)), {"train": train}))
    return cases


def idx(path, array, code=0x08):
    """Write an array in the idx format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    order = {0x08: ">u1", 0x0C: ">i4"}[code]
    head = struct.pack(f">HBB{array.ndim}I", 0, code, array.ndim, *array.shape)
    path.write_bytes(head + array.astype(order).tobytes())


def _idx_pair(images_path, labels_path, name, count=4, classes=10):
    images = generator(name).integers(0, 256, (count, 28, 28)).astype(np.uint8)
    labels = generator(name + "y").integers(0, classes, count).astype(np.uint8)
    idx(images_path, images)
    idx(labels_path, labels)
    return list(zip(images, labels.tolist(), strict=True))


def _mnist_like(folder):
    def make(root):
        raw = root / folder / "raw"
        return [
            Case(
                _idx_pair(
                    raw / f"{part}-images-idx3-ubyte", raw / f"{part}-labels-idx1-ubyte", part
                ),
                {"train": train},
            )
            for part, train in (("train", True), ("t10k", False))
        ]

    return make


for _name in ("MNIST", "FashionMNIST", "KMNIST"):
    fake(_name)(_mnist_like(_name))


@fake("EMNIST")
def emnist(root):
    cases = []
    for split, classes in (("byclass", 62), ("bymerge", 47), ("letters", 27), ("digits", 10)):
        for part in ("train", "test"):
            start = f"emnist-{split}-{part}"
            places = [
                root / "EMNIST" / "raw" / f"{start}-{kind}-ubyte"
                for kind in ("images-idx3", "labels-idx1")
            ]
            items = _idx_pair(*places, start, classes=classes)
            cases.append(Case(items, {"split": split, "train": part == "train"}))
    cases[0].attributes["classes"] = sorted(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    )
    cases[2].attributes["classes"] = sorted(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabdefghnqrt"  # the forms that NIST keeps apart
    )
    return cases


@fake("QMNIST")
def qmnist(root):
    raw = root / "QMNIST" / "raw"
    found = {}
    for part in ("train", "test", "nist"):
        start = "xnist" if part == "nist" else f"qmnist-{part}"
        images = generator(start).integers(0, 256, (4, 28, 28)).astype(np.uint8)
        labels = generator(start + "y").integers(0, 10, (4, 8))
        idx(raw / f"{start}-images-idx3-ubyte", images)
        idx(raw / f"{start}-labels-idx2-int", labels, code=0x0C)
        found[part] = images, labels
    plain = [(image, int(row[0])) for image, row in zip(*found["train"], strict=True)]
    tested = [(image, int(row[0])) for image, row in zip(*found["test"], strict=True)]
    return [
        Case(plain),
        Case(plain, {"train": True}),
        Case(tested, {"what": "test10k"}),
        Case([], {"what": "test50k"}),
        Case(list(zip(*found["nist"], strict=True)), {"what": "nist", "compat": False}),
    ]


@fake("MovingMNIST")
def moving_mnist(root):
    frames = generator("moving").integers(0, 256, (20, 3, 64, 64)).astype(np.uint8)
    (root / "MovingMNIST").mkdir()
    np.save(root / "MovingMNIST" / "mnist_test_seq.npy", frames)
    films = frames.transpose(1, 0, 2, 3)[:, :, None]
    return [
        Case([(film,) for film in films]),
        Case([(film[:4],) for film in films], {"split": "train", "split_ratio": 4}),
        Case([(film[10:],) for film in films], {"split": "test"}),
    ]


@fake("PhotoTour")
def phototour(root):
    place = root / "liberty"
    sheets = [picture(place / f"patches000{n}.bmp", (128, 128), "L") for n in range(2)]
    patches = [sheet[y : y + 64, x : x + 64] for sheet in sheets for y in (0, 64) for x in (0, 64)]
    text(place / "info.txt", [f"{n // 2} 0" for n in range(8)])
    text(place / "m50_100000_100000_0.txt", ["0 0 0 1 0 0 0", "2 1 0 5 2 0 0"])
    same, other = np.array(1), np.array(0)
    pairs = [(patches[0], patches[1], same), (patches[2], patches[5], other)]
    return [
        Case([(patch,) for patch in patches], {"name": "liberty"}),
        Case(pairs, {"name": "liberty", "train": False}, {"mean": 0.4437, "std": 0.2019}),
    ]


@fake("PCAM", needs="h5py")
def pcam(root):
    import h5py

    cases = []
    (root / "pcam").mkdir()
    for part, split in (("train", "train"), ("test", "test"), ("valid", "val")):
        images = generator(part).integers(0, 256, (3, 96, 96, 3)).astype(np.uint8)
        labels = np.array([1, 0, 1], np.uint8).reshape(3, 1, 1, 1)
        for which, values in (("x", images), ("y", labels)):
            name = f"camelyonpatch_level_2_split_{part}_{which}.h5"
            with h5py.File(root / "pcam" / name, "w") as file:
                file[which] = values
        cases.append(Case(list(zip(images, [1, 0, 1], strict=True)), {"split": split}))
    return cases


def _fer_rows(name, count):
    values = generator(name).integers(0, 256, (count, 48, 48)).astype(np.uint8)
    labels = generator(name + "y").integers(0, 7, count).tolist()
    return values, labels, [" ".join(map(str, v.reshape(-1))) for v in values]


@fake("FER2013")
def fer2013(root):
    place = root / "fer2013"
    values, labels, written = _fer_rows("train", 3)
    text(
        place / "train.csv",
        ["emotion,pixels", *(f"{y},{p}" for y, p in zip(labels, written, strict=True))],
    )
    tested, _, unlabeled = _fer_rows("test", 2)
    text(place / "test.csv", ["pixels", *unlabeled])
    return [
        Case(list(zip(values, labels, strict=True))),
        Case([(image, None) for image in tested], {"split": "test"}),
    ]


@fake("FER2013, icml_face_data.csv")
def fer2013_icml(root):
    values, labels, written = _fer_rows("icml", 4)
    usages = ["Training", "PublicTest", "PrivateTest", "Training"]
    text(
        root / "fer2013" / "icml_face_data.csv",
        ["emotion, Usage, pixels"]
        + [f"{y},{u},{p}" for y, u, p in zip(labels, usages, written, strict=True)],
    )
    items = list(zip(values, labels, strict=True))
    return [Case([items[0], items[3]]), Case(items[1:3], {"split": "test"})]


@fake("LSUN", needs="lmdb")
def lsun(root):
    import io

    import lmdb

    items = []
    names = ["bedroom_train", "tower_val"]
    for kind, name in enumerate(names):
        with lmdb.open(str(root / f"{name}_lmdb")) as env, env.begin(write=True) as transaction:
            for number in range(2):
                buffer = io.BytesIO()
                values = generator(f"{name}{number}").integers(0, 256, (5, 7, 3)).astype(np.uint8)
                Image.fromarray(values).save(buffer, "PNG")
                transaction.put(f"{number}".encode(), buffer.getvalue())
                items.append((values, kind))
    return [Case(items, {"classes": names})]
