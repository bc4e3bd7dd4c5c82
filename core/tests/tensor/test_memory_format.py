"""Memory formats: strides as PyTorch gives them, values untouched."""

import copy
import pickle

import pytest

import rushlight

FORMATS = ("channels_last", "channels_last_3d")


def _calls(lib, shape, name):
    chosen, f = getattr(lib, name), lib.nn.functional
    x = lib.arange(float(lib.zeros(shape).numel())).reshape(shape)
    c = x.contiguous(memory_format=chosen)
    pool = f.max_pool2d if len(shape) == 4 else f.max_pool3d
    mean = f.avg_pool2d if len(shape) == 4 else f.avg_pool3d
    kind = "2d" if len(shape) == 4 else "3d"
    conv, norm = getattr(lib.nn, "Conv" + kind)(3, 4, 2), getattr(lib.nn, "BatchNorm" + kind)(3)
    results = [
        c, x.to(memory_format=chosen), x.clone(memory_format=chosen), x.double().clone(), c.clone(),
        c.clone(memory_format=lib.contiguous_format), c * 2, c + x, c.double(), c.relu(),
        lib.empty_like(c), lib.zeros_like(c), lib.ones_like(x, memory_format=chosen),
        lib.full_like(c, 3.0), lib.rand_like(c), lib.empty(shape, memory_format=chosen),
        lib.zeros_like(c, memory_format=lib.contiguous_format), lib.cat([c, c], 1), c.sum(1),
        pool(c, 2), mean(c, 2), norm(c), conv(c), f.pad(c, (1, 1)), x.contiguous(),
        c.detach().cpu(), conv.to(memory_format=chosen).weight, conv.bias, x[:, :1].contiguous(),
    ]  # fmt: skip
    return results, [
        c.is_contiguous(), c.is_contiguous(memory_format=chosen), x.is_contiguous(),
        x.is_contiguous(memory_format=chosen),
    ]  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_strides_are_pytorchs(name):
    torch = pytest.importorskip("torch")
    shape = (2, 3, 4, 5) if name == "channels_last" else (2, 3, 4, 5, 6)
    (ours, flags), (theirs, expected) = (_calls(lib, shape, name) for lib in (rushlight, torch))
    assert flags == expected
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        assert (tuple(a.shape), a.stride()) == (tuple(b.shape), b.stride()), i


def test_values_do_not_move():
    x = rushlight.arange(120.0).reshape(2, 3, 4, 5)
    c = x.contiguous(memory_format=rushlight.channels_last)
    assert rushlight.equal(c, x) and not c.is_contiguous()
    assert c.contiguous(memory_format=rushlight.channels_last) is c
    assert rushlight.equal(c.contiguous(), x) and c.contiguous().is_contiguous()
    x.requires_grad_()
    x.contiguous(memory_format=rushlight.channels_last).square().sum().backward()
    assert rushlight.equal(x.grad, 2 * x.detach())


def test_the_formats_are_single_objects():
    for name in (*FORMATS, "contiguous_format", "preserve_format"):
        chosen = getattr(rushlight, name)
        assert repr(chosen) == "rushlight." + name and isinstance(chosen, rushlight.memory_format)
        assert pickle.loads(pickle.dumps(chosen)) is chosen and copy.deepcopy(chosen) is chosen


def test_refusals():
    x = rushlight.zeros(2, 3)
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last"):
        x.contiguous(memory_format=rushlight.channels_last)
    with pytest.raises(RuntimeError, match="preserve memory format is unsupported"):
        x.t().contiguous(memory_format=rushlight.preserve_format)
    with pytest.raises(TypeError, match="must be rushlight.memory_format, not str"):
        x.clone(memory_format="channels_last")


def _joined(lib):
    plain = lib.arange(120.0).reshape(2, 3, 4, 5)
    last, turned = plain.to(memory_format=lib.channels_last), plain.transpose(1, 2)
    rows = lib.arange(120.0).reshape(4, 6, 5).transpose(1, 2)
    return [
        lib.cat([last, last], 1), lib.cat([last, plain], 1), lib.cat([plain, last], 0),
        lib.cat([turned, turned], 3), lib.stack([last, last], 1), lib.stack([last, last], 0),
        lib.stack([last, last], 4), lib.stack([turned, turned]), lib.cat([last.double(), last], 1),
        lib.cat([plain.permute(3, 2, 1, 0)] * 2, 0), lib.vstack([last, last]),
        lib.cat([last[:, :1], last[:, 1:]], 1), lib.cat([rows[:, :1], rows], 1),
        lib.stack([rows, rows], -1), lib.hstack([rows, rows]),
    ]  # fmt: skip


def test_joined_tensors_lie_as_pytorchs():
    """By rows, whatever the order of the parts, or channels last where all of them are."""
    torch = pytest.importorskip("torch")
    for ours, theirs in zip(_joined(rushlight), _joined(torch), strict=True):
        assert ours.stride() == theirs.stride()
        assert ours.tolist() == theirs.tolist()


def _reduced(lib):
    x = lib.arange(60.0).reshape(3, 4, 5).transpose(0, 2)
    mask = x > 30
    return [
        x.sum(0), x.sum(2, True), x.mean(1), x.amax(1), x.amin(0), x.max(1)[0], x.max(1)[1],
        x.argmax(2), x.prod(1), x.norm(dim=1), x.std(1), x.var(0), x.logsumexp(1), mask.any(1),
        mask.all(0), mask.count_nonzero(1), x.cumsum(1), x.cumprod(0), x.cummax(1)[0],
        x.logcumsumexp(1), x.roll(1, 1), lib.trapezoid(x, dim=1), x.tile(2, 1, 1),
    ]  # fmt: skip


def test_reduced_tensors_lie_by_rows():
    """So that `view` works on what is reduced from a transposed tensor, as in PyTorch."""
    torch = pytest.importorskip("torch")
    for ours, theirs in zip(_reduced(rushlight), _reduced(torch), strict=True):
        assert ours.stride() == theirs.stride()
        assert ours.view(-1).shape == theirs.view(-1).shape


def one_channel(lib):
    """Strides of images of one channel, and of layers over them, where both formats are open."""
    x, layers = lib.zeros(2, 1, 5, 5), lib.nn
    last = x.to(memory_format=lib.channels_last)
    conv = layers.Conv2d(1, 8, 3).to(memory_format=lib.channels_last)
    wide = layers.Conv2d(4, 8, 1).to(memory_format=lib.channels_last)
    made = [
        last, x.contiguous(memory_format=lib.channels_last),
        last.to(memory_format=lib.channels_last), last.to(memory_format=lib.contiguous_format),
        lib.zeros(2, 4, 1, 1).to(memory_format=lib.channels_last),
        conv.weight, conv(x), conv(last), layers.Conv2d(1, 8, 3)(last), layers.Conv2d(1, 8, 3)(x),
        conv(x).relu(), layers.BatchNorm2d(1)(last), layers.BatchNorm2d(8)(conv(x)),
        wide(lib.zeros(2, 4, 5, 5)), wide.weight, layers.functional.avg_pool2d(last, 2),
        lib.zeros(1, 1, 2, 3, 4).to(memory_format=lib.channels_last_3d),
    ]  # fmt: skip
    made += [last.double(), last.clone(), lib.empty_like(last), layers.Parameter(last)]
    return [each.stride() for each in made]


def test_strides_of_one_channel_are_pytorchs():
    torch = pytest.importorskip("torch")
    assert one_channel(rushlight) == one_channel(torch)
    assert one_channel(rushlight)[:2] == [(25, 1, 5, 1), (25, 25, 5, 1)]
