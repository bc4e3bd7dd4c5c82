"""Tensors of the meta device have the strides, offsets and storages that others have.

``check_meta`` of the op table compares every op; these are calls that its samples do not have.
"""

import copy
import pickle

import pytest

import rushlight
from rushlight import nn
from rushlight.machine import meta_array

try:
    import torch
except ImportError:  # compared with the CPU alone
    torch = None


class _Tensors:
    """New tensors of a library on a device."""

    def __init__(self, library, device):
        self.L, self.F, self.device = library, library.nn.functional, device

    def __call__(self, *size, dtype="float32"):
        return self.L.zeros(size, dtype=getattr(self.L, dtype), device=self.device)

    def index(self, *size):
        return self(*size, dtype="int64")

    def image(self, *size):
        """An image, channels last."""
        return self(*size).contiguous(memory_format=self.L.channels_last)


VIEWS = {
    "t": lambda x: x(2, 3).t(),
    "transpose": lambda x: x(2, 3, 4).transpose(0, 2),
    "expand": lambda x: x(3, 1).expand(2, 3, 4),
    "slices": lambda x: x(8, 6)[1:7:2, 2:],
    "select": lambda x: x(8, 6)[3],
    "select of a slice": lambda x: x(8, 6, 2)[2:][1, 3:],
    "new dimension": lambda x: x(8, 6)[:, None, 2:],
    "new dimension at the end": lambda x: x(8, 6)[1:, ..., None],
    "new dimension first": lambda x: x(8, 6).t()[None, 1],
    "as_strided": lambda x: x(20).as_strided((2, 3), (1, 4), 2),
    "as_strided of a slice": lambda x: x(20)[3:].as_strided((2, 3), (1, 4)),
    "permute": lambda x: x(2, 3, 4).permute(2, 0, 1),
    "view": lambda x: x(4, 6).t().view(2, 3, 4),
    "reshape": lambda x: x(4, 6).t().reshape(6, 2, 2),
    "reshape, a copy": lambda x: x(4, 6).t().reshape(8, 3),
    "flatten, a copy": lambda x: x(2, 3, 4).transpose(0, 1).flatten(),
    "unsqueeze": lambda x: x(2, 3).t().unsqueeze(1),
    "squeeze": lambda x: x(1, 3, 1).squeeze(),
    "unfold": lambda x: x(9, 2).unfold(0, 3, 2),
    "diagonal": lambda x: x(4, 5)[1:].diagonal(1),
    "split": lambda x: x(6, 4).split(2, 1),
    "unbind": lambda x: x(3, 4).unbind(1),
    "narrow": lambda x: x(6, 4).narrow(1, 1, 2),
    "unflatten": lambda x: x(4, 6).t().unflatten(0, (2, 3)),
    "tensor_split": lambda x: x(7, 2).tensor_split(3),
    "view of a smaller dtype": lambda x: x(4, 6).view(x.L.int16),
    "view of a larger dtype": lambda x: x(4, 6).view(x.L.float64),
    "imag": lambda x: x(4, 6, dtype="complex64").imag,
    "view_as_real": lambda x: x.L.view_as_real(x(4, 6, dtype="complex64").t()),
    "view_as_complex": lambda x: x.L.view_as_complex(x(4, 6, 2)),
    "detach": lambda x: x(4, 6)[1:].t().detach(),
    "in-place views": lambda x: x(4, 1, 6).squeeze_(1).t_().unsqueeze_(0),
    "resize_": lambda x: x(2, 3).resize_(4, 5),
    "resize_ to fewer": lambda x: x(4, 3)[1:].resize_(2, 2),
    "resize_ to channels last": lambda x: x(2, 3, 4, 5).resize_(
        2, 3, 4, 5, memory_format=x.L.channels_last
    ),
    "set_": lambda x: x(2, 3).set_(x(10).untyped_storage(), 2, (2, 2), (1, 2)),
    "set_ to a tensor": lambda x: x(2, 3).set_(x(4, 5).t()),
    "set_ to nothing": lambda x: x(2, 3).set_(),
}
LAYOUTS = {
    "conv2d, its weight alone channels last": lambda x: x.F.conv2d(
        x(2, 3, 8, 8), x.image(4, 3, 3, 3)
    ),
    "conv2d of one channel": lambda x: x.F.conv2d(x(2, 1, 8, 8), x.image(4, 1, 3, 3)),
    "empty_strided": lambda x: x.L.empty_strided((2, 3), (1, 5), device=x.device),
    "empty of a format": lambda x: x.L.empty(
        2, 3, 4, 5, device=x.device, memory_format=x.L.channels_last
    ),
    "to a format": lambda x: x(2, 3, 4, 5).to(memory_format=x.L.channels_last),
    "back by contiguous": lambda x: x.image(2, 3, 4, 5).contiguous(),
    "clone of a format": lambda x: x.image(2, 3, 4, 5).clone(),
    "clone to a format": lambda x: x(2, 3, 4, 5).clone(memory_format=x.L.channels_last),
    "clone with gaps": lambda x: x(4, 6)[:, ::2].clone(),
    "clone of an expanded tensor": lambda x: x(3, 1).expand(3, 4).clone(),
    "empty_like": lambda x: x.L.empty_like(x(4, 6).t()),
    "zeros_like with gaps": lambda x: x.L.zeros_like(x(4, 6, 5).permute(2, 0, 1)[1:]),
    "full_like of a format": lambda x: x.L.full_like(
        x(2, 3, 4, 5), 1.0, memory_format=x.L.channels_last
    ),
    "new_empty_strided": lambda x: x(4, 6).new_empty_strided((2, 3), (1, 2)),
    "cast": lambda x: x(4, 6).t().to(x.L.float64),
    "half": lambda x: x(4, 6).t().half(),
    "to the device": lambda x: x.L.zeros(4, 6).t().to(x.device),
    "add": lambda x: x(6, 4) + x(4, 6).t(),
    "add, the other way": lambda x: x(4, 6).t() + x(6, 4),
    "add of a row": lambda x: x(4, 6).t() + x(4),
    "add of an image": lambda x: x.image(2, 3, 4, 5) + x(1, 3, 1, 1),
    "add of dtypes": lambda x: x(4, 6).t() + x(6, 4, dtype="float64"),
    "where": lambda x: x.L.where(x(4, 6, dtype="bool").t(), x(6, 4), 0.0),
    "in place": lambda x: x(4, 6).t().add_(1),
    "out": lambda x: x.L.add(x(4, 6), 1, out=x(6, 4).t()),
    "frexp": lambda x: tuple(x.L.frexp(x(4, 6).t())),
    "cat of images": lambda x: x.L.cat([x.image(2, 3, 4, 5)] * 2, 1),
    "cat of an image and rows": lambda x: x.L.cat([x.image(2, 3, 4, 5), x(2, 3, 4, 5)], 1),
    "stack of images": lambda x: x.L.stack([x.image(2, 3, 4, 5)] * 2),
    "stack of images inside": lambda x: x.L.stack([x.image(2, 3, 4, 5)] * 2, 2),
    "stack of images of doubles": lambda x: x.L.stack(
        [x.image(2, 3, 4, 5), x.image(2, 3, 4, 5).double()], 1
    ),
    "stack": lambda x: x.L.stack([x(4, 6).t()] * 2),
    "sum": lambda x: x(2, 3, 4).transpose(0, 2).sum(1),
    "mean of an image": lambda x: x.image(2, 3, 4, 5).mean((2, 3), keepdim=True),
    "max": lambda x: tuple(x(2, 3, 4).transpose(0, 2).max(1)),
    "norm": lambda x: x.L.linalg.vector_norm(x(2, 3, 4).transpose(0, 2), 3, dim=1),
    "nanmedian": lambda x: tuple((x(2, 3, 4) + float("nan")).transpose(0, 2).nanmedian(1)),
    "sort": lambda x: tuple(x(4, 6).t().sort(0)),
    "softmax": lambda x: x(4, 6).t().softmax(0),
    "matrix product": lambda x: x(4, 6) @ x(5, 6).t(),
    "index": lambda x: x(4, 6, 5).transpose(0, 2)[:, x.index(3)],
    "indices": lambda x: x(4, 6, 5)[x.index(3), :, x.index(3)],
    "adjacent indices": lambda x: x(4, 6, 5)[:, x.index(3), x.index(3)],
    "index of a table": lambda x: x(4, 6, 5)[:, x.index(2, 3).t()],
    "index of an image": lambda x: x.image(2, 3, 4, 5)[:, x.index(2)],
    "index of the last": lambda x: x(2, 3, 4, 5)[..., x.index(2)],
    "index and new dimension": lambda x: x(4, 6, 5)[:, x.index(2), None],
    "index_put": lambda x: x(4, 6).t().index_put((x.index(2),), x(4)),
    "gather": lambda x: x(4, 6).gather(0, x.index(6, 4).t()),
    "select_scatter": lambda x: x(4, 6).t().select_scatter(x(4), 0, 1),
    "flip": lambda x: x(2, 4, 6).permute(2, 0, 1).flip(0),
    "fft": lambda x: x.L.fft.fft(x(4, 6), dim=0),
    "rfft2": lambda x: x.L.fft.rfft2(x(4, 6, 8).transpose(0, 2)),
    "irfft": lambda x: x.L.fft.irfft(x(4, 6, dtype="complex64").t()),
    "qr": lambda x: tuple(x.L.linalg.qr(x(2, 4, 3))),
    "svd": lambda x: tuple(x.L.linalg.svd(x(2, 4, 3))),
    "lstsq": lambda x: x.L.linalg.lstsq(x.L.eye(4, 3, device=x.device), x(4, 2))[0],
    "solve": lambda x: x.L.linalg.solve(x.L.eye(3, device=x.device), x(2, 3), left=False),
    "conv2d": lambda x: x.F.conv2d(x.image(2, 3, 8, 8), x(4, 3, 3, 3)),
    "conv_transpose2d": lambda x: x.F.conv_transpose2d(x.image(2, 3, 8, 8), x(3, 4, 3, 3)),
    "max_pool2d": lambda x: x.F.max_pool2d(x.image(2, 3, 8, 8), 2, return_indices=True),
    "adaptive_avg_pool2d": lambda x: x.F.adaptive_avg_pool2d(x.image(2, 3, 8, 8), 1),
    "batch_norm": lambda x: x.F.batch_norm(x.image(2, 3, 8, 8), x(3), x(3), training=True),
    "group_norm": lambda x: x.F.group_norm(x.image(2, 4, 8, 8), 2),
    "layer_norm": lambda x: x.F.layer_norm(x(4, 6, 8).transpose(0, 1), (8,)),
    "interpolate": lambda x: x.F.interpolate(x.image(2, 3, 4, 5), scale_factor=2),
    "pad": lambda x: x.F.pad(x.image(2, 3, 4, 5), (1, 1)),
    "attention": lambda x: x.F.scaled_dot_product_attention(*[x(2, 6, 4, 8).transpose(1, 2)] * 3),
    "multi-head attention": lambda x: x.L.nn.MultiheadAttention(
        8, 2, batch_first=True, device=x.device
    )(*[x(2, 5, 8)] * 3),
}


def _facts(found, whole):
    """Layouts of tensors; of views also how large their storage is."""
    if isinstance(found, (tuple, list)):
        return [_facts(each, whole) for each in found]
    storage = (found._is_view(), found.untyped_storage().nbytes()) if whole else ()
    layout = tuple(found.shape), tuple(found.stride()), found.storage_offset()
    return *layout, str(found.dtype).split(".")[-1], found.is_contiguous(), *storage


@pytest.mark.parametrize("name", [*VIEWS, *LAYOUTS])
def test_layouts(name):
    call, whole = VIEWS.get(name) or LAYOUTS[name], name in VIEWS
    found = _facts(call(_Tensors(rushlight, "meta")), whole)
    assert found == _facts(call(_Tensors(rushlight, "cpu")), whole)
    if torch is not None:
        assert found == _facts(call(_Tensors(torch, "cpu")), whole)


def test_views_share_a_storage_that_copies_do_not():
    x = rushlight.empty(4, 6, device="meta")
    y, z = x[1:].t(), rushlight.empty(4, 6, device="meta")
    assert y._is_view() and y._base is x
    assert y.untyped_storage() is x.untyped_storage()
    assert rushlight._C._is_alias_of(x, y) and not rushlight._C._is_alias_of(x, z)
    assert not rushlight._C._is_alias_of(x, x.t().reshape(3, 8))
    assert y.is_set_to(x[1:].t()) and not y.is_set_to(x[2:].t()) and not x.is_set_to(z)
    assert x.data_ptr() == y.data_ptr() == x.untyped_storage().data_ptr() == 0
    y.add_(1)
    assert x._version == 1


def test_a_storage_has_a_size_and_no_bytes():
    storage = rushlight.empty(4, 6, device="meta")[1:].untyped_storage()
    assert (storage.nbytes(), storage.device.type) == (96, "meta")
    assert storage.clone().nbytes() == 96 and not storage.clone()._is_of(storage)
    for call in (storage.tolist, lambda: storage[0], lambda: storage.fill_(0)):
        with pytest.raises(NotImplementedError, match="meta"):
            call()


def test_of_any_size():
    x = rushlight.empty(1 << 20, 1 << 20, 1 << 18, device="meta")
    assert x.transpose(0, 2).stride() == (1, 1 << 18, 1 << 38)
    assert x[-1:, -1].storage_offset() == ((1 << 40) - 1) << 18
    assert x.untyped_storage().nbytes() == 1 << 60
    with pytest.raises(RuntimeError, match="overflowed"):
        rushlight.empty(1 << 40, 1 << 40, device="meta")
    with pytest.raises(RuntimeError, match="out of bounds"):
        x[0, 0].as_strided((2,), (1,), 1 << 58)


def test_address_space_may_be_short(monkeypatch):
    make, page = meta_array.mmap.mmap, meta_array.mmap.PAGESIZE

    def refuse(number, size, *rest):
        if size > page:
            raise OSError("Cannot allocate memory")
        return make(number, size, *rest)

    monkeypatch.setattr(meta_array._Reserved, "memory", None)
    monkeypatch.setattr(meta_array._Reserved, "size", 0)
    monkeypatch.setattr(meta_array.mmap, "mmap", refuse)
    x = rushlight.empty(1 << 20, 1 << 20, device="meta")[1:].t()
    assert (x.stride(), x.storage_offset()) == ((1, 1 << 20), 1 << 20)
    assert x.untyped_storage().nbytes() == 1 << 42


def test_other_dtypes_take_no_memory():
    x = rushlight.empty(1 << 20, 1 << 20, dtype=rushlight.int8, device="meta")
    assert (x.t() + 0.5).stride() == (1, 1 << 20)
    assert rushlight.cat([x, x.double()]).shape == (1 << 21, 1 << 20)
    assert copy.deepcopy(x.t()).stride() == x.t().stride()
    assert x.t().reshape(-1).stride() == (1,)


def test_a_view_that_strides_cannot_express_is_refused():
    with pytest.raises(RuntimeError, match="not compatible"):
        rushlight.empty(4, 6, device="meta").t().view(24)


@pytest.mark.parametrize("kind", ["tensor", "parameter", "slice"])
def test_pickles_and_copies(kind):
    x = rushlight.empty(4, 3, device="meta").t()
    x = {"tensor": x, "parameter": nn.Parameter(x), "slice": x[1:]}[kind]
    loaded, copied = pickle.loads(pickle.dumps(x)), copy.deepcopy(x.detach())
    assert type(loaded) is type(x) and loaded.is_meta
    assert loaded.requires_grad == x.requires_grad
    assert (loaded.shape, loaded.stride(), loaded.dtype) == (x.shape, x.stride(), x.dtype)
    assert copied.stride() == ((1, 2) if kind == "slice" else x.stride())
    assert not copied.is_set_to(x)


def test_saved_and_loaded(tmp_path):
    x = rushlight.empty(4, 3, device="meta").t()
    rushlight.save({"x": x}, tmp_path / "x.pt")
    assert rushlight.load(tmp_path / "x.pt")["x"].stride() == (1, 3)
    y = rushlight.zeros(4, 6)
    rushlight.save([y, y[1:].t()], tmp_path / "y.pt")
    whole, part = rushlight.load(tmp_path / "y.pt", map_location="meta")
    assert (part.stride(), part.storage_offset()) == ((1, 6), 6)
    assert rushlight._C._is_alias_of(whole, part)


def test_models_keep_their_formats():
    with rushlight.device("meta"):
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)).to(
            memory_format=rushlight.channels_last
        )
    skipped = nn.utils.skip_init(nn.Conv2d, 3, 4, 3)
    real = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
    assert model[0].weight.stride() == (27, 1, 9, 3)
    assert copy.deepcopy(model)[0].weight.stride() == (27, 1, 9, 3)
    assert skipped.weight.stride() == (27, 9, 3, 1) and not skipped.weight.is_meta
    assert model.to_empty(device="cpu")[0].weight.stride() == (27, 1, 9, 3)
    with rushlight.device("meta"):
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
    model.load_state_dict(real.to(memory_format=rushlight.channels_last).state_dict(), assign=True)
    assert model[0].weight.is_set_to(real[0].weight) and model[0].weight.stride() == (27, 1, 9, 3)


def test_a_step_of_training_lays_gradients_out_as_on_the_cpu():
    found = []
    for device in ("cpu", "meta"):
        model = nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
        ).to(device, memory_format=rushlight.channels_last)
        x = _Tensors(rushlight, device).image(2, 3, 8, 8).requires_grad_()
        out = model(x)
        out.sum().backward()
        found.append([t.stride() for t in (out, x.grad, *(p.grad for p in model.parameters()))])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam"]
)
def test_optimizers_have_states_of_the_right_layout(name):
    found = []
    for device in ("cpu", "meta"):
        layer = nn.Conv2d(3, 4, 3).to(device, memory_format=rushlight.channels_last)
        options = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
        optimizer = getattr(rushlight.optim, name)(layer.parameters(), lr=0.1, **options)
        for _ in range(2):
            layer(rushlight.zeros(2, 3, 8, 8, device=device)).sum().backward()
            optimizer.step()
        state = optimizer.state[layer.weight]
        tensors = {k: v for k, v in state.items() if isinstance(v, rushlight.Tensor) and v.dim()}
        assert tensors and all(v.device.type == device for v in tensors.values())
        found.append({k: (v.shape, v.stride()) for k, v in tensors.items()})
    assert found[0] == found[1]


def test_there_is_no_memory_to_hand_out():
    x = rushlight.empty(3, device="meta")
    for call in (lambda: rushlight.from_dlpack(x), x.__dlpack__, x.__dlpack_device__):
        with pytest.raises(ValueError, match="Unknown device type meta"):
            call()
