"""`from_folder`: layouts are recognised, items are right, and what is wrong is named."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path

import layouts
import numpy as np
import pytest

import rushlight as rl
from rushlight_vision import tv_tensors
from rushlight_vision.datasets import ImageFolder, from_folder
from rushlight_vision.datasets.layouts.yolo import names_of_yaml
from rushlight_vision.transforms import v2

DETECTION = {"COCO": layouts.coco, "PASCAL VOC": layouts.voc, "YOLO": layouts.yolo}


@pytest.mark.parametrize("name", DETECTION)
def test_detection(name, tmp_path):
    DETECTION[name](tmp_path)
    data = from_folder(tmp_path)
    assert (data.task, data.layout, data.problems) == ("detection", name, [])
    assert data.classes == ["__background__", *layouts.NAMES]
    assert data.splits == {"train": 2, "val": 1} and data.counts == {"cat": 1, "dog": 2}
    for number, sample in enumerate(data.samples):
        split, things = layouts.THINGS[sample.image.stem]
        image, target = data[number]
        assert sample.split == split and target["image_id"] == number
        assert isinstance(image, tv_tensors.Image) and image.shape == (3, 40, 60)
        assert isinstance(target["boxes"], tv_tensors.BoundingBoxes)
        assert target["boxes"].canvas_size == (40, 60) and target["boxes"].shape == (len(things), 4)
        assert target["labels"].tolist() == [label for label, _ in things]
        expected = rl.tensor([box for _, box in things], dtype=rl.float32).reshape(-1, 4)
        assert rl.allclose(target["boxes"].as_subclass(rl.Tensor), expected, atol=1e-3)
        assert ("masks" in target) == (name == "COCO")
        assert name != "COCO" or target["masks"].shape == (len(things), 40, 60)
        if name == "COCO" and things:
            (x0, y0, x1, y1) = things[0][1]
            assert int(target["masks"][0].sum()) == (x1 - x0) * (y1 - y0)
    assert len(data.only("val")) == 1 and "split val: 1" in data.report
    with pytest.raises(ValueError, match=r"split 'test'; .*\['train', 'val'\]"):
        data.only("test")


def test_transforms_and_models(tmp_path):
    from rushlight_vision.models import zoo

    layouts.coco(tmp_path)
    change = v2.Compose([v2.RandomHorizontalFlip(p=1.0), v2.ToDtype(rl.float32, scale=True)])
    data = from_folder(tmp_path, transforms=change)
    image, target = data[0]
    plain = data.with_transforms(None)[0]
    assert rl.allclose(target["boxes"][:, 0] + plain[1]["boxes"][:, 2], rl.full((2,), 60.0))
    losses = zoo.shapes_detector(num_classes=3)([image], [target])
    assert all(bool(loss.isfinite()) for loss in losses.values())
    assert len(pickle.loads(pickle.dumps(data.only("train")))) == 2


def test_classification(tmp_path):
    layouts.classification(tmp_path / "split")
    layouts.classification(tmp_path / "flat", splits=False)
    data, flat = from_folder(tmp_path / "split"), from_folder(tmp_path / "flat")
    assert data.splits == {"train": 3, "val": 3} and flat.splits == {}
    assert data.counts == {"cat": 2, "dog": 4} and data.classes == flat.classes == layouts.NAMES
    plain = ImageFolder(tmp_path / "flat")
    for number in range(len(plain)):
        (image, label), (found, same) = plain[number], flat[number]
        assert label == same and np.array_equal(np.array(image), found.permute(1, 2, 0).numpy())
    assert flat.report.splitlines()[1:] == ["  class cat: 1", "  class dog: 2", "  problems: 0"]


def test_segmentation(tmp_path):
    layouts.masks(tmp_path / "many")
    layouts.masks(tmp_path / "two", (0, 255))
    many, two = from_folder(tmp_path / "many"), from_folder(tmp_path / "two")
    assert many.task == "segmentation" and many.classes == ["0", "1", "2"]
    assert isinstance(many[0][1], tv_tensors.Mask) and many[0][1].shape == (40, 60)
    assert many[0][1].unique().tolist() == [0, 1, 2, 255] and "ignore_index=255" in many.report
    assert two.classes == ["0", "1"] and two[0][1].unique().tolist() == [0, 1]
    (tmp_path / "many" / "classes.txt").write_text("sky\ngrass\ntree\n")
    assert from_folder(tmp_path / "many").classes == ["sky", "grass", "tree"]


def spoil_coco(change):
    def make(root):
        layouts.coco(root)
        layouts.write_coco(root / "annotations" / "instances_train2017.json", ["a", "b"], change)

    return make


def at(path, value):
    """Set an entry of COCO's annotations."""

    def change(content):
        kind, place, key = path
        content[kind][place][key] = value

    return spoil_coco(change)


def spoil_text(make, file, old, new):
    def made(root):
        make(root)
        path = root / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return made


def after(make, act):
    def made(root):
        make(root)
        act(root)

    return made


A_XML, A_TXT = Path("Annotations/a.xml"), Path("labels/train/a.txt")
WRONG = {
    "coco missing": (
        at(("images", 0, "file_name"), "x.jpg"),
        r"train2017.json: image 0: .*x.jpg is missing",
    ),
    "coco size": (
        at(("images", 0, "width"), 61),
        r"image 0: says 61 x 40 pixels, .*a.jpg has 60 x 40",
    ),
    "coco degenerate": (
        at(("annotations", 1, "bbox"), [3, 4, 0, 5]),
        r"annotation 1: degenerate box",
    ),
    "coco outside": (
        at(("annotations", 1, "bbox"), [3, 4, 90, 5]),
        r"annotation 1: box .* reaches out",
    ),
    "coco NaN": (
        at(("annotations", 1, "bbox"), [float("nan"), 4, 9, 5]),
        r"annotation 1: degenerate",
    ),
    "coco bbox": (at(("annotations", 1, "bbox"), [3, 4]), r'annotation 1: "bbox" is \[3, 4\]'),
    "coco class": (at(("annotations", 1, "category_id"), 7), r"annotation 1: category 7 is not"),
    "coco JSON": (
        spoil_text(layouts.coco, Path("annotations/instances_train2017.json"), "{", ""),
        r"train2017.json: no JSON: ",
    ),
    "coco lists": (spoil_coco(lambda c: c.update(images={})), r"no lists \['images'\]"),
    "voc missing": (
        after(layouts.voc, lambda r: (r / "JPEGImages/a.jpg").unlink()),
        r"a.xml: filename: .*is missing",
    ),
    "voc size": (
        spoil_text(layouts.voc, A_XML, "<width>60", "<width>61"),
        r"a.xml: size: says 61 x 40",
    ),
    "voc degenerate": (
        spoil_text(layouts.voc, A_XML, "<xmin>6<", "<xmin>30<"),
        r"a.xml: object 0: degenerate",
    ),
    "voc box": (
        spoil_text(layouts.voc, A_XML, "<xmin>6</xmin>", ""),
        r'object 0: "bndbox" lacks one of',
    ),
    "voc name": (spoil_text(layouts.voc, A_XML, "<name>cat</name>", ""), r"object 0: has no name"),
    "voc XML": (spoil_text(layouts.voc, A_XML, "</annotation>", ""), r"a.xml: no XML"),
    "yolo missing": (
        after(layouts.yolo, lambda r: (r / "images/train/a.jpg").unlink()),
        r"a.txt: there is no picture",
    ),
    "yolo words": (
        spoil_text(layouts.yolo, A_TXT, "0.3", "zero"),
        r"a.txt: line 1: expected numbers",
    ),
    "yolo class": (
        spoil_text(layouts.yolo, A_TXT, "0 0.3", "5 0.3"),
        r"line 1: class 5; there are 2",
    ),
    "yolo count": (
        spoil_text(layouts.yolo, A_TXT, "0 0.3", "0 1 0.3"),
        r"line 1: 6 values; expected",
    ),
    "masks missing": (
        after(layouts.masks, lambda r: (r / "train/masks/a.png").unlink()),
        r"images/a.jpg: there is no mask",
    ),
    "masks size": (
        after(layouts.masks, lambda r: layouts.save(r / "train/images/a.jpg", size=(9, 9))),
        r"masks/a.png: has 60 x 40 pixels, .* 9 x 9",
    ),
    "masks color": (
        after(layouts.masks, lambda r: layouts.save(r / "train/masks/a.png")),
        r"a.png: a mask of mode RGB",
    ),
    "class empty": (
        after(layouts.classification, lambda r: (r / "train/cat/0.png").unlink()),
        r"train/cat: no picture of this class",
    ),
    "no image": (
        after(layouts.classification, lambda r: (r / "train/cat/0.png").write_bytes(b"x")),
        r"cat/0.png: no image that Pillow can read \(1 bytes\)",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_or_skipped(name, tmp_path):
    make, message = WRONG[name]
    make(tmp_path)
    with pytest.raises(ValueError, match=message):
        from_folder(tmp_path)
    data = from_folder(tmp_path, on_error="skip")
    assert len(data) > 0
    assert any(re.search(message, str(each)) for each in data.problems)
    assert f"problems: {len(data.problems)}" in data.report and str(data.problems[0]) in data.report
    for number in range(len(data)):
        data[number]


def test_cut_pictures_are_found_when_decoded(tmp_path):
    layouts.classification(tmp_path)
    path = tmp_path / "train" / "dog" / "1.png"
    path.write_bytes(path.read_bytes()[:-300])
    data = from_folder(tmp_path)
    with pytest.raises(ValueError, match=r"dog/1.png is a damaged image"):
        [data[number] for number in range(len(data))]
    with pytest.raises(ValueError, match=r"dog/1.png: damaged image"):
        from_folder(tmp_path, decode=True)
    assert len(from_folder(tmp_path, on_error="skip", decode=True)) == len(data) - 1


def test_crowds_and_ambiguous_folders(tmp_path):
    at(("annotations", 0, "iscrowd"), 1)(tmp_path)
    layouts.save(tmp_path / "images" / "a.png")
    layouts.save(tmp_path / "masks" / "a.png")
    data = from_folder(tmp_path)
    assert data.counts == {"cat": 0, "dog": 2}
    assert data.notes[0] == "1 crowds are left out" and "task='segmentation'" in data.notes[1]


def test_files_of_cocos_format_that_disagree(tmp_path):
    layouts.coco(tmp_path)

    def other_name(content):
        content["categories"][1]["name"] = "wolf"

    layouts.write_coco(tmp_path / "annotations" / "instances_val2017.json", ["c"], other_name)
    with pytest.raises(ValueError, match="category 20: is 'wolf' here and 'dog' in inst"):
        from_folder(tmp_path)

    def twice(content):
        content["annotations"].append(dict(content["annotations"][0], image_id=9))
        content["annotations"].append(dict(content["annotations"][0], id=8, image_id=9))

    layouts.write_coco(tmp_path / "annotations" / "instances_val2017.json", ["c"], twice)
    data = from_folder(tmp_path, on_error="skip")
    assert [(each.record, each.what) for each in data.problems] == [
        ("annotations[1]", "id 0 occurs twice"),
        ("annotation 8", "is of image 9, which is missing"),
    ]


def test_refusals(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        from_folder(tmp_path / "x")
    with pytest.raises(ValueError, match=r"no known layout in .*; expected one of"):
        from_folder(tmp_path)
    layouts.classification(tmp_path)
    with pytest.raises(ValueError, match="no known layout for detection"):
        from_folder(tmp_path, "detection")
    with pytest.raises(ValueError, match="task 'x'; expected None or one of"):
        from_folder(tmp_path, "x")
    with pytest.raises(ValueError, match="on_error 'x'; expected"):
        from_folder(tmp_path, on_error="x")
    for path in tmp_path.rglob("*.png"):
        path.write_bytes(b"")
    with pytest.raises(ValueError, match="has no sample that is right\n.*no image"):
        from_folder(tmp_path, on_error="skip")


@pytest.mark.parametrize(
    "text",
    [
        "names: [cat, 'big dog']  # two\n",
        "nc: 2\nnames:\n  0: cat\n  1: big dog  # large\n",
        "names:\n- cat\n- 'big dog'\nnc: 2\n",
        'names: {0: cat, 1: "big dog"}\n',
    ],
)
def test_names_of_yaml(text):
    assert names_of_yaml(text) == ["cat", "big dog"] and names_of_yaml("nc: 2\n") == []


def test_json_that_is_not_cocos_is_let_be(tmp_path):
    layouts.classification(tmp_path)
    (tmp_path / "facts.json").write_text(json.dumps({"images": []}))
    (tmp_path / "broken.json").write_text("{")
    assert from_folder(tmp_path).task == "classification"
