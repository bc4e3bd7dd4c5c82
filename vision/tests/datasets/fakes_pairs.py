"""Fakes of data sets of optical flow and of stereo pairs."""

from __future__ import annotations

import numpy as np
from faking import Case, as_json, fake, flo, generator, pfm, picture, png16, text
from PIL import Image


def floats(name, channels):
    """Random numbers of a flow or disparity: (channels, 5, 7) float32."""
    return generator(name).normal(0, 9, (channels, 5, 7)).astype(np.float32)


def integers(path, mode_bits=16):
    """Write a grey PNG file of 16 bits; gives its numbers."""
    path.parent.mkdir(parents=True, exist_ok=True)
    values = generator(path.name).integers(1, 2**mode_bits, (5, 7)).astype(np.uint16)
    Image.fromarray(values).save(path)
    return values


@fake("Sintel")
def sintel(root):
    place = root / "Sintel"
    frames = {
        (part, stage): [
            picture(place / part / stage / "alley_1" / f"frame_{n:04d}.png") for n in (1, 2, 3)
        ]
        for part in ("training", "test")
        for stage in ("clean", "final")
    }
    flows = [floats(f"sintel{n}", 2) for n in range(2)]
    for n, values in enumerate(flows, 1):
        flo(place / "training" / "flow" / "alley_1" / f"frame_{n:04d}.flo", values)

    def items(part, stage, known):
        images = frames[part, stage]
        return [(images[n], images[n + 1], known[n]) for n in range(2)]

    both = items("training", "clean", flows) + items("training", "final", flows)
    return [
        Case(items("training", "clean", flows)),
        Case(both, {"pass_name": "both"}),
        Case(items("test", "final", [None, None]), {"split": "test", "pass_name": "final"}),
    ]


def _flow_png(path):
    """Write a flow in KITTI's format; gives it and where it is known."""
    values = generator(path.name).integers(0, 2**16, (5, 7, 3)).astype(np.uint16)
    values[..., 2] = generator(path.name + "known").integers(0, 2, (5, 7))
    png16(path, values)
    flow = (values[..., :2].transpose(2, 0, 1).astype(np.float32) - 2**15) / 64
    return flow, values[..., 2] != 0


@fake("KittiFlow")
def kitti_flow(root):
    cases = []
    for split in ("train", "test"):
        place, items = root / "KittiFlow" / f"{split}ing", []
        for n in range(2):
            pair = [picture(place / "image_2" / f"{n:06d}_{end}.png") for end in (10, 11)]
            known = (
                _flow_png(place / "flow_occ" / f"{n:06d}_10.png")
                if split == "train"
                else (None, None)
            )
            items.append((*pair, *known))
        cases.append(Case(items, {"split": split}))
    return cases


@fake("FlyingChairs")
def flying_chairs(root):
    place, items = root / "FlyingChairs", []
    for n in range(1, 4):
        pair = [picture(place / "data" / f"{n:05d}_img{k}.ppm") for k in (1, 2)]
        values = floats(f"chairs{n}", 2)
        flo(place / "data" / f"{n:05d}_flow.flo", values)
        items.append((*pair, values))
    text(place / "FlyingChairs_train_val.txt", ["1", "2", "1"])
    return [Case([items[0], items[2]]), Case(items[1:2], {"split": "val"})]


@fake("FlyingThings3D")
def flying_things(root):
    place = root / "FlyingThings3D"
    frames, flows = {}, {}
    for side in ("left", "right"):
        for stage in ("clean", "final"):
            folder = place / f"frames_{stage}pass" / "TRAIN" / "A" / "0000" / side
            frames[stage, side] = [picture(folder / f"{n:04d}.png") for n in (6, 7, 8)]
        for way, letter in (("into_future", "IntoFuture"), ("into_past", "IntoPast")):
            folder = place / "optical_flow" / "TRAIN" / "A" / "0000" / way / side
            flows[way, side] = [floats(f"{way}{side}{n}", 3) for n in range(3)]
            for n, values in enumerate(flows[way, side], 6):
                pfm(folder / f"OpticalFlow{letter}_{n:04d}_{side[0].upper()}.pfm", values)

    def items(stage, side):
        images = frames[stage, side]
        there = [(images[n], images[n + 1], flows["into_future", side][n][:2]) for n in range(2)]
        back = [(images[n + 1], images[n], flows["into_past", side][n + 1][:2]) for n in range(2)]
        return there + back

    order = [(stage, side) for stage in ("clean", "final") for side in ("left", "right")]
    every = [item for stage, side in order for item in items(stage, side)]
    return [
        Case(items("clean", "left")),
        Case(items("final", "right"), {"pass_name": "final", "camera": "right"}),
        Case(every, {"pass_name": "both", "camera": "both"}),
    ]


@fake("HD1K")
def hd1k(root):
    place, train = root / "hd1k", []
    for sequence in (0, 3):
        start = f"{sequence:06d}"
        images = [
            picture(place / "hd1k_input" / "image_2" / f"{start}_{n:04d}.png") for n in range(3)
        ]
        flows = [
            _flow_png(place / "hd1k_flow_gt" / "flow_occ" / f"{start}_{n:04d}.png")
            for n in range(3)
        ]
        train += [(images[n], images[n + 1], *flows[n]) for n in range(2)]
    folder = place / "hd1k_challenge" / "image_2"
    pair = [picture(folder / f"000000_00{end}.png") for end in (10, 11)]
    return [Case(train), Case([(*pair, None, None)], {"split": "test"})]


def _views(place, left, right, **options):
    return picture(place / left, **options), picture(place / right, **options)


@fake("CarlaStereo")
def carla(root):
    items = []
    for scene in ("scene1", "scene2"):
        place = root / "carla-highres" / "trainingF" / scene
        views = _views(place, "im0.png", "im1.png")
        values = floats(scene, 1)
        pfm(place / "disp0GT.pfm", values)
        pfm(place / "disp1GT.pfm", -values)
        items.append((*views, np.abs(values)))
    return [Case(items)]


def _kitti(folder, left, right, disparities, ends):
    def make(root):
        cases = []
        for split in ("train", "test"):
            place, items = root / folder / f"{split}ing", []
            for n in range(2):
                name = f"{n:06d}_10.png"
                views = picture(place / left / name), picture(place / right / name)
                values = None
                if split == "train":
                    found = [integers(place / f"{disparities}{end}" / name) for end in ends]
                    values = found[0][None] / 256.0
                items.append((*views, values, None))
            cases.append(Case(items, {"split": split}))
        return cases

    return make


fake("Kitti2012Stereo")(_kitti("Kitti2012", "colored_0", "colored_1", "disp_noc", [""]))
fake("Kitti2015Stereo")(_kitti("Kitti2015", "image_2", "image_3", "disp_occ_", ["0", "1"]))


@fake("Middlebury2014Stereo")
def middlebury(root):
    place, found = root / "Middlebury2014", {}
    for split, scene in (("train", "Adirondack"), ("additional", "Backpack"), ("test", "Plants")):
        for kind in ("",) if split == "test" else ("-perfect", "-imperfect"):
            folder = place / split / f"{scene}{kind}"
            views = _views(folder, "im0.png", "im1.png")
            values = floats(f"{scene}{kind}", 1)
            values[0, 0, :3] = np.inf
            if split != "test":
                pfm(folder / "disp0.pfm", values)
                pfm(folder / "disp1.pfm", values)
            known = np.where(np.isinf(values), 0, np.abs(values))
            truth = (None, None) if split == "test" else (known, known[0] > 0)
            found[split, kind] = [(*views, *truth)]
    return [
        Case(found["train", "-perfect"]),
        Case(
            found["additional", "-perfect"] + found["additional", "-imperfect"],
            {"split": "additional", "calibration": "both"},
        ),
        Case(found["test", ""], {"split": "test", "calibration": None}),
    ]


@fake("CREStereo")
def cre_stereo(root):
    items = []
    for kind in ("shapenet", "reflective", "tree", "hole"):
        place = root / "CREStereo" / kind
        views = _views(place, "a_left.jpg", "a_right.jpg")
        left, _ = (integers(place / f"a_{side}.disp.png") for side in ("left", "right"))
        items.append((*views, left.astype(np.float32)[None] / 32, None))
    return [Case(items)]


@fake("FallingThingsStereo")
def falling_things(root):
    found = {}
    for part, folder in (("single", "002_can/kitchen_0"), ("mixed", "kitchen_1")):
        place = root / "FallingThings" / part / folder
        views = _views(place, "000000.left.jpg", "000000.right.jpg")
        left, _ = (integers(place / f"000000.{side}.depth.png") for side in ("left", "right"))
        settings = {"camera_settings": [{"intrinsic_settings": {"fx": 768.5}}]}
        as_json(place / "_camera_settings.json", settings)
        values = (6 * 768.5 * 100 / left.astype(np.float32))[None]
        found[part] = [(*views, values)]
    return [
        Case(found["single"]),
        Case(found["mixed"], {"variant": "mixed"}),
        Case(found["single"] + found["mixed"], {"variant": "both"}),
    ]


@fake("SceneFlowStereo")
def scene_flow(root):
    cases = []
    for variant, folder in (
        ("FlyingThings3D", "TRAIN/A/0000"),
        ("Monkaa", "eating_x2"),
        ("Driving", "15mm_focallength/scene_backwards/fast"),
    ):
        place = root / "SceneFlow" / variant
        found = {}
        values = floats(variant, 1)
        for side in ("left", "right"):
            pfm(
                place / "disparity" / folder / side / "0001.pfm",
                values if side == "left" else -values,
            )
        for stage in ("clean", "final"):
            views = [
                picture(place / f"frames_{stage}pass" / folder / side / "0001.png")
                for side in ("left", "right")
            ]
            found[stage] = [(*views, np.abs(values))]
        cases.append(Case(found["clean"], {"variant": variant}))
        both = found["clean"] + found["final"]
        cases.append(Case(both, {"variant": variant, "pass_name": "both"}))
    return cases


@fake("SintelStereo")
def sintel_stereo(root):
    place, found = root / "Sintel" / "training", {}
    name = "alley_1/frame_0001.png"
    colours = picture(place / "disparities" / name).astype(np.float32)
    red, green, blue = colours.transpose(2, 0, 1)
    values = (red * 4 + green / 64 + blue / 16384)[None]
    known = np.ones((5, 7), bool)
    for folder in ("occlusions", "outofframe"):
        mask = generator(folder).choice([0, 255], (5, 7)).astype(np.uint8)
        (place / folder / "alley_1").mkdir(parents=True)
        Image.fromarray(mask).save(place / folder / name)
        known &= mask == 0
    for stage in ("final", "clean"):
        views = [picture(place / f"{stage}_{side}" / name) for side in ("left", "right")]
        found[stage] = [(*views, values, known)]
    return [Case(found["final"]), Case(found["final"] + found["clean"], {"pass_name": "both"})]


@fake("InStereo2k")
def in_stereo(root):
    cases = []
    for split in ("train", "test"):
        place = root / "InStereo2k" / split / "000038"
        views = _views(place, "left.png", "right.png")
        left, _ = (integers(place / f"{side}_disp.png") for side in ("left", "right"))
        cases.append(Case([(*views, left.astype(np.float32)[None] / 1024)], {"split": split}))
    return cases


@fake("ETH3DStereo")
def eth3d(root):
    cases = []
    for split, part in (("train", "two_view_training"), ("test", "two_view_test")):
        place = root / "ETH3D" / part / "delivery_area_1l"
        views = _views(place, "im0.png", "im1.png", mode="L", as_mode="RGB")
        truth = (None, None)
        if split == "train":
            folder = root / "ETH3D" / "two_view_training_gt" / "delivery_area_1l"
            values = floats("eth", 1)
            pfm(folder / "disp0GT.pfm", values)
            mask = generator("ethmask").choice([0, 255], (5, 7)).astype(np.uint8)
            Image.fromarray(mask).save(folder / "mask0nocc.png")
            truth = np.abs(values), mask != 0
        cases.append(Case([(*views, *truth)], {"split": split}))
    return cases
