"""Fakes of data sets of clips of videos, written by PyAV."""

from __future__ import annotations

import numpy as np
from faking import Case, fake, generator, text


def video(path, count, rate=10, size=(32, 48)):
    """Write random frames without loss; gives what they are after the codec, (T, H, W, 3)."""
    import av

    path.parent.mkdir(parents=True, exist_ok=True)
    blocks = generator(path.name).integers(0, 256, (count, size[0] // 8, size[1] // 8, 3))
    frames = np.kron(blocks, np.ones((1, 8, 8, 1))).astype(np.uint8)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("ffv1", rate=rate)
        stream.height, stream.width = size
        stream.pix_fmt = "bgr0"
        for frame in frames:
            made = av.VideoFrame.from_ndarray(frame, format="rgb24")
            for packet in stream.encode(made):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return frames


def clips(frames, label, length, step, order="THWC"):
    """The items of the clips of one video."""
    axes = (0, 1, 2, 3) if order == "THWC" else (0, 3, 1, 2)
    silence = np.zeros((1, 0), np.float32)
    return [
        (frames[start : start + length].transpose(axes), silence, label)
        for start in range(0, len(frames) - length + 1, step)
    ]


def _videos(root, names, counts):
    return {name: video(root / name, count) for name, count in zip(names, counts, strict=True)}


@fake("HMDB51", needs="av")
def hmdb51(root):
    names = ["brush_hair/a.avi", "brush_hair/b.avi", "wave/c.avi"]
    found = _videos(root / "videos", names, (6, 5, 4))
    lists = root / "lists"
    text(lists / "brush_hair_test_split2.txt", ["a.avi 1", "b.avi 2"])
    text(lists / "wave_test_split2.txt", ["c.avi 1"])
    arguments = {"annotation_path": str(lists), "frames_per_clip": 3, "fold": 2, "num_workers": 0}
    train = clips(found[names[0]], 0, 3, 1) + clips(found[names[2]], 1, 3, 1)
    test = clips(found[names[1]], 0, 3, 2, "TCHW")
    more = {"train": False, "step_between_clips": 2, "output_format": "TCHW"}
    return [Case(train, arguments), Case(test, {**arguments, **more})]


@fake("UCF101", needs="av")
def ucf101(root):
    names = ["Archery/v_a.avi", "Archery/v_b.avi", "Typing/v_c.avi"]
    found = _videos(root / "videos", names, (5, 4, 6))
    lists = root / "lists"
    text(lists / "trainlist01.txt", [f"{names[0]} 1", f"{names[2]} 2"])
    text(lists / "testlist01.txt", [names[1]])
    arguments = {"annotation_path": str(lists), "frames_per_clip": 2, "num_workers": 0}
    train = clips(found[names[0]], 0, 2, 2) + clips(found[names[2]], 1, 2, 2)
    return [
        Case(train, {**arguments, "step_between_clips": 2}),
        Case(clips(found[names[1]], 0, 2, 1), {**arguments, "train": False}),
    ]


@fake("Kinetics", needs="av")
def kinetics(root):
    cases = []
    for split in ("train", "val"):
        names = ["abseiling/x.avi", "yoga/y.avi"]
        found = _videos(root / split, names, (4, 5))
        items = clips(found[names[0]], 0, 3, 1, "TCHW") + clips(found[names[1]], 1, 3, 1, "TCHW")
        arguments = {"frames_per_clip": 3, "split": split, "num_workers": 0}
        cases.append(Case(items, arguments, {"classes": ["abseiling", "yoga"]}))
    slow = [  # every second frame
        (
            np.stack([frames[k], frames[k + 2]]).transpose(0, 3, 1, 2),
            np.zeros((1, 0), np.float32),
            n,
        )
        for n, frames in enumerate(found.values())
        for k in range(0, len(frames) - 2, 2)
    ]
    cases.append(
        Case(slow, {"frames_per_clip": 2, "split": "val", "frame_rate": 5, "num_workers": 0})
    )
    return cases
