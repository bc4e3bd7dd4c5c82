"""The format from before PyTorch 1.6, written and read; conjugates, whatever the format."""

import io
import sys
from pathlib import Path

import pytest

import rushlight

sys.path.insert(0, str(Path(__file__).parent))
from test_two_ways import LAYERS, MAKINGS, same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings(
    "ignore:TypedStorage is deprecated", "ignore:Sparse", "ignore:enable_nested_tensor"
)


def _saved(saver, value, new=False):
    buffer = io.BytesIO()
    saver.save(value, buffer, _use_new_zipfile_serialization=new)
    buffer.seek(0)
    return buffer


def _again(buffer, loader, **options):
    buffer.seek(0)
    return loader.load(buffer, **options)


@pytest.mark.parametrize("name", MAKINGS)
def test_it_is_written(name):
    """PyTorch reads it, but for untyped storages, of which it reads none in its own files."""
    ours = MAKINGS[name](rushlight)
    buffer = _saved(rushlight, ours)
    assert buffer.getvalue()[:2] == b"\x80\x02" and b"PK" not in buffer.getvalue()[:200]
    same(rushlight.load(buffer), ours)
    if name != "storages":
        same(_again(buffer, torch, weights_only=name not in ("sets", "texts")), ours)


def test_it_is_written_to_a_path(tmp_path):
    path = tmp_path / "x.pt"
    rushlight.save({"x": rushlight.arange(5)}, path, _use_new_zipfile_serialization=False)
    assert torch.load(path)["x"].tolist() == rushlight.load(path)["x"].tolist() == [0, 1, 2, 3, 4]
    assert [p.name for p in tmp_path.iterdir()] == ["x.pt"]


@pytest.mark.parametrize("name", LAYERS)
def test_whole_modules_are_written(name):
    model = LAYERS[name][0](rushlight.nn).eval()
    loaded = torch.load(_saved(rushlight, model), weights_only=False)
    for key, value in model.state_dict().items():
        assert value.tolist() == loaded.state_dict()[key].tolist()


def _sparse():
    coo = torch.sparse_coo_tensor([[0, 3], [1, 0]], [1.0, 2.0], (4, 2))
    dense = coo.to_dense()
    return {
        "coo": coo, "coalesced": coo.coalesce(), "csr": dense.to_sparse_csr(),
        "csc": dense.to_sparse_csc(), "bsr": dense.to_sparse_bsr((2, 1)),
        "bsc": dense.to_sparse_bsc((2, 1)), "beside": dense,
    }  # fmt: skip


@pytest.mark.parametrize("new", (True, False))
@pytest.mark.parametrize("saver", (torch, rushlight))
def test_sparse_tensors(new, saver):
    theirs = _sparse()
    ours = rushlight.load(_saved(torch, theirs, new))
    if saver is rushlight:
        loader = torch if new else rushlight
        ours = loader.load(_saved(rushlight, ours, new))
    for name, tensor in theirs.items():
        assert str(ours[name].layout).split(".")[-1] == str(tensor.layout).split(".")[-1]
        assert ours[name].to_dense().tolist() == tensor.to_dense().tolist()
    assert ours["coalesced"].is_coalesced()


def test_sparse_tensors_of_trusted_files():
    ours = rushlight.load(_saved(torch, _sparse()), weights_only=False)
    assert (
        ours["csr"].to_dense().tolist()
        == ours["beside"].tolist()
        == ours["coo"].to_dense().tolist()
    )


@pytest.mark.parametrize("new", (True, False))
@pytest.mark.parametrize("name", ("coo", "csr", "csc", "bsr", "bsc"))
def test_indices_are_checked(name, new):
    tensor = _sparse()[name]
    indices = tensor._indices() if name == "coo" else (
        tensor.col_indices() if name in ("csr", "bsr") else tensor.row_indices()
    )  # fmt: skip
    indices.fill_(100)
    with pytest.raises(RuntimeError, match="size is inconsistent with indices|is not satisfied"):
        rushlight.load(_saved(torch, tensor, new))


def _resolved(tensor):
    return tensor.detach().resolve_conj().resolve_neg().tolist()


@pytest.mark.parametrize("new", (True, False))
@pytest.mark.parametrize("kind", ("complex64", "complex128"))
def test_conjugates_and_negatives(new, kind):
    """Over storages of their own or with others, first or last."""
    x = torch.tensor([1 + 2j, 3 - 1j, 5 + 5j], dtype=getattr(torch, kind))
    y = torch.tensor([1 + 2j, 3 - 1j], dtype=getattr(torch, kind))
    values = (
        [x.conj()], [x, x.conj()], [x.conj(), x], [x.conj(), x.conj()[1:], x[::2]],
        [x[1:].conj(), x.conj()], [y.conj().imag], [y.conj().imag, y.conj().imag[:1]],
        [torch.nn.Parameter(x.conj()), x], [x.conj().reshape(3, 1).expand(3, 2)],
    )  # fmt: skip
    for value in values:
        loaded = rushlight.load(_saved(torch, value, new))
        assert [t.detach().tolist() for t in loaded] == [_resolved(t) for t in value]


def test_a_conjugate_takes_no_more_memory_than_its_storage():
    """So that one that is larger than the spare memory of a load is read."""
    x = torch.arange(9_000_000).to(torch.complex64)
    for new in (True, False):
        loaded = rushlight.load(_saved(torch, x.add(1j).conj(), new))
        assert loaded[-1].item() == 8_999_999 - 1j


@pytest.mark.parametrize("new", (True, False))
def test_storages_beside_tensors_over_them(new):
    x = torch.arange(3.0)
    tensor, typed = rushlight.load(_saved(torch, [x, x._typed_storage()], new))
    assert type(typed).__name__ == "TypedStorage" and typed.tolist() == tensor.tolist()
    x = torch.tensor([1 + 2j])
    tensor, typed = rushlight.load(_saved(torch, [x.conj(), x._typed_storage()], new))
    assert (tensor.tolist(), typed.tolist()) == ([1 - 2j], [1 + 2j])


def test_what_it_cannot_do(tmp_path):
    path = tmp_path / "x.pt"
    rushlight.save(rushlight.ones(3), path, _use_new_zipfile_serialization=False)
    for option in ("mmap", "verify"):
        with pytest.raises(RuntimeError, match=f"x.pt': {option} can only be used with files"):
            rushlight.load(path, **{option: True})
