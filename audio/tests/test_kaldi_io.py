"""Kaldi's tables: what kaldiio wrote is read as kaldiio reads it; written tables come back.

`recorded/kaldi_tables.npz` is made by ci/audio_kaldi_tables.py.
"""

import gzip
import io
from pathlib import Path

import numpy as np
import pytest

import rushlight as rl
from rushlight_audio import kaldi_io

RECORDED = np.load(Path(__file__).with_name("recorded") / "kaldi_tables.npz")
READERS = {
    "integers": kaldi_io.read_vec_int_ark,
    "vector": kaldi_io.read_vec_flt_ark,
}
CASES = sorted(name[: -len(" bytes")] for name in RECORDED if name.endswith(" bytes"))


def reader_of(case):
    return READERS.get(case.removeprefix("text_"), kaldi_io.read_mat_ark)


def same(tensor, array, atol=1e-6):
    assert str(tensor.dtype) == f"rushlight.{array.dtype}"
    assert tuple(tensor.shape) == array.shape
    np.testing.assert_allclose(tensor.numpy(), array, rtol=1e-6, atol=atol)


@pytest.mark.parametrize("case", CASES)
def test_kaldiio_writes_and_we_read(case):
    found = dict(reader_of(case)(io.BytesIO(RECORDED[f"{case} bytes"].tobytes())))
    assert list(found) == ["one", "two"]
    for key, tensor in found.items():
        # Compressed values are a float32 step from the least, -25, on: a rounding there is 2e-6.
        same(tensor, RECORDED[f"{case} {key}"], 4e-6 if "compressed" in case else 1e-6)


def test_bytes_by_hand(tmp_path):
    path = tmp_path / "a.ark"
    numbers = np.array([[1, 2, 3], [4, 5, 6.5]], "<f4")
    path.write_bytes(b"utt-1 \0BFM \4\2\0\0\0\4\3\0\0\0" + numbers.tobytes())
    ((key, matrix),) = kaldi_io.read_mat_ark(path)
    assert (key, matrix.tolist()) == ("utt-1", numbers.tolist())
    path.write_bytes(b"a \0B\4\2\0\0\0\4\7\0\0\0\4\xff\xff\xff\xff")
    assert [(k, v.tolist()) for k, v in kaldi_io.read_vec_int_ark(str(path))] == [("a", [7, -1])]
    path.write_bytes(b"a  [\n  1 2\n  3 4 ]\nb  [ ]\n")
    found = dict(kaldi_io.read_mat_ark(path))
    assert (found["a"].tolist(), found["b"].tolist()) == ([[1, 2], [3, 4]], [])


KINDS = {
    "mat": {"a": rl.randn(3, 4), "b-2": rl.zeros(1, 4)},
    "vec": {"a": rl.randn(5), "b": rl.zeros(1)},
}


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("kind", ["mat", "vec"])
def test_written_tables_come_back(tmp_path, kind, text):
    ark, scp = tmp_path / "a.ark", tmp_path / "a.scp"
    kaldi_io.write_ark(ark, KINDS[kind], scp, text)
    by_ark, by_scp = (
        (kaldi_io.read_mat_ark, kaldi_io.read_mat_scp)
        if kind == "mat"
        else (kaldi_io.read_vec_flt_ark, kaldi_io.read_vec_flt_scp)
    )
    packed = tmp_path / "b.ark.gz"
    packed.write_bytes(gzip.compress(ark.read_bytes()))
    for found in (dict(by_ark(ark)), dict(by_scp(scp)), dict(by_ark(packed))):
        assert list(found) == list(KINDS[kind])
        for key, tensor in found.items():
            same(tensor, KINDS[kind][key].numpy())


def test_other_dtypes_come_back(tmp_path):
    kaldi_io.write_ark(tmp_path / "a", {"a": rl.randn(3, 2, dtype=rl.float64)})
    assert next(kaldi_io.read_mat_ark(tmp_path / "a"))[1].dtype is rl.float64
    labels = {"a": rl.tensor([-5, 7], dtype=rl.int32)}
    for text in (False, True):
        kaldi_io.write_ark(tmp_path / "b", labels, text=text)
        assert next(kaldi_io.read_vec_int_ark(tmp_path / "b"))[1].tolist() == [-5, 7]


def test_ranges_of_scripts(tmp_path):
    ark, scp = tmp_path / "a.ark", tmp_path / "a.scp"
    whole = rl.arange(20.0).reshape(5, 4)
    kaldi_io.write_ark(ark, {"a": whole}, scp)
    place = scp.read_text().split()[1]
    scp.write_text(f"a {place}[1:2]\nb {place}[0:4,2:3]\nc {place}[,0:0]\n\n")
    found = dict(kaldi_io.read_mat_scp(scp))
    assert rl.equal(found["a"], whole[1:3])
    assert rl.equal(found["b"], whole[:, 2:])
    assert rl.equal(found["c"], whole[:, :1])


def test_faults(tmp_path):
    path = tmp_path / "a.ark"
    with pytest.raises(FileNotFoundError, match="no such Kaldi table.*a.ark"):
        next(kaldi_io.read_mat_ark(path))
    kaldi_io.write_ark(path, {"word": rl.ones(3, 2)})
    whole = path.read_bytes()
    for cut in range(len("word ") + 1, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(ValueError, match="a.ark: 'word'"):
            next(kaldi_io.read_mat_ark(path))
    path.write_bytes(whole)
    with pytest.raises(ValueError, match="vector of floats is expected, got the token 'FM'"):
        next(kaldi_io.read_vec_flt_ark(path))
    with pytest.raises(ValueError, match="a size is expected"):
        next(kaldi_io.read_vec_int_ark(path))
    with pytest.raises(ValueError, match="a matrix in text is expected"):
        next(kaldi_io.read_mat_ark(io.BytesIO(b"a [ 1 x ]\n")))
    with pytest.raises(ValueError, match="a path is expected, got 'gunzip -c a |'"):
        next(kaldi_io.read_mat_scp(io.BytesIO(b"a gunzip -c a |\n")))
    with pytest.raises(ValueError, match="must have no blanks, got 'a b'"):
        kaldi_io.write_ark(path, {"a b": rl.ones(1)})
    with pytest.raises(ValueError, match=r"'a'.*got rushlight.float32 of shape \[1, 1, 1\]"):
        kaldi_io.write_ark(path, {"a": rl.ones(1, 1, 1)})
