"""Event files: their records, every kind of summary, read by TensorBoard where it is there."""

import io
import json
import math
import struct
import wave
from pathlib import Path

import numpy as np
import pytest

import rushlight
from rushlight import nn
from rushlight.utils.tensorboard import SummaryWriter, records, summary


def slow_crc(data):
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


def test_checksums():
    assert records.crc32c(b"123456789") == 0xE3069283  # the check value of RFC 3720
    assert records.crc32c(b"\0" * 32) == 0x8A9136AA
    data = np.random.default_rng(0).integers(0, 256, 20_001, np.uint8).tobytes()
    assert records.crc32c(data) == slow_crc(data)


# ----------------------------------------------------------------- a reader of the format for tests
def fields(data):
    """field number -> values, of a message."""
    found, at = {}, 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = number()
        if key & 7 == 0:
            value = number()
        elif key & 7 == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif key & 7 == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            size = number()
            value, at = data[at : at + size], at + size
        found.setdefault(key >> 3, []).append(value)
    return found


def events(folder):
    """The events of all files of a folder, their checksums verified."""
    found = []
    for path in sorted(folder.glob("events.out.tfevents.*")):
        data = path.read_bytes()
        while data:
            (size,) = struct.unpack("<Q", data[:8])
            for piece, at in ((data[:8], 8), (data[12 : 12 + size], 12 + size)):
                crc = slow_crc(piece) if len(piece) < 3000 else records.crc32c(piece)
                masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
                assert struct.unpack("<I", data[at : at + 4])[0] == masked
            found.append(fields(data[12 : 12 + size]))
            data = data[16 + size :]
    return found


def values(folder):
    """(step, tag, fields of the value) of all summaries."""
    found = []
    for event in events(folder):
        for message in event.get(5, ()):
            for value in fields(message)[1]:
                parts = fields(value)
                found.append((event.get(2, [0])[0], parts[1][0].decode(), parts))
    return found


def only(folder, tag):
    (found,) = [parts for _, name, parts in values(folder) if name == tag]
    return found


def test_curves(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 0.5, 3, walltime=10.0)
        writer.add_scalar("loss", rushlight.tensor([0.25]), 4)
        writer.add_scalars("pair", {"a": 1.0, "b": 2.0}, 7)
        with pytest.raises(AssertionError, match="scalar_value should be 0D, got 2 elements"):
            writer.add_scalar("loss", rushlight.ones(2))
    first = events(tmp_path)
    assert first[0][3] == [b"brain.Event:2"]
    assert first[1][1] == [10.0]
    assert [(s, t, p[2][0]) for s, t, p in values(tmp_path)] == [
        (3, "loss", 0.5), (4, "loss", 0.25),
    ]  # fmt: skip
    assert [(s, p[2][0]) for s, _, p in values(tmp_path / "pair_a")] == [(7, 1.0)]
    assert [(s, p[2][0]) for s, _, p in values(tmp_path / "pair_b")] == [(7, 2.0)]


def test_a_purged_step_starts_a_session(tmp_path):
    SummaryWriter(tmp_path, purge_step=5, filename_suffix=".mine").close()
    assert fields(events(tmp_path)[1][7][0]) == {1: [1]} and events(tmp_path)[1][2] == [5]
    assert next(tmp_path.iterdir()).name.endswith(".mine")


def test_events_reach_the_disk_by_number_and_by_flush(tmp_path):
    writer = SummaryWriter(tmp_path, max_queue=3)
    writer.add_scalar("x", 1.0)
    assert len(values(tmp_path)) == 0
    writer.flush()
    assert len(values(tmp_path)) == 1
    for _ in range(3):
        writer.add_scalar("x", 1.0)
    assert len(values(tmp_path)) == 4
    writer.close()
    writer.add_scalar("x", 2.0)  # opens another file
    writer.close()
    assert len(values(tmp_path)) == 5


@pytest.mark.parametrize("bins", ["tensorflow", "auto", 7])
def test_histograms(tmp_path, bins):
    data = np.random.default_rng(0).standard_normal(1000)
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("h", data, 1, bins=bins)
        with pytest.raises(ValueError, match="no element"):
            writer.add_histogram("h", [], 1)
    found = fields(only(tmp_path, "h")[5][0])
    assert found[1] == [data.min()] and found[2] == [data.max()] and found[3] == [1000.0]
    assert found[4][0] == pytest.approx(data.sum()) and found[5][0] == pytest.approx(data @ data)
    limits, counts = np.frombuffer(found[6][0]), np.frombuffer(found[7][0])
    assert len(limits) == len(counts) and counts.sum() == 1000
    for limit, total in zip(limits, np.cumsum(counts), strict=True):
        assert abs((data < limit).sum() - total) <= 1  # the last bin is closed


def decoded(folder, tag):
    from PIL import Image

    found = fields(only(folder, tag)[4][0])
    picture = np.asarray(Image.open(io.BytesIO(found[4][0])))
    assert picture.shape[:2] == (found[1][0], found[2][0])
    return picture


def test_pictures(tmp_path):
    pytest.importorskip("PIL")
    color = np.random.default_rng(0).integers(0, 256, (3, 5, 7), np.uint8)
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("bytes", color)
        writer.add_image("floats", rushlight.tensor(color / 255.0), dataformats="CHW")
        writer.add_image("grey", color[0], dataformats="HW")
        writer.add_images("batch", rushlight.ones(10, 1, 2, 3))
        writer.add_image_with_boxes("boxes", np.zeros((3, 9, 9)), [[1, 2, 5, 6]])
        with pytest.raises(AssertionError, match="input tensor and input format are different"):
            writer.add_image("bad", color, dataformats="HW")
    assert (decoded(tmp_path, "bytes") == color.transpose(1, 2, 0)).all()
    assert np.abs(decoded(tmp_path, "floats").astype(int) - color.transpose(1, 2, 0)).max() <= 1
    assert (decoded(tmp_path, "grey") == color[0][:, :, None]).all()
    batch = decoded(tmp_path, "batch")
    assert batch.shape == (4, 24, 3) and batch[:2].min() == 255 and batch[2:, 6:].max() == 0
    red = decoded(tmp_path, "boxes")[:, :, 0]
    assert red[2, 1:6].min() == 255 and red[2:7, 5].min() == 255 and red[4, 3] == 0


def test_films_and_figures(tmp_path):
    image = pytest.importorskip("PIL.Image")
    frames = np.zeros((1, 3, 3, 8, 8), np.uint8)
    frames[0, 1] = 255
    with SummaryWriter(tmp_path) as writer:
        writer.add_video("film", frames, fps=2)
        with pytest.raises(ValueError, match=r"expected \(N, T, C, H, W\)"):
            writer.add_video("film", frames[0])
        pyplot = pytest.importorskip("matplotlib.pyplot")
        pyplot.switch_backend("agg")
        figure = pyplot.figure(figsize=(2, 1), dpi=50)
        writer.add_figure("figure", figure)
        assert not pyplot.fignum_exists(figure.number)
    film = image.open(io.BytesIO(fields(only(tmp_path, "film")[4][0])[4][0]))
    assert film.n_frames == 3 and film.info["duration"] == 500
    assert decoded(tmp_path, "figure").shape == (50, 100, 4)


def test_sounds(tmp_path):
    tone = np.sin(np.arange(800) / 5)
    with SummaryWriter(tmp_path) as writer:
        writer.add_audio("tone", rushlight.tensor(tone[None]), sample_rate=8000)
    found = fields(only(tmp_path, "tone")[6][0])
    assert found[1] == [8000.0] and found[3] == [800] and found[5] == [b"audio/wav"]
    with wave.open(io.BytesIO(found[4][0])) as sound:
        assert sound.getframerate() == 8000 and sound.getnchannels() == 1
        samples = np.frombuffer(sound.readframes(800), "<i2") / 32767
    np.testing.assert_allclose(samples, tone, atol=1e-4)


def plugin_of(parts):
    found = fields(fields(parts[9][0])[1][0])
    return found[1][0], fields(found[2][0]) if found.get(2) and found[2][0] else {}


def test_texts_curves_of_precision_and_layouts(tmp_path):
    labels, predictions = np.array([1, 0, 1, 1]), np.array([0.9, 0.8, 0.7, 0.1])
    with SummaryWriter(tmp_path) as writer:
        writer.add_text("note", "**bold**")
        writer.add_pr_curve("pr", labels, predictions, num_thresholds=11)
        writer.add_custom_scalars(
            {"c": {"t": ["Multiline", ["a", "b"]], "m": ["Margin", list("xyz")]}}
        )
    note = only(tmp_path, "note/text_summary")
    assert plugin_of(note)[0] == b"text" and fields(note[8][0])[8] == [b"**bold**"]
    curve = only(tmp_path, "pr")
    assert plugin_of(curve) == (b"pr_curves", {2: [11]})
    rows = np.frombuffer(fields(curve[8][0])[5][0], np.float32).reshape(6, 11)
    assert rows[:4, 0].tolist() == [3.0, 1.0, 0.0, 0.0]  # everything counts as positive
    assert rows[:4, 8].tolist() == [1.0, 1.0, 0.0, 2.0]  # those from 0.8 on
    assert rows[4, 8] == 0.5 and rows[5, 8] == pytest.approx(1 / 3)
    layout = fields(fields(only(tmp_path, "custom_scalars__config__")[8][0])[8][0])
    category = fields(layout[2][0])
    assert category[1] == [b"c"] and fields(fields(category[2][0])[2][0])[1] == [b"a", b"b"]
    assert fields(fields(fields(category[2][1])[3][0])[1][0])[3] == [b"z"]


def test_summaries_of_which_all_is_known(tmp_path):
    values = np.array([0.5, 1.5, 1.5, 3.0])
    labels, predictions = np.array([1, 0, 1, 1]), np.array([0.9, 0.8, 0.7, 0.1])
    counts = np.array([[3, 2, 0], [1, 1, 0], [0, 0, 1], [0, 1, 3]])
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("seen", values, bins=[0, 1, 2, 4])
        writer.add_histogram_raw(
            "raw", 0.5, 3.0, 4, values.sum(), (values**2).sum(), [0, 1, 2, 4], [0, 1, 2, 1]
        )
        writer.add_pr_curve("drawn", labels, predictions, num_thresholds=3)
        precision, recall = [0.75, 2 / 3, 0], [1, 2 / 3, 0]
        writer.add_pr_curve_raw("known", *counts, precision, recall, num_thresholds=3)
        writer.add_custom_scalars_multilinechart(["a", "b"], "c", "t")
        with pytest.raises(ValueError, match="len"):
            writer.add_histogram_raw("bad", 0, 1, 1, 1, 1, [0, 1], [1])
    seen, raw = (fields(only(tmp_path, tag)[5][0]) for tag in ("seen", "raw"))
    assert seen[6] == raw[6] and seen[7] == raw[7] and raw[1] == [0.5] and raw[5] == [13.75]
    known = np.frombuffer(fields(only(tmp_path, "known")[8][0])[5][0], np.float32)
    assert known.reshape(6, 3)[:4].tolist() == counts.tolist()
    drawn = np.frombuffer(fields(only(tmp_path, "drawn")[8][0])[5][0], np.float32)
    np.testing.assert_allclose(drawn.reshape(6, 3)[:, :2], known.reshape(6, 3)[:, :2], rtol=1e-6)
    layout = fields(fields(only(tmp_path, "custom_scalars__config__")[8][0])[8][0])
    chart = fields(fields(layout[2][0])[2][0])
    assert chart[1] == [b"t"] and fields(chart[2][0])[1] == [b"a", b"b"]


def test_hyper_parameters(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.1, "net": "cnn", "bn": True}, {"acc": 0.9}, run_name="r")
        with pytest.raises(TypeError, match="should be dictionary"):
            writer.add_hparams([], {})
        with pytest.raises(ValueError, match="one of int, float, str, bool"):
            writer.add_hparams({"x": object()}, {})
    found = {tag: parts for _, tag, parts in values(tmp_path / "r")}
    assert found["acc"][2][0] == pytest.approx(0.9)
    name, content = plugin_of(found["_hparams_/session_start_info"])
    pairs = [fields(p) for p in fields(content[3][0])[1]]
    assert name == b"hparams" and [p[1][0] for p in pairs] == [b"lr", b"net", b"bn"]
    assert [fields(p[2][0]) for p in pairs] == [{2: [0.1]}, {3: [b"cnn"]}, {4: [1]}]
    infos = [fields(i) for i in fields(plugin_of(found["_hparams_/experiment"])[1][2][0])[4]]
    assert [i[4][0] for i in infos] == [3, 1, 2]


def test_graphs_follow_the_modules(tmp_path):
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, rushlight.ones(1, 3))
        with pytest.raises(ValueError, match="give 'input_to_model'"):
            writer.add_graph(model)
    graph = fields(events(tmp_path)[1][4][0])
    nodes = {n[1][0].decode(): n for n in map(fields, graph[1])}
    linear = nodes["Sequential/0/linear"]
    assert linear[2] == [b"aten::linear"]
    assert linear[3] == [b"input/0", b"Sequential/0/weight", b"Sequential/0/bias"]
    assert nodes["Sequential/1/relu"][3] == [b"Sequential/0/linear"]
    assert nodes["output/0"][3] == [b"Sequential/1/relu"]
    assert model.training


def test_points_of_the_projector(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        pictures = rushlight.rand(4, 3, 2, 2)
        writer.add_embedding(rushlight.eye(4), list("abcd"), pictures, 2, "points")
        with pytest.raises(AssertionError, match="#labels should equal"):
            writer.add_embedding(rushlight.eye(4), ["a"])
    folder = tmp_path / "00002" / "points"
    assert (folder / "metadata.tsv").read_text() == "a\nb\nc\nd\n"
    assert (folder / "tensors.tsv").read_text().splitlines()[1] == "0.0\t1.0\t0.0\t0.0"
    assert (folder / "sprite.png").stat().st_size > 50
    text = (tmp_path / "projector_config.pbtxt").read_text()
    assert 'tensor_path: "00002/points/tensors.tsv"' in text and "single_image_dim: 2" in text


def test_meshes(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_mesh("m", rushlight.rand(1, 4, 3), faces=rushlight.tensor([[[0, 1, 2]]]))
        with pytest.raises(ValueError, match=r"expected \(N, points, 3\)"):
            writer.add_mesh("m", rushlight.rand(4, 3))
    name, content = plugin_of(only(tmp_path, "m_VERTEX"))
    assert (
        name == b"mesh"
        and content[3] == [1]
        and content[6] == [bytes([1, 4, 3])]
        and content[7] == [6]
    )
    assert plugin_of(only(tmp_path, "m_FACE"))[1][3] == [2]


def test_tensorboard_reads_it(tmp_path):
    """The package itself, where it is installed."""
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with SummaryWriter(tmp_path) as writer:
        for step in range(5):
            writer.add_scalar("loss", math.exp(-step), step)
        writer.add_histogram("h", rushlight.randn(100))
        writer.add_image("i", rushlight.rand(3, 4, 4))
        writer.add_audio("a", rushlight.rand(100))
        writer.add_text("t", "text")
        writer.add_graph(nn.Linear(2, 2), rushlight.ones(1, 2))
    found = accumulator.EventAccumulator(str(tmp_path))
    found.Reload()
    assert [e.step for e in found.Scalars("loss")] == list(range(5))
    tags = found.Tags()
    assert tags["images"] == ["i"] and tags["audio"] == ["a"] and tags["histograms"] == ["h"]
    assert tags["tensors"] == ["t/text_summary"] and tags["graph"]
    assert "Linear/linear" in {node.name for node in found.Graph().node}


# PyTorch 2.13's messages (torch.utils.tensorboard.summary, tensorboard 2.20), as hexadecimal digits
RECORDED = json.loads(Path(__file__).with_name("recorded_summaries.json").read_text())
SETTINGS = {"lr": 0.1, "net": "cnn", "n": 3}
CALLS = {
    "scalar": lambda: summary.scalar("loss", 0.5),
    "scalar of a tensor": lambda: summary.scalar("loss", rushlight.tensor([0.25]), new_style=True),
    "exact scalar": lambda: summary.scalar("a/b", 1 / 3, new_style=True, double_precision=True),
    "tensor": lambda: summary.tensor_proto("t", rushlight.arange(6.0).reshape(2, 3)),
    "text": lambda: summary.text("note", "**bold**"),
    "histogram of few bins": lambda: summary.histogram("h", np.arange(9.0) % 4, "auto", max_bins=2),
    "raw histogram": lambda: summary.histogram_raw("h", 0.0, 1.0, 3, 1.5, 1.25, [0.5, 1.0], [1, 2]),
    "curve": lambda: summary.pr_curve("pr", np.array([1, 0, 1]), np.array([0.9, 0.5, 0.1]), 5),
    "layout": lambda: summary.custom_scalars(
        {"c": {"t": ["Multiline", ["a", "b"]], "m": ["Margin", ["x", "y", "z"]]}}
    ),
    "settings 0": lambda: summary.hparams(SETTINGS, {"acc": 0.9})[0],
    "settings 1": lambda: summary.hparams({"net": "cnn"}, {"acc": 0.9})[1],
    "settings 2": lambda: summary.hparams(SETTINGS, {"acc": 0.9})[2],
    "choices": lambda: summary.hparams(
        {"net": "a", "n": 3.0}, {}, {"net": ["a", "b"], "n": [1.0, 3.0]}
    )[0],
    "mesh": lambda: summary.mesh(
        "m", rushlight.arange(6.0).reshape(1, 2, 3), None, None, {"a": 1}, "Title", "about"
    ),
}  # fmt: skip


def test_summaries_are_pytorchs_messages():
    assert CALLS.keys() == RECORDED.keys()
    for name, made in CALLS.items():
        assert made().SerializeToString().hex() == RECORDED[name], name


def test_a_logger_writes_hyper_parameters_by_itself(tmp_path):
    """As Lightning's logger does: the three summaries through the writer's file."""
    writer = SummaryWriter(tmp_path)
    for made in summary.hparams({"lr": 0.5}, {"acc": 0}):
        writer._get_file_writer().add_summary(made)
    writer.close()
    tags = [tag.removeprefix("_hparams_/") for _, tag, _ in values(tmp_path)]
    assert tags == ["experiment", "session_start_info", "session_end_info"]
    start = plugin_of(only(tmp_path, "_hparams_/session_start_info"))[1]
    assert fields(fields(start[3][0])[1][0]) == {1: [b"lr"], 2: [records.double(2, 0.5)]}


def test_a_picture_with_boxes_in_another_size(tmp_path):
    pytest.importorskip("PIL")
    with SummaryWriter(tmp_path) as writer:
        writer.add_image_with_boxes("boxes", np.zeros((3, 9, 12)), [[0, 0, 11, 8]], rescale=2)
    red = decoded(tmp_path, "boxes")[:, :, 0]
    assert red.shape == (18, 24) and red[9, 0] > 150 and red[9, 12] < 30
