"""Fakes of data sets whose targets are more than a label: boxes, masks, sentences, pairs."""

from __future__ import annotations

import numpy as np
from faking import Case, as_json, fake, generator, mat, picture, text

ATTRIBUTES = [f"Attribute_{number}" for number in range(40)]


@fake("CelebA")
def celeba(root):
    place = root / "celeba"
    names = [f"{n:06d}.jpg" for n in range(1, 7)]
    images = [picture(place / "img_align_celeba" / name) for name in names]
    parts = [0, 1, 2, 0, 2, 1]
    random = generator("celeba")
    values = {
        "attr": random.choice([-1, 1], (6, 40)),
        "identity": random.integers(1, 9, (6, 1)),
        "bbox": random.integers(0, 200, (6, 4)),
        "landmarks": random.integers(0, 200, (6, 10)),
    }
    heads = {
        "attr": ["6", " ".join(ATTRIBUTES)],
        "identity": [],
        "bbox": ["6", "image_id x_1 y_1 width height"],
        "landmarks": ["6", "lefteye_x lefteye_y righteye_x righteye_y nose_x nose_y a b c d"],
    }
    files = {
        "attr": "list_attr_celeba",
        "identity": "identity_CelebA",
        "bbox": "list_bbox_celeba",
        "landmarks": "list_landmarks_align_celeba",
    }
    for kind, rows in values.items():
        lines = [f"{name}  " + "  ".join(map(str, r)) for name, r in zip(names, rows, strict=True)]
        text(place / f"{files[kind]}.txt", [*heads[kind], *lines])
    text(place / "list_eval_partition.txt", [f"{a} {b}" for a, b in zip(names, parts, strict=True)])

    def items(part, kinds):
        wanted = [n for n in range(6) if part is None or parts[n] == part]
        targets = {
            **values,
            "attr": (values["attr"] + 1) // 2,
            "identity": values["identity"][:, 0],
        }
        found = [(images[n], tuple(targets[kind][n] for kind in kinds)) for n in wanted]
        return [(image, t if len(t) > 1 else t[0] if t else None) for image, t in found]

    both = ["bbox", "identity", "landmarks"]
    return [
        Case(items(0, ["attr"]), {}, {"attr_names": ATTRIBUTES}),
        Case(items(1, both), {"split": "valid", "target_type": both}),
        Case(items(None, ["landmarks"]), {"split": "all", "target_type": "landmarks"}),
        Case(items(2, []), {"split": "test", "target_type": []}),
    ]


@fake("Cityscapes")
def cityscapes(root):
    cases = []
    for mode, folder, split in (("fine", "gtFine", "train"), ("coarse", "gtCoarse", "train_extra")):
        found = []
        for city, number in (("aachen", 0), ("bochum", 1), ("bochum", 2)):
            start = f"{city}_{number:06d}_000019"
            images = root / "leftImg8bit" / split / city
            image = picture(images / f"{start}_leftImg8bit.png")
            truth = root / folder / split / city
            polygons = {"imgHeight": 5, "objects": [{"label": "car", "polygon": [[number, 1]]}]}
            as_json(truth / f"{start}_{folder}_polygons.json", polygons)
            kinds = {
                "instance": picture(truth / f"{start}_{folder}_instanceIds.png", mode="I;16"),
                "semantic": picture(truth / f"{start}_{folder}_labelIds.png", mode="L"),
                "color": picture(truth / f"{start}_{folder}_color.png"),
                "polygon": polygons,
            }
            found.append((image, kinds))
        for kinds in (["instance"], ["polygon"], ["semantic", "color", "polygon"]):
            items = [
                (image, tuple(t[k] for k in kinds) if len(kinds) > 1 else t[kinds[0]])
                for image, t in found
            ]
            cases.append(Case(items, {"mode": mode, "split": split, "target_type": kinds}))
    return cases


def coco_file(root):
    """A file of annotations of three photos, and what is in it."""
    images = [{"id": number, "file_name": f"{number:012d}.jpg"} for number in (30, 10, 20)]
    annotations = [
        {
            "id": 5,
            "image_id": 10,
            "category_id": 2,
            "bbox": [1.0, 1, 3, 2],
            "area": 6.0,
            "iscrowd": 0,
        },
        {
            "id": 6,
            "image_id": 30,
            "category_id": 1,
            "bbox": [0, 0.5, 2, 2],
            "area": 4.0,
            "iscrowd": 1,
        },
        {
            "id": 7,
            "image_id": 10,
            "category_id": 1,
            "bbox": [2, 2, 2, 2],
            "area": 4.0,
            "iscrowd": 0,
        },
    ]
    polygon = [[1.0, 0.5, 5.5, 1.0, 4.0, 4.25]]
    for one in annotations:
        one["segmentation"] = (
            polygon if not one["iscrowd"] else {"size": [5, 7], "counts": [9, 20, 6]}
        )
    categories = [{"id": 1, "name": "cat", "supercategory": "animal"}, {"id": 2, "name": "car"}]
    path = root / "instances.json"
    as_json(path, {"images": images, "annotations": annotations, "categories": categories})
    return path, annotations


@fake("CocoDetection")
def coco_detection(root):
    path, annotations = coco_file(root)
    items = [
        (picture(root / f"{n:012d}.jpg"), [one for one in annotations if one["image_id"] == n])
        for n in (10, 20, 30)
    ]
    return [Case(items, {"annFile": str(path)})]


@fake("CocoCaptions")
def coco_captions(root):
    records = [{"id": 9, "file_name": "a.jpg"}, {"id": 4, "file_name": "b.jpg"}]
    sentences = [(9, "A cat."), (4, "A car."), (9, "A grey cat on a chair.")]
    annotations = [
        {"id": n, "image_id": image, "caption": words} for n, (image, words) in enumerate(sentences)
    ]
    as_json(root / "captions.json", {"images": records, "annotations": annotations})
    items = [
        (picture(root / "b.jpg"), ["A car."]),
        (picture(root / "a.jpg"), ["A cat.", "A grey cat on a chair."]),
    ]
    return [Case(items, {"annFile": str(root / "captions.json")})]


@fake("Flickr8k")
def flickr8k(root):
    page, items = ["<table>"], []
    for number in ("1007129816", "1000268201"):
        image = picture(root / f"{number}_e794419615.jpg")
        sentences = [f"Sentence {n} of {number} ." for n in range(2)]
        link = f"http://www.flickr.com/photos/user/{number}/"
        page.append(f'<tr><td><a href="{link}">{link}</a></td><td><ul>')
        page += [f"<li> {sentence} </li>" for sentence in sentences]
        page.append("</ul></td></tr>")
        items.append((image, sentences))
    page.append("<tr><td>Image Not Found</td><td><ul><li>Lost .</li></ul></td></tr></table>")
    text(root / "captions.html", "".join(page))
    return [Case(items[::-1], {"ann_file": str(root / "captions.html")})]


@fake("Flickr30k")
def flickr30k(root):
    names = ["1000092795.jpg", "10002456.jpg"]
    images = [picture(root / name) for name in names]
    lines = [f"{name}#{n}\tSentence {n} of {name}" for n in range(2) for name in names]
    text(root / "captions.token", lines)
    items = [
        (image, [f"Sentence {n} of {name}" for n in range(2)])
        for image, name in zip(images, names, strict=True)
    ]
    return [Case(items, {"ann_file": str(root / "captions.token")})]


@fake("Kitti")
def kitti(root):
    place = root / "Kitti" / "raw"
    items = []
    for number in range(2):
        image = picture(place / "training" / "image_2" / f"{number:06d}.png")
        line = f"Car 0.25 1 -1.57 1.5 2.5 5.0 4.5 1.4 1.6 3.9 {number}.5 1.7 20.0 -1.6"
        text(place / "training" / "label_2" / f"{number:06d}.txt", [line] * (number + 1))
        thing = {
            "type": "Car",
            "truncated": 0.25,
            "occluded": 1,
            "alpha": -1.57,
            "bbox": [1.5, 2.5, 5.0, 4.5],
            "dimensions": [1.4, 1.6, 3.9],
            "location": [number + 0.5, 1.7, 20.0],
            "rotation_y": -1.6,
        }
        items.append((image, [thing] * (number + 1)))
    tested = [(picture(place / "testing" / "image_2" / f"{n:06d}.png"), None) for n in range(2)]
    return [Case(items), Case(tested, {"train": False})]


def _lfw_faces(root, image_set):
    folder = {"original": "lfw", "funneled": "lfw_funneled"}[image_set]
    people = {"Ann_Lee": 3, "Bob_Ray": 2, "Cy_Dee": 1}
    place = root / "lfw-py"
    archive = {"original": "lfw.tgz", "funneled": "lfw-funneled.tgz"}[image_set]
    faces = {
        name: [picture(place / folder / name / f"{name}_{n:04d}.jpg") for n in range(1, count + 1)]
        for name, count in people.items()
    }
    (place / archive).write_bytes(b"")
    return place, people, faces


@fake("LFWPeople")
def lfw_people(root):
    place, people, faces = _lfw_faces(root, "funneled")
    text(place / "lfw-names.txt", [f"{name}\t{count}" for name, count in people.items()])
    text(place / "people.txt", ["2", "1", "Bob_Ray\t2", "2", "Ann_Lee\t3", "Cy_Dee\t1"])
    text(place / "peopleDevTest.txt", ["1", "Cy_Dee\t1"])
    numbers = {name: n for n, name in enumerate(people)}
    whole = [(face, numbers[n]) for n in ("Bob_Ray", "Ann_Lee", "Cy_Dee") for face in faces[n]]
    return [
        Case(whole, {}, {"class_to_idx": numbers}),
        Case([(faces["Cy_Dee"][0], 2)], {"split": "test"}),
    ]


@fake("LFWPairs")
def lfw_pairs(root):
    place, _, faces = _lfw_faces(root, "original")
    same, other = "Ann_Lee\t1\t3", "Bob_Ray\t2\tCy_Dee\t1"
    text(place / "pairs.txt", ["2\t1", same, other, "Bob_Ray\t1\t2", "Ann_Lee\t2\tCy_Dee\t1"])
    text(place / "pairsDevTrain.txt", ["1", same, other])
    ann, bob, cy = faces.values()
    first = [(ann[0], ann[2], 1), (bob[1], cy[0], 0)]
    whole = [*first, (bob[0], bob[1], 1), (ann[1], cy[0], 0)]
    arguments = {"image_set": "original"}
    return [Case(whole, arguments), Case(first, {**arguments, "split": "train"})]


@fake("OxfordIIITPet")
def oxford_iiit_pet(root):
    place, cases = root / "oxford-iiit-pet", []
    rows = [("Abyssinian_100", 1, 1, 1), ("american_bulldog_7", 2, 2, 1), ("Abyssinian_2", 1, 1, 1)]
    images = [picture(place / "images" / f"{row[0]}.jpg") for row in rows]
    masks = [picture(place / "annotations" / "trimaps" / f"{r[0]}.png", mode="L") for r in rows]
    for split in ("trainval", "test"):
        text(place / "annotations" / f"{split}.txt", [" ".join(map(str, row)) for row in rows])
    kinds = ["binary-category", "segmentation", "category"]
    every = [(i, (r[2] - 1, m, r[1] - 1)) for i, m, r in zip(images, masks, rows, strict=True)]
    cases = [
        Case([(i, t[2]) for i, t in every], {}, {"classes": ["Abyssinian", "American Bulldog"]}),
        Case(every, {"split": "test", "target_types": kinds}),
        Case([(i, None) for i, _ in every], {"target_types": []}),
    ]
    return cases


@fake("SBDataset", needs="scipy")
def sbd(root):
    from scipy.sparse import csc_matrix

    names, found = ["2008_000002", "2008_000003"], []
    for name in names:
        image = picture(root / "img" / f"{name}.jpg")
        classes = generator(name).integers(0, 21, (5, 7)).astype(np.uint8)
        edges = generator(name + "e").integers(0, 2, (20, 5, 7)).astype(np.uint8)
        boundaries = np.empty((20, 1), dtype=object)
        for number in range(20):
            boundaries[number, 0] = csc_matrix(edges[number])
        record = {"Boundaries": boundaries, "Segmentation": classes}
        mat(root / "cls" / f"{name}.mat", GTcls=record)
        found.append((image, classes, edges))
    for split in ("train", "val", "train_noval"):
        text(root / f"{split}.txt", names)
    return [
        Case([(image, edges) for image, _, edges in found]),
        Case([(i, c) for i, c, _ in found], {"mode": "segmentation", "image_set": "train_noval"}),
    ]


@fake("SBU")
def sbu(root):
    place = root / "dataset"
    names = ["a_1.jpg", "b_2.jpg", "c_3.jpg"]
    (root / "SBUCaptionedPhotoDataset.tar.gz").write_bytes(b"")
    start = "SBU_captioned_photo_dataset"
    text(place / f"{start}_urls.txt", [f"http://static.flickr.com/1/{name}" for name in names])
    text(place / f"{start}_captions.txt", [f"The photo {name} ." for name in names])
    items = [(picture(place / name), f"The photo {name} .") for name in (names[0], names[2])]
    return [Case(items, {"download": False}, {"photos": [names[0], names[2]]})]


def _voc(root, folder):
    """Three photos with masks and boxes."""
    place = root / "VOCdevkit" / folder
    found = []
    for number in range(3):
        name = f"2007_{number:06d}"
        image = picture(place / "JPEGImages" / f"{name}.jpg")
        mask = picture(place / "SegmentationClass" / f"{name}.png", mode="L")
        boxes = [{"xmin": str(n), "ymin": "1", "xmax": "5", "ymax": "4"} for n in range(number)]
        objects = "".join(
            "<object><name>cat</name><part><name>head</name></part><part><name>paw</name></part>"
            "<bndbox>" + "".join(f"<{k}>{v}</{k}>" for k, v in box.items()) + "</bndbox></object>"
            for box in boxes
        )
        text(
            place / "Annotations" / f"{name}.xml",
            f"<annotation><filename>{name}.jpg</filename><size><width>7</width></size>{objects}"
            "</annotation>",
        )
        parts = [{"name": "head"}, {"name": "paw"}]
        things = [{"name": "cat", "part": parts, "bndbox": box} for box in boxes]
        target = {"filename": f"{name}.jpg", "size": {"width": "7"}, "object": things}
        found.append((name, image, mask, {"annotation": target}))
    for task in ("Main", "Segmentation"):
        for split, rows in (("train", found[:2]), ("val", found[2:]), ("test", found[1:])):
            text(place / "ImageSets" / task / f"{split}.txt", [row[0] for row in rows])
    return found


@fake("VOCDetection")
def voc_detection(root):
    found = [(image, target) for _, image, _, target in _voc(root, "VOC2012")]
    older = [(image, target) for _, image, _, target in _voc(root, "VOC2007")]
    return [
        Case(found[:2]),
        Case(found[2:], {"image_set": "val"}),
        Case(older[1:], {"year": "2007", "image_set": "test"}),
    ]


@fake("VOCSegmentation")
def voc_segmentation(root):
    found = [(image, mask) for _, image, mask, _ in _voc(root, "VOC2010")]
    return [
        Case(found[:2], {"year": "2010"}),
        Case(found[2:], {"year": "2010", "image_set": "val"}),
    ]


@fake("WIDERFace")
def widerface(root):
    place, cases = root / "widerface", []
    names = ["0--Parade/0_Parade_1.jpg", "1--Handshaking/1_Handshaking_2.jpg"]
    keys = ["blur", "expression", "illumination", "occlusion", "pose", "invalid"]
    for split in ("train", "val", "test"):
        images = [picture(place / f"WIDER_{split}" / "images" / name) for name in names]
        if split == "test":
            text(place / "wider_face_split" / "wider_face_test_filelist.txt", names)
            cases.append(Case([(image, None) for image in images], {"split": split}))
            continue
        rows = [generator(split).integers(0, 99, (2, 10)), np.zeros((1, 10), dtype=np.int64)]
        lines = [names[0], "2", *(" ".join(map(str, r)) + " " for r in rows[0])]
        lines += [names[1], "0", "0 0 0 0 0 0 0 0 0 0 "]
        text(place / "wider_face_split" / f"wider_face_{split}_bbx_gt.txt", lines)
        items = [
            (image, {"bbox": r[:, :4], **{k: r[:, 4 + n] for n, k in enumerate(keys)}})
            for image, r in zip(images, rows, strict=True)
        ]
        cases.append(Case(items, {"split": split}))
    return cases
