"""Fakes of data sets that are pictures with one label each."""

from __future__ import annotations

import numpy as np
from faking import Case, as_json, fake, mat, picture, text


def classes(place, names, count=2, end="png", **options):
    """`count` pictures in each of some folders; the items, numbered by the order of the names."""
    return [
        (picture(place / name / f"{name[:3]}{n}.{end}", **options), number)
        for number, name in enumerate(names)
        for n in range(count)
    ]


@fake("Omniglot")
def omniglot(root):
    cases = []
    for part, background in (("images_background", True), ("images_evaluation", False)):
        place = root / "omniglot-py" / part
        (root / "omniglot-py").mkdir(exist_ok=True)
        (root / "omniglot-py" / f"{part}.zip").write_bytes(b"")
        folders = ["Greek/character01", "Greek/character02", "Latin/character01"]
        items = [
            (picture(place / folder / f"{number:02d}{n:02d}.png", mode="L", as_mode="L"), number)
            for number, folder in enumerate(folders)
            for n in range(2)
        ]
        cases.append(Case(items, {"background": background}))
    return cases


@fake("GTSRB")
def gtsrb(root):
    place = root / "gtsrb" / "GTSRB"
    train = classes(place / "Training", ["00000", "00001"], end="ppm", as_mode="RGB")
    names = ["00000.ppm", "00001.ppm", "00002.ppm"]
    tested = [picture(place / "Final_Test" / "Images" / name, as_mode="RGB") for name in names]
    head = "Filename;Width;Height;Roi.X1;Roi.Y1;Roi.X2;Roi.Y2;ClassId"
    rows = [f"{name};7;5;1;1;6;4;{40 + n}" for n, name in enumerate(names)]
    text(root / "gtsrb" / "GT-final_test.csv", [head, *rows])
    items = [(image, 40 + n) for n, image in enumerate(tested)]
    return [Case(train), Case(items, {"split": "test"})]


@fake("CLEVRClassification")
def clevr(root):
    place, cases = root / "clevr" / "CLEVR_v1.0", []
    for split in ("train", "val", "test"):
        names = [f"CLEVR_{split}_{n:06d}.png" for n in range(3)]
        images = [picture(place / "images" / split / name, as_mode="RGB") for name in names]
        counts = [3, 5, 1] if split != "test" else [None] * 3
        if split != "test":
            scenes = [
                {"image_filename": name, "objects": [{}] * count}
                for name, count in reversed(list(zip(names, counts, strict=True)))
            ]
            as_json(place / "scenes" / f"CLEVR_{split}_scenes.json", {"scenes": scenes})
        cases.append(Case(list(zip(images, counts, strict=True)), {"split": split}))
    return cases


@fake("Country211")
def country211(root):
    return [
        Case(
            classes(root / "country211" / split, ["AD", "AE"], end="jpg"),
            {"split": split},
            {"classes": ["AD", "AE"]},
        )
        for split in ("train", "valid", "test")
    ]


@fake("EuroSAT")
def eurosat(root):
    names = ["AnnualCrop", "Forest", "River"]
    items = classes(root / "eurosat" / "2750", names, end="jpg")
    return [Case(items, attributes={"classes": names})]


@fake("DTD")
def dtd(root):
    place, cases = root / "dtd" / "dtd", []
    kinds = ["banded", "woven"]
    pictures = {
        f"{kind}/{kind}_{n:04d}.jpg": picture(place / "images" / kind / f"{kind}_{n:04d}.jpg")
        for kind in kinds
        for n in range(4)
    }
    for split, partition, order in (("train", 1, [5, 0, 3]), ("val", 1, [4, 1]), ("test", 7, [2])):
        names = [list(pictures)[n] for n in order]
        text(place / "labels" / f"{split}{partition}.txt", names)
        used = sorted({name.partition("/")[0] for name in names})
        items = [(pictures[name], used.index(name.partition("/")[0])) for name in names]
        arguments = {"split": split, "partition": partition}
        cases.append(Case(items, arguments, {"classes": used}))
    return cases


@fake("FGVCAircraft")
def fgvc_aircraft(root):
    data, cases = root / "fgvc-aircraft-2013b" / "data", []
    names = [f"{n:07d}" for n in (34309, 1025, 999)]
    images = [picture(data / "images" / f"{name}.jpg") for name in names]
    levels = {
        "variant": ("variants", ["707-320", "A340-600", "Cessna 172"]),
        "family": ("families", ["A340", "Boeing 707", "Cessna 172"]),
        "manufacturer": ("manufacturers", ["Airbus", "Boeing", "Cessna"]),
    }
    for level, (file, kinds) in levels.items():
        text(data / f"{file}.txt", kinds)
        for split in ("train", "val", "trainval", "test"):
            rows = [f"{name} {kinds[(n + 1) % 3]}" for n, name in enumerate(names)]
            text(data / f"images_{level}_{split}.txt", rows)
            items = [(image, (n + 1) % 3) for n, image in enumerate(images)]
            arguments = {"split": split, "annotation_level": level}
            cases.append(Case(items, arguments, {"classes": kinds}))
    return cases


@fake("Food101")
def food101(root):
    place, cases = root / "food-101", []
    for split in ("train", "test"):
        lists, items = {}, []
        for dish, number in (("waffles", 1), ("apple_pie", 0)):  # in the order of the file
            names = [f"{dish}/{split}{n}" for n in range(2)]
            lists[dish] = names
            items += [(picture(place / "images" / f"{name}.jpg"), number) for name in names]
        as_json(place / "meta" / f"{split}.json", lists)
        cases.append(Case(items, {"split": split}, {"classes": ["apple_pie", "waffles"]}))
    return cases


@fake("RenderedSST2")
def rendered_sst2(root):
    folders = {"train": "train", "val": "valid", "test": "test"}
    return [
        Case(
            classes(root / "rendered-sst2" / folder, ["negative", "positive"], as_mode="RGB"),
            {"split": split},
            {"class_to_idx": {"negative": 0, "positive": 1}},
        )
        for split, folder in folders.items()
    ]


@fake("Flowers102", needs="scipy")
def flowers102(root):
    place = root / "flowers-102"
    labels = [77, 1, 102, 5, 5, 30]
    images = [picture(place / "jpg" / f"image_{n:05d}.jpg") for n in range(1, 7)]
    mat(place / "imagelabels.mat", labels=np.array([labels], np.uint8))
    lists = {"trnid": [6, 1], "valid": [2, 3], "tstid": [5, 4]}
    mat(place / "setid.mat", **{name: np.array([ids]) for name, ids in lists.items()})
    return [
        Case([(images[n - 1], labels[n - 1] - 1) for n in lists[name]], {"split": split})
        for split, name in (("train", "trnid"), ("val", "valid"), ("test", "tstid"))
    ]


@fake("Imagenette")
def imagenette(root):
    cases = []
    for size, folder in (
        ("full", "imagenette2"),
        ("320px", "imagenette2-320"),
        ("160px", "imagenette2-160"),
    ):
        for split in ("train", "val"):
            names = ["n01440764", "n03028079"]
            items = classes(root / folder / split, names, end="jpeg")
            known = {"tench": 0, "Tinca tinca": 0, "church": 1, "church building": 1}
            attributes = {"wnids": names, "class_to_idx": known}
            cases.append(Case(items, {"size": size, "split": split}, attributes))
    return cases


@fake("INaturalist")
def inaturalist(root):
    names = [
        "00000_Animalia_Chordata_Aves_Passeriformes_Corvidae_Corvus_corax",
        "00001_Plantae_Tracheophyta_Liliopsida_Liliales_Liliaceae_Lilium_martagon",
        "00002_Animalia_Chordata_Aves_Anseriformes_Anatidae_Anas_crecca",
    ]
    new = classes(root / "2021_valid", names, count=1, end="jpg")
    orders = [(image, (number, number)) for image, number in new]
    kingdoms = [(image, number % 2) for image, number in new]
    older = [
        (picture(root / "2018" / group / str(number) / f"{number}.jpg"), (super_, number))
        for number, group, super_ in ((0, "Plants", 1), (1, "Birds", 0), (2, "Birds", 0))
    ]
    named = classes(root / "2017", ["Birds/Corvus", "Plants/Lilium"], count=1, end="jpg")
    return [
        Case(new, {"version": "2021_valid"}),
        Case(orders, {"version": "2021_valid", "target_type": ["full", "order"]}),
        Case(kingdoms, {"version": "2021_valid", "target_type": "kingdom"}),
        Case(older, {"version": "2018", "target_type": ["super", "full"]}),
        Case(named, {"version": "2017"}),
    ]


@fake("Caltech101", needs="scipy")
def caltech101(root):
    place = root / "caltech101"
    (place / "101_ObjectCategories" / "BACKGROUND_Google").mkdir(parents=True)
    items, both = [], []
    for number, (name, outlines) in enumerate((("Faces", "Faces_2"), ("accordion", "accordion"))):
        for n in (1, 2):
            path = place / "101_ObjectCategories" / name / f"image_{n:04d}.jpg"
            image = picture(path)
            outline = np.arange(6.0).reshape(2, 3) + 10 * number + n
            file = place / "Annotations" / outlines / f"annotation_{n:04d}.mat"
            mat(file, obj_contour=outline)
            items.append((image, number))
            both.append((image, (number, outline)))
    return [Case(items), Case(both, {"target_type": ["category", "annotation"]})]


@fake("Caltech256")
def caltech256(root):
    place = root / "caltech256" / "256_ObjectCategories"
    items = [
        (picture(place / folder / f"{number + 1:03d}_{n:04d}.jpg"), number)
        for number, folder in enumerate(("001.ak47", "002.american-flag"))
        for n in (1, 2)
    ]
    return [Case(items)]


@fake("SUN397")
def sun397(root):
    place = root / "SUN397"
    names = ["/a/abbey", "/a/apse/indoor", "/z/zoo"]
    text(place / "ClassName.txt", names)
    items = [
        (picture(place / name[1:] / f"sun_{number}{n}.jpg"), number)
        for number, name in enumerate(names)
        for n in range(2)
    ]
    return [Case(items, attributes={"classes": ["abbey", "apse/indoor", "zoo"]})]


@fake("StanfordCars", needs="scipy")
def stanford_cars(root):
    place, cases = root / "stanford_cars", []
    kinds = np.array(["AM General Hummer", "Acura RL"], dtype=object)
    mat(place / "devkit" / "cars_meta.mat", class_names=kinds)
    fields = ["bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2", "class", "fname"]
    for split, file in (
        ("train", place / "devkit" / "cars_train_annos.mat"),
        ("test", place / "cars_test_annos_withlabels.mat"),
    ):
        rows = np.zeros(3, dtype=[(name, object) for name in fields])
        items = []
        for n, row in enumerate(rows):
            name = f"{n + 1:05d}.jpg"
            items.append((picture(place / f"cars_{split}" / name), (n + 1) % 2))
            for column, value in zip(fields, (1, 1, 5, 4, (n + 1) % 2 + 1, name), strict=True):
                row[column] = value
        mat(file, annotations=rows)
        cases.append(Case(items, {"split": split}, {"classes": list(kinds)}))
    return cases


@fake("Places365")
def places365(root):
    kinds = ["/a/airfield", "/b/bakery/shop", "/z/zen_garden"]
    text(root / "categories_places365.txt", [f"{name} {n}" for n, name in enumerate(kinds)])
    cases = []
    for split, file, folder, small in (
        ("train-standard", "places365_train_standard", "data_256_standard", True),
        ("train-challenge", "places365_train_challenge", "data_large_challenge", False),
        ("val", "places365_val", "val_256", True),
        ("test", "places365_test", "test_large", False),
    ):
        names = [f"/a/airfield/{n:08d}.jpg" for n in range(2)]
        if not split.startswith("train"):
            names = [f"Places365_{split}_{n:08d}.jpg" for n in range(2)]
        targets = [None, None] if split == "test" else [n % 3 for n in range(2)]
        lines = [
            name if y is None else f"{name} {y}" for name, y in zip(names, targets, strict=True)
        ]
        text(root / f"{file}.txt", lines)
        images = [picture(root / folder / name.lstrip("/")) for name in names]
        arguments = {"split": split, "small": small}
        items = list(zip(images, targets, strict=True))
        cases.append(Case(items, arguments, {"classes": kinds, "targets": targets}))
    return cases


@fake("ImageNet", needs="scipy")
def imagenet(root):
    """The archives as published, of two classes and a group of them."""
    import io
    import tarfile

    names = ["n01440764", "n01443537"]
    synsets = np.zeros(
        3,
        dtype=[
            (name, object) for name in ("ILSVRC2012_ID", "WNID", "words", "gloss", "num_children")
        ],
    )
    for row, values in zip(
        synsets,
        (
            (1, names[0], "tench, Tinca tinca", "", 0),
            (2, names[1], "goldfish, Carassius auratus", "", 0),
            (1001, "n01428580", "soft-finned fish", "", 2),
        ),
        strict=True,
    ):
        for column, value in zip(synsets.dtype.names, values, strict=True):
            row[column] = value
    scratch = root / "scratch"
    kit = scratch / "ILSVRC2012_devkit_t12"
    mat(kit / "data" / "meta.mat", synsets=synsets)
    text(kit / "data" / "ILSVRC2012_validation_ground_truth.txt", ["2", "1", "2"])
    with tarfile.open(root / "ILSVRC2012_devkit_t12.tar.gz", "w:gz") as archive:
        archive.add(kit, kit.name)
    train = []
    with tarfile.open(root / "ILSVRC2012_img_train.tar", "w") as outer:
        for number, name in enumerate(names):
            for n in range(2):
                train.append((picture(scratch / name / f"{name}_{n}.JPEG"), number))
            buffer = io.BytesIO()
            with tarfile.open(fileobj=buffer, mode="w") as inner:
                for path in sorted((scratch / name).iterdir()):
                    inner.add(path, path.name)
            member = tarfile.TarInfo(f"{name}.tar")
            member.size = len(buffer.getvalue())
            outer.addfile(member, io.BytesIO(buffer.getvalue()))
    images = []
    with tarfile.open(root / "ILSVRC2012_img_val.tar", "w") as archive:
        for n in range(1, 4):
            path = scratch / f"ILSVRC2012_val_{n:08d}.JPEG"
            images.append(picture(path))
            archive.add(path, path.name)
    val = [(images[1], 0), (images[0], 1), (images[2], 1)]
    words = [("tench", "Tinca tinca"), ("goldfish", "Carassius auratus")]
    return [
        Case(train, {"split": "train"}, {"classes": words, "wnids": names}),
        Case(
            val,
            {"split": "val"},
            {"class_to_idx": {w: n for n, ws in enumerate(words) for w in ws}},
        ),
    ]
