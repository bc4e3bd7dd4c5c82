"""The zip archive around a checkpoint: what other readers make of it, its long form, its sinks."""

import io
import os
import zipfile

import pytest

import rushlight
from rushlight.machine import threads
from rushlight.serialization import archive_writer

LARGE = 6_000_000  # elements: more bytes than what Python's own calls write and sum


def _saved(value, **options):
    buffer = io.BytesIO()
    rushlight.save(value, buffer, **options)
    return buffer


@pytest.fixture(autouse=True)
def _warm():
    """Compiled code is used where some has run already."""
    threads.pool()


@pytest.mark.parametrize("elements", (5, LARGE))
def test_python_reads_the_archive(tmp_path, elements):
    """zipfile finds every entry whole, and the data at multiples of 64 bytes."""
    path = tmp_path / "model.pt"
    rushlight.save({"x": rushlight.arange(elements), "y": rushlight.ones(3)}, path)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert {name.split("/")[0] for name in archive.namelist()} == {"model"}
        assert archive.read("model/version") == b"3\n"
        data = archive.read("model/data/0")
        raw = path.read_bytes()
        assert raw.index(data) % 64 == 0
    assert rushlight.load(path)["x"].equal(rushlight.arange(elements))
    assert len(list(tmp_path.iterdir())) == 1


def test_the_same_object_gives_the_same_bytes(tmp_path):
    """Whatever writes: compiled code into a file, Python into memory."""
    value = {"x": rushlight.arange(LARGE)}
    rushlight.save(value, tmp_path / "archive.pt")
    assert (tmp_path / "archive.pt").read_bytes() == _saved(value).getvalue()


@pytest.mark.parametrize("limit", ("_LIMIT", "_COUNT_LIMIT"))
def test_the_long_form(monkeypatch, limit, tmp_path):
    """64-bit sizes and places, as entries beyond 4 GiB and archives of 65,535 entries have them,
    are read by all readers. The limits are lowered here."""
    monkeypatch.setattr(archive_writer, limit, 300 if limit == "_LIMIT" else 10)
    data = _saved([rushlight.full((100,), float(i)) for i in range(20)]).getvalue()
    assert b"PK\x06\x06" in data[-200:]
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None and len(archive.namelist()) == 25
    numbers = [float(i) for i in range(20)]
    assert [t[99].item() for t in rushlight.load(io.BytesIO(data))] == numbers
    torch = pytest.importorskip("torch")
    path = tmp_path / "long.pt"
    path.write_bytes(data)
    assert [t[99].item() for t in torch.load(path)] == numbers
    assert [t[99].item() for t in torch.load(path, mmap=True)] == numbers
    with pytest.raises(RuntimeError, match="is not a checkpoint, or damaged"):
        rushlight.load(io.BytesIO(data[:-300]))


def test_it_may_follow_other_bytes(tmp_path):
    """A file object is written where it stands."""
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.write(b"heading")
        rushlight.save(rushlight.arange(LARGE), file)
        file.write(b"")
    raw = path.read_bytes()
    assert raw[:7] == b"heading"
    assert rushlight.load(io.BytesIO(raw[7:])).equal(rushlight.arange(LARGE))


class Sink:
    """Takes bytes only, a thousand at a time, and knows no position."""

    def __init__(self):
        self.taken = bytearray()

    def write(self, data):
        self.taken += bytes(data[:1000])
        return min(len(data), 1000)


def test_objects_that_only_write():
    sink = Sink()
    rushlight.save(rushlight.arange(5000), sink)
    assert rushlight.load(io.BytesIO(bytes(sink.taken))).equal(rushlight.arange(5000))


def test_places_of_storages(tmp_path, monkeypatch):
    """What functions for `map_location` fall back on, and kinds of places of the user's own."""
    from rushlight.serialization import locations

    default = rushlight.serialization.default_restore_location
    path = tmp_path / "x.pt"
    rushlight.save([rushlight.ones(2), rushlight.zeros(3)], path)
    seen = []

    def place(storage, location):
        seen.append(location)
        return default(storage, "cpu")

    assert rushlight.load(path, map_location=place)[0].tolist() == [1, 1]
    assert seen == ["cpu", "cpu"]
    storage = rushlight.ones(2).untyped_storage()
    assert default(storage, "cpu") is storage
    assert rushlight.serialization.location_tag(storage) == "cpu"
    for location, error in (("nowhere", RuntimeError), ("meta", NotImplementedError),
                            ("cuda:1", RuntimeError)):  # fmt: skip
        with pytest.raises(error, match="know how to restore|meta|CUDA device"):
            default(storage, location)
    monkeypatch.setattr(locations, "_registry", list(locations._registry))
    rushlight.serialization.register_package(
        5, lambda s: None, lambda s, location: s.fill_(0) if location == "cpu" else None
    )
    assert rushlight.load(path)[0].tolist() == [0, 0]
    assert default(storage, "cpu").tolist() == [0] * 8


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="needs /proc")
def test_all_tensors_of_a_file_share_one_mapping(tmp_path):
    """A process may have some 65,000 mappings; large checkpoints hold more tensors than that."""
    path = tmp_path / "many.pt"
    rushlight.save([rushlight.full((1000,), float(i)) for i in range(50)], path)
    loaded = rushlight.load(path, mmap=True)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        assert sum("many.pt" in line for line in maps) == 1
    loaded[3][0] = 7.0
    assert loaded[3][:2].tolist() == [7.0, 3.0] and loaded[49][999].item() == 49.0
    assert rushlight.load(path)[3][0].item() == 3.0
    del loaded
    with open("/proc/self/maps", encoding="utf-8") as maps:
        assert not any("many.pt" in line for line in maps)
