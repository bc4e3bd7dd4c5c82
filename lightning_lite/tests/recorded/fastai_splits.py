"""Splits, labels and files that `test_data_functions.py` compares with fastai's.

`python fastai_splits.py` runs them with fastai and writes `fastai_splits.json`.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

PATHS = [
    "a/train/cat/cat_1.png",
    "a/valid/cat/cat_2.png",
    "a/train/dog/big_dog_3.png",
    "a/test/dog/dog_4.png",
    "a/valid/dog/dog_15.png",
]
ROWS = [
    {"name": "one", "tags": "a b", "flag": True, "part": 0},
    {"name": "two", "tags": "", "flag": False, "part": 1},
    {"name": "six", "tags": "b", "flag": True, "part": 2},
]
FILES = ["x/b.PNG", "x/a.jpg", "x/deep/c.txt", "y/d.png", ".hidden/e.png", "f.txt", "y/.g.png"]


def splits(of, folder):
    """Positions by splitter; `of`: what has the splitters."""
    ten = list(range(10))
    (folder / "held.txt").write_text("cat_2.png\ndog_4.png")
    made = {
        "random": of.RandomSplitter(seed=42)(ten),
        "random, a third": of.RandomSplitter(1 / 3, seed=7)(list(range(1000))),
        "subset": of.RandomSubsetSplitter(0.5, 0.2, seed=3)(ten),
        "test": of.TrainTestSplitter(0.3, random_state=1)(ten),
        "test, kept shares": of.TrainTestSplitter(0.4, 1, stratify=[0, 1] * 5)(ten),
        "index": of.IndexSplitter([7, 2])(ten),
        "end": of.EndSplitter(0.3)(ten),
        "beginning": of.EndSplitter(0.3, valid_last=False)(ten),
        "grandparent": of.GrandparentSplitter()([Path(each) for each in PATHS]),
        "grandparents": of.GrandparentSplitter("train", ("valid", "test"))(
            [Path(each) for each in PATHS]
        ),
        "function": of.FuncSplitter(lambda each: each % 3 == 0)(ten),
        "mask": of.MaskSplitter([True, False] * 5)(ten),
        "file": of.FileSplitter(folder / "held.txt")([Path(each) for each in PATHS]),
    }
    return {name: [[int(each) for each in part] for part in both] for name, both in made.items()}


def columns(of, table):
    """Positions by a DataFrame's columns."""
    made = {
        "flag": of.ColSplitter("flag")(table),
        "number of a column": of.ColSplitter(2)(table),
        "value": of.ColSplitter("part", on=2)(table),
        "values": of.ColSplitter("part", on=[1, 2])(table),
    }
    return {name: [[int(each) for each in part] for part in both] for name, both in made.items()}


def labels(of, row):
    """What labellers read of paths, and of a row made of a dictionary by `row`."""
    rows = [row(each) for each in ROWS]
    return {
        "parent": [of.parent_label(each) for each in PATHS],
        "pattern": [of.RegexLabeller(r"([a-z]+)_\d+\.png$")(Path(each)) for each in PATHS],
        "beginning": [of.RegexLabeller(r"^a/([a-z]+)/", match=True)(each) for each in PATHS],
        "column": [of.ColReader("name")(each) for each in rows],
        "around": [of.ColReader("name", pref="p/", suff=".png")(each) for each in rows],
        "folder": [str(of.ColReader("name", pref=Path("p"), suff=".x")(each)) for each in rows],
        "parted": [list(of.ColReader("tags", label_delim=" ")(each)) for each in rows],
        "several": [list(of.ColReader(["name", "tags"])(each)) for each in rows],
        "item": [of.ItemGetter(1)(each) for each in (["a", "b"], ["c", "d"])],
        "attribute": [of.AttrGetter("name", "none")(each) for each in (Path("a/b"), 1)],
    }


def found(of, folder):
    """Files of a folder by each way to ask, in sorted order."""
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    made = {
        "all": of.get_files(folder),
        "ending": of.get_files(folder, [".txt"]),
        "flat": of.get_files(folder, recurse=False),
        "one folder": of.get_files(folder, folders=["x"]),
        "pictures": of.get_image_files(folder),
        "pictures of a folder": of.get_image_files(folder, folders=["y"]),
        "texts": of.get_text_files(folder),
        "getter": of.FileGetter(suf="x", extensions=[".jpg"])(folder),
    }
    return {
        name: sorted(each.relative_to(folder).as_posix() for each in files)
        for name, files in made.items()
    }


def main() -> None:
    import pandas
    from fastai.data import transforms

    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        answers = {
            "splits": splits(transforms, Path(first)),
            "columns": columns(transforms, pandas.DataFrame(ROWS)),
            "labels": labels(transforms, pandas.Series),
            "files": found(transforms, Path(second)),
        }
    target = Path(__file__).with_name("fastai_splits.json")
    target.write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    main()
