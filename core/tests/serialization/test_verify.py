"""``load(verify=True)``: checksums of what a load would leave in the file."""

import pytest

import rushlight

LARGE = 3 << 20  # elements: several pieces are summed


def _damaged(path, elements):
    """A checkpoint with a flipped bit in the middle of its one storage."""
    rushlight.save({"x": rushlight.arange(float(elements))}, path)
    data = bytearray(path.read_bytes())
    at = data.index(rushlight.arange(float(elements)).numpy().tobytes())
    data[at + 2 * elements] ^= 16
    path.write_bytes(data)


@pytest.mark.parametrize("elements", (64, LARGE))
@pytest.mark.parametrize("options", ({"mmap": True}, {"map_location": "meta"}, {"mmap": False}))
def test_a_flipped_bit_is_seen(tmp_path, elements, options):
    path = tmp_path / "x.pt"
    _damaged(path, elements)
    with pytest.raises(RuntimeError, match=r"x.pt' .* the checksum of entry data/0 is wrong"):
        rushlight.load(path, verify=True, **options)
    if options.get("mmap") is not False:
        assert rushlight.load(path, **options)["x"].shape == (elements,)


def test_whole_files_load_as_ever(tmp_path):
    path = tmp_path / "x.pt"
    rushlight.save({"x": rushlight.arange(5), "y": rushlight.ones(2, 3)}, path)
    loaded = rushlight.load(path, mmap=True, verify=True)
    assert loaded["x"].tolist() == [0, 1, 2, 3, 4] and loaded["y"].sum() == 6
    with path.open("rb") as file:
        assert rushlight.load(file, verify=True)["x"].tolist() == [0, 1, 2, 3, 4]


def test_the_file_that_was_verified_is_mapped(tmp_path, monkeypatch):
    """And not another one that has taken its name meanwhile."""
    path = tmp_path / "x.pt"
    rushlight.save(rushlight.ones(3), path)
    archive = rushlight.serialization.load.__globals__["Archive"]
    real = archive.check_all

    def exchanged(self):
        real(self)
        rushlight.save(rushlight.zeros(3), path)

    monkeypatch.setattr(archive, "check_all", exchanged)
    assert rushlight.load(path, mmap=True, verify=True).tolist() == [1.0] * 3
