"""Forty checkpoints of different makings, each written here and read by PyTorch, and back."""

import collections
import io
import math

import numpy as np
import pytest

import rushlight
from rushlight import nn
from rushlight.serialization import safe_globals

torch = pytest.importorskip("torch")

DTYPES = (
    "float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128"
).split()


def _typed(library, name):
    values = library.arange(6).reshape(2, 3) % 2 if name == "bool" else library.arange(6) - 2
    return values.to(getattr(library, name))


def _stepped(name, **options):
    def make(library):
        library.manual_seed(1)
        model = library.nn.Linear(3, 2)
        optimizer = getattr(library.optim, name)(model.parameters(), lr=0.1, **options)
        for _ in range(2):
            optimizer.zero_grad()
            model(library.ones(4, 3)).sum().backward()
            optimizer.step()
        return {"optimizer": optimizer.state_dict(), "model": model.state_dict()}

    return make


def _scheduler(library):
    optimizer = library.optim.SGD([library.nn.Parameter(library.ones(1))], lr=0.5)
    scheduler = library.optim.lr_scheduler.StepLR(optimizer, 2)
    optimizer.step()
    scheduler.step()
    return {k: v for k, v in scheduler.state_dict().items() if not callable(v)}


def _model(*layers):
    return lambda library: library.nn.Sequential(
        *(getattr(library.nn, name)(*args) for name, *args in layers)
    ).state_dict()


def _tied(library):
    first = library.nn.Linear(3, 3)
    second = library.nn.Linear(3, 3)
    second.weight = first.weight
    return library.nn.Sequential(first, second).state_dict()


def _attributed(library):
    parameter = library.nn.Parameter(library.ones(2))
    parameter.tag = "weight decay"
    tensor = library.zeros(2)
    tensor.names_of_rows = ["a", "b"]
    return [parameter, tensor]


def _recursive(library):
    inner = [library.ones(2)]
    outer = {"a": inner, "b": inner}
    return outer


MAKINGS = {
    **{f"dtype {name}": (lambda library, name=name: _typed(library, name)) for name in DTYPES},
    "scalar": lambda library: library.tensor(2.5),
    "empty": lambda library: [library.zeros(0), library.zeros(0, 3), library.zeros(2, 0, 4)],
    "views": lambda library: (lambda x: [x, x[1], x[:, 1:3], x.t(), x.reshape(-1)[::2]])(
        library.arange(12.0).reshape(3, 4)
    ),
    "expanded": lambda library: library.arange(3.0).expand(4, 3),
    "channels last": lambda library: (
        library.arange(48.0).reshape(1, 3, 4, 4).contiguous(memory_format=library.channels_last)
    ),
    "large": lambda library: library.arange(300_000.0),
    "requires grad": lambda library: library.ones(3, requires_grad=True),
    "parameter": lambda library: library.nn.Parameter(library.ones(3), requires_grad=False),
    "attributes": _attributed,
    "conjugate": lambda library: library.tensor([1 + 2j, 3 - 1j]).conj(),
    "nested": lambda library: {"a": [(library.ones(1), {"b": library.zeros(2)})], 3: (1, 2)},
    "shared containers": _recursive,
    "ordered": lambda library: collections.OrderedDict(b=library.ones(1), a=2),
    "counter": lambda library: collections.Counter("abca"),
    "numbers": lambda library: [0, -1, 255, 65536, 2**40, -(2**70), 1.5, math.inf, 1e-300],
    "texts": lambda library: ["", "ascii", "üñí\U0001f600", "x" * 300, b"", b"\0\xff" * 200],
    "sets": lambda library: [{1, 2}, frozenset("ab"), set()],
    "others": lambda library: [None, True, False, 1 + 2j],
    "sizes": lambda library: [library.ones(2, 3).shape, library.Size([])],
    "devices": lambda library: [library.device("cpu"), library.float32, library.int8],
    "bytearray": lambda library: bytearray(b"abc"),
    "linear": _model(("Linear", 3, 2), ("ReLU",), ("Linear", 2, 1)),
    "convolutional": _model(("Conv2d", 1, 2, 3), ("BatchNorm2d", 2), ("Flatten",)),
    "recurrent": lambda library: library.nn.LSTM(3, 4, 2, bidirectional=True).state_dict(),
    "attention": lambda library: library.nn.TransformerEncoderLayer(8, 2, 16).state_dict(),
    "embedding": _model(("Embedding", 10, 4), ("LayerNorm", 4)),
    "tied": _tied,
    "sgd": _stepped("SGD", momentum=0.9),
    "adam": _stepped("Adam", amsgrad=True),
    "adamw": _stepped("AdamW"),
    "rmsprop": _stepped("RMSprop", centered=True),
    "adagrad": _stepped("Adagrad"),
    "scheduler": _scheduler,
    "random state": lambda library: library.get_rng_state(),
    "storages": lambda library: [
        library.arange(4.0).untyped_storage(),
        library.arange(3).storage(),
    ],
}


def _array(tensor):
    tensor = tensor.detach().resolve_conj() if hasattr(tensor, "resolve_conj") else tensor.detach()
    if str(tensor.dtype).endswith("bfloat16"):
        tensor = tensor.float()
    return tensor.numpy()


def same(ours, theirs):
    """Equality of what one library read with what the other has."""
    name = type(theirs).__name__
    if name in ("UntypedStorage", "TypedStorage", "Storage"):
        assert list(_storage_bytes(ours)) == list(_storage_bytes(theirs))
    elif hasattr(theirs, "requires_grad"):
        assert type(ours).__name__ == name
        assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
        assert tuple(ours.stride()) == tuple(theirs.stride())
        assert tuple(ours.shape) == tuple(theirs.shape)
        assert ours.requires_grad == theirs.requires_grad
        np.testing.assert_allclose(_array(ours), _array(theirs), rtol=1e-4, atol=1e-5)
        free = {k: v for k, v in theirs.__dict__.items() if not k.startswith("_")}
        assert {k: v for k, v in ours.__dict__.items() if not k.startswith("_")} == free
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs) and type(ours) is type(theirs)
        for key in theirs:
            same(ours[key], theirs[key])
    elif name in ("Size", "device", "dtype"):
        assert str(ours).replace("rushlight.", "torch.") == str(theirs).replace(
            "rushlight.", "torch."
        )
    elif isinstance(theirs, (list, tuple)):
        assert type(ours) is type(theirs) and len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
    else:
        assert type(ours) is type(theirs) and ours == theirs


def _storage_bytes(storage):
    if hasattr(storage, "array"):
        return bytes(storage.array.view(np.uint8).reshape(-1))
    return storage.tolist()


def through(saver, loader, value, **options):
    buffer = io.BytesIO()
    saver.save(value, buffer)
    buffer.seek(0)
    return loader.load(buffer, **options)


def test_there_are_forty_makings():
    assert len(MAKINGS) >= 40


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("name", MAKINGS)
def test_two_ways(name):
    """Values of each library, saved by it, read by the other and by itself."""
    ours, theirs = MAKINGS[name](rushlight), MAKINGS[name](torch)
    if "random" in name:  # the states of two generators, each its own
        theirs = torch.from_numpy(ours.numpy().copy())
    same(through(torch, rushlight, theirs), theirs)
    # PyTorch trusts no file with a frozenset, or with bytes that are empty.
    same(through(rushlight, torch, ours, weights_only=name not in ("sets", "texts")), ours)
    same(through(rushlight, rushlight, ours), ours)


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("name", [n for n in MAKINGS if n not in ("conjugate", "storages")])
def test_the_format_from_before_version_16(name):
    theirs = MAKINGS[name](torch)
    buffer = io.BytesIO()
    torch.save(theirs, buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    same(rushlight.load(buffer), theirs)


def test_shared_memory_is_shared_again_in_the_old_format():
    base = torch.zeros(6)
    buffer = io.BytesIO()
    torch.save([base, base[2:4]], buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    whole, part = rushlight.load(buffer)
    whole.fill_(3.0)
    assert part.tolist() == [3.0, 3.0]


LAYERS = {
    "linear": (lambda n: n.Sequential(n.Linear(4, 3), n.ReLU(), n.LayerNorm(3)), (2, 4)),
    "convolution": (
        lambda n: n.Sequential(n.Conv2d(1, 2, 3, padding="same"), n.BatchNorm2d(2), n.MaxPool2d(2)),
        (1, 1, 4, 4),
    ),
    "circular": (lambda n: n.Conv1d(2, 3, 3, padding=1, padding_mode="circular"), (1, 2, 5)),
    "lstm": (lambda n: n.LSTM(3, 4, 2, bidirectional=True), (5, 1, 3)),
    "gru": (lambda n: n.GRU(3, 4, bias=False), (5, 1, 3)),
    "attention": (lambda n: n.TransformerEncoderLayer(8, 2, 16, batch_first=True), (1, 3, 8)),
}


def _first(value):
    return value[0] if isinstance(value, tuple) else value


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("name", LAYERS)
def test_whole_modules_go_both_ways(name):
    """A module pickled whole is the other library's module, and computes the same."""
    make, shape = LAYERS[name]
    values = np.random.default_rng(0).standard_normal(shape).astype("float32")
    for saver, loader in ((torch, rushlight), (rushlight, torch)):
        model = make(saver.nn).eval()
        loaded = through(saver, loader, model, weights_only=False)
        assert isinstance(loaded, loader.nn.Module)
        expected = _first(model(saver.from_numpy(values))).detach().numpy()
        got = _first(loaded(loader.from_numpy(values))).detach().numpy()
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_torchs_modules_need_our_classes_allowed():
    buffer = io.BytesIO()
    torch.save(torch.nn.Linear(2, 2), buffer)
    buffer.seek(0)
    with pytest.raises(Exception, match=r"uses the global torch.nn.modules.linear.Linear"):
        rushlight.load(buffer)
    buffer.seek(0)
    with safe_globals([nn.Linear]):
        assert isinstance(rushlight.load(buffer), nn.Linear)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_whole_optimizers_are_read(name):
    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = getattr(torch.optim, name)([parameter], lr=0.5)
    parameter.sum().backward()
    optimizer.step()
    loaded = through(torch, rushlight, optimizer, weights_only=False)
    assert type(loaded) is getattr(rushlight.optim, name)
    assert loaded.param_groups[0]["lr"] == 0.5
    same(loaded.param_groups[0]["params"][0], parameter)


def test_foreign_dtypes_are_refused_by_name():
    buffer = io.BytesIO()
    torch.save(torch.zeros(2, dtype=torch.uint8).view(torch.float4_e2m1fn_x2), buffer)
    buffer.seek(0)
    with pytest.raises(Exception, match="dtype torch.float4_e2m1fn_x2, which Rushlight does not"):
        rushlight.load(buffer)


def test_meta_tensors_keep_shape_and_dtype():
    theirs = torch.ones(2, 3, dtype=torch.int16, device="meta")
    ours = through(torch, rushlight, theirs)
    assert ours.device.type == "meta" and ours.shape == (2, 3) and ours.dtype is rushlight.int16
    back = through(rushlight, torch, ours)
    assert back.device.type == "meta" and back.shape == (2, 3)
