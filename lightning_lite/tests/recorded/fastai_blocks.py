"""Pictures, classes and splits that `test_data_block.py` compares with fastai's.

`python fastai_blocks.py` runs them with fastai and writes `fastai_blocks.json`.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from PIL import Image

LABELS = ["dog", "cat", "ant", "cat"]
TAGS = [["b", "a"], [], ["c"], ["a", "c"]]
STATS = [0.5, 0.4, 0.3], [0.2, 0.25, 0.3]


def draw(folder):
    """Twelve little pictures of three classes, in folders for training and validation."""
    files = []
    for number in range(12):
        values = bytes((number * 40 + place * 7) % 251 for place in range(12 * 9 * 3))
        part, label = ("valid" if number % 4 == 3 else "train"), LABELS[number % 3]
        file = folder / part / label / f"{label}_{number}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.frombytes("RGB", (12, 9), values).save(file)
        files.append(file)
    return files


def resized(of, file):
    """Bytes of a picture in other sizes."""
    ways = [("crop", "zeros"), ("squish", "zeros"), ("pad", "zeros"), ("pad", "border"),
            ("pad", "reflection")]  # fmt: skip
    made = {}
    for method, mode in ways:
        for size in (6, (8, 5), (14, 20)):
            for kind in (of.PILImage, of.PILMask):
                change = of.Resize(size, method=method, pad_mode=mode)
                found = call(of, change, kind.create(file), kind)
                made[f"{method} {mode} {size} {kind.__name__}"] = list(found.tobytes())
    return made


def call(of, change, image, kind):
    """A transform of validation, by either library."""
    if hasattr(of, "Pipeline"):
        return change(image, split_idx=1)
    return change((image,), ("mask" if kind is of.PILMask else "image",), 1)[0]


def batches(of, folder):
    """Batches and classes of a folder of pictures."""
    # Both leave incomplete batches of training out.
    dls = of.ImageDataLoaders.from_folder(
        folder, bs=3, item_tfms=of.Resize(4), batch_tfms=of.Normalize.from_stats(*STATS)
    )
    x, y = next(iter(dls.valid))
    order = y.argsort()  # fastai takes files as the system lists them
    x, y = x[order], y[order]
    flat = [round(value, 5) for value in x.reshape(-1).tolist()]
    lengths = [len(dls.train), len(dls.valid), len(dls.train_ds), len(dls.valid_ds)]
    return {"x": flat, "y": y.tolist(), "vocab": list(dls.vocab), "lengths": lengths}


def classes(of):
    """Targets by block."""
    made = {}
    blocks = {
        "category": (of.CategoryBlock, LABELS),
        "category, vocab": (of.CategoryBlock(vocab=["dog", "cat", "ant"]), LABELS),
        "category, spare": (of.CategoryBlock(vocab=["d", "c"], add_na=True), ["c", "d", "x"]),
        "category, as given": (of.CategoryBlock(vocab=["d", "c"], sort=False), ["c", "d"]),
        "several, vocab": (of.MultiCategoryBlock(vocab=["b", "c", "a"]), TAGS[::-1]),
        "several": (of.MultiCategoryBlock, TAGS),
        "encoded": (of.MultiCategoryBlock(encoded=True, vocab=["p", "q"]), [[1, 0], [1, 1]]),
        "number": (of.RegressionBlock, [1.5, 2, 3.0]),
        "numbers": (of.RegressionBlock, [[1.5, 2.0], [3.0, 4.0]]),
    }
    for name, (block, values) in blocks.items():
        splitter = of.IndexSplitter([0])
        whole = of.DataBlock(
            (of.TransformBlock, block),
            splitter=splitter,
            get_y=lambda item, values=values: values[item],
        )
        if not name.endswith(("category", "several")):
            made[name] = row(whole.datasets(range(len(values))).train[0][1])
            continue
        whole.splitter = of.IndexSplitter([len(values) - 1])
        found = whole.datasets(range(len(values)))
        made[name] = [row(found.train[n][1]) for n in range(len(values) - 1)], list(found.vocab)
    return made


def read(values, position):
    """The value of an item that is its position."""
    return values[position]


def row(target):
    """A target as plain numbers."""
    return target.tolist()


def main():
    """Record fastai's answers."""
    import fastai.vision.all as of

    with tempfile.TemporaryDirectory() as name:
        files = draw(Path(name))
        found = {"resized": resized(of, files[0]), "batches": batches(of, Path(name))}
    found["classes"] = classes(of)
    Path(__file__).with_suffix(".json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
