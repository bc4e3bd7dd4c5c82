"""What nodes keep of their calls: `_saved_` attributes, their names and values, against PyTorch."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import rushlight
from rushlight.testing.ops import _oracled, _ours, _theirs, is_differentiable
from rushlight.testing.samples import samples_of
from rushlight.utils._pytree import tree_leaves, tree_map

torch = pytest.importorskip("torch")
LIBRARIES = (rushlight, torch)
_X, _Y = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("f")

# Calls whose last node is PyTorch's, by what they are of.
PROGRAMS = {
    "mul": lambda lib, x, y: x * y,
    "mul_number": lambda lib, x, y: x * 2,
    "mul_one": lambda lib, x, y: x * y.detach(),
    "add": lambda lib, x, y: lib.add(x, y, alpha=2),
    "add1": lambda lib, x, y: x + 1,
    "sub": lambda lib, x, y: x - y,
    "rsub": lambda lib, x, y: 1 - x,
    "div": lambda lib, x, y: x / y,
    "div_number": lambda lib, x, y: x / 2,
    "div_mode": lambda lib, x, y: lib.div(x, y, rounding_mode="floor"),
    "neg": lambda lib, x, y: -x,
    "mm": lambda lib, x, y: x @ y.t(),
    "bmm": lambda lib, x, y: lib.bmm(x[None], y.t()[None]),
    "mv": lambda lib, x, y: lib.mv(x, y[0]),
    "dot": lambda lib, x, y: lib.dot(x[0], y[0]),
    "linear": lambda lib, x, y: lib.nn.functional.linear(x, y, lib.ones(3, requires_grad=True)),
    "sum": lambda lib, x, y: x.sum(),
    "sum_dim": lambda lib, x, y: x.sum(1),
    "sum_keep": lambda lib, x, y: x.sum((0, -1), True),
    "mean": lambda lib, x, y: x.mean(),
    "mean_dim": lambda lib, x, y: x.mean(-1, keepdim=True),
    "view": lambda lib, x, y: x.view(-1),
    "reshape": lambda lib, x, y: x.reshape(4, 3),
    "flatten": lambda lib, x, y: x.flatten(),
    "t": lambda lib, x, y: x.t(),
    "transpose": lambda lib, x, y: x.transpose(0, -1),
    "permute": lambda lib, x, y: x.permute(1, 0),
    "unsqueeze": lambda lib, x, y: x.unsqueeze(-1),
    "squeeze": lambda lib, x, y: x[None].squeeze(),
    "squeeze_dim": lambda lib, x, y: x[None].squeeze(0),
    "expand": lambda lib, x, y: x.expand(2, 3, 4),
    "repeat": lambda lib, x, y: x.repeat(2, 1),
    "clone": lambda lib, x, y: x.clone(),
    "contiguous": lambda lib, x, y: x.t().contiguous(),
    "to": lambda lib, x, y: x.to(lib.float64),
    "unfold": lambda lib, x, y: x.unfold(1, 2, 1),
    "diagonal": lambda lib, x, y: x.diagonal(),
    "narrow": lambda lib, x, y: x.narrow(1, 0, 2),
    "view_as": lambda lib, x, y: x.view_as(y),
    "flip": lambda lib, x, y: x.flip(-1),
    "roll": lambda lib, x, y: x.roll(1, 0),
    "tril": lambda lib, x, y: x.tril(),
    "triu": lambda lib, x, y: x.triu(1),
    "softmax": lambda lib, x, y: x.softmax(-1),
    "log_softmax": lambda lib, x, y: x.log_softmax(1),
    "nll": lambda lib, x, y: lib.nn.functional.nll_loss(x, lib.tensor([0, 1, 2])),
    "cross_entropy": lambda lib, x, y: lib.nn.functional.cross_entropy(x, lib.tensor([0, 1, 2])),
    "mse": lambda lib, x, y: lib.nn.functional.mse_loss(x, y),
    "l1": lambda lib, x, y: lib.nn.functional.l1_loss(x, y),
    "conv2d": lambda lib, x, y: lib.nn.functional.conv2d(
        x[None, None], y[None, None, :2, :2], lib.ones(1, requires_grad=True), padding=1
    ),
    "conv1d": lambda lib, x, y: lib.nn.functional.conv1d(x[None], y[None, :, :2]),
    "conv_t": lambda lib, x, y: lib.nn.functional.conv_transpose2d(
        x[None, None], y[None, None, :2, :2]
    ),
    "batch_norm": lambda lib, x, y: lib.nn.functional.batch_norm(
        x,
        None,
        None,
        lib.ones(4, requires_grad=True),
        lib.zeros(4, requires_grad=True),
        training=True,
    ),
    "batch_norm_eval": lambda lib, x, y: lib.nn.functional.batch_norm(
        x,
        lib.zeros(4),
        lib.ones(4),
        lib.ones(4, requires_grad=True),
        lib.zeros(4, requires_grad=True),
    ),
    "layer_norm": lambda lib, x, y: lib.nn.functional.layer_norm(
        x, (4,), lib.ones(4, requires_grad=True), lib.zeros(4, requires_grad=True)
    ),
    "group_norm": lambda lib, x, y: lib.nn.functional.group_norm(
        x, 2, lib.ones(4, requires_grad=True), lib.zeros(4, requires_grad=True)
    ),
    "embedding": lambda lib, x, y: lib.nn.functional.embedding(
        lib.tensor([[0, 2]]), x, padding_idx=1
    ),
    "relu": lambda lib, x, y: x.relu(),
    "gelu": lambda lib, x, y: lib.nn.functional.gelu(x),
    "silu": lambda lib, x, y: lib.nn.functional.silu(x),
    "mish": lambda lib, x, y: lib.nn.functional.mish(x),
    "sigmoid": lambda lib, x, y: x.sigmoid(),
    "tanh": lambda lib, x, y: x.tanh(),
    "exp": lambda lib, x, y: x.exp(),
    "log": lambda lib, x, y: x.abs().log(),
    "log1p": lambda lib, x, y: x.log1p(),
    "sqrt": lambda lib, x, y: x.abs().sqrt(),
    "rsqrt": lambda lib, x, y: x.abs().rsqrt(),
    "pow": lambda lib, x, y: x**2,
    "pow_t": lambda lib, x, y: x.abs() ** y,
    "rpow": lambda lib, x, y: 2**x,
    "abs": lambda lib, x, y: x.abs(),
    "sin": lambda lib, x, y: x.sin(),
    "cos": lambda lib, x, y: x.cos(),
    "square": lambda lib, x, y: x.square(),
    "reciprocal": lambda lib, x, y: x.reciprocal(),
    "erf": lambda lib, x, y: x.erf(),
    "clamp": lambda lib, x, y: x.clamp(-1, 1),
    "clamp_min": lambda lib, x, y: x.clamp(min=0),
    "maximum": lambda lib, x, y: lib.maximum(x, y),
    "minimum": lambda lib, x, y: lib.minimum(x, y),
    "leaky": lambda lib, x, y: lib.nn.functional.leaky_relu(x, 0.1),
    "elu": lambda lib, x, y: lib.nn.functional.elu(x),
    "selu": lambda lib, x, y: lib.nn.functional.selu(x),
    "softplus": lambda lib, x, y: lib.nn.functional.softplus(x),
    "hardtanh": lambda lib, x, y: lib.nn.functional.hardtanh(x),
    "relu6": lambda lib, x, y: lib.nn.functional.relu6(x),
    "hardswish": lambda lib, x, y: lib.nn.functional.hardswish(x),
    "hardsigmoid": lambda lib, x, y: lib.nn.functional.hardsigmoid(x),
    "prelu": lambda lib, x, y: lib.nn.functional.prelu(x, lib.ones(1, requires_grad=True)),
    "logsigmoid": lambda lib, x, y: lib.nn.functional.logsigmoid(x),
    "max_pool2d": lambda lib, x, y: lib.nn.functional.max_pool2d(x[None, None], 2, 2),
    "avg_pool2d": lambda lib, x, y: lib.nn.functional.avg_pool2d(x[None, None], 2, 2),
    "adaptive": lambda lib, x, y: lib.nn.functional.adaptive_avg_pool2d(x[None, None], 2),
    "dropout": lambda lib, x, y: lib.nn.functional.dropout(x, 0.5),
    "cat": lambda lib, x, y: lib.cat([x, y], 1),
    "stack": lambda lib, x, y: lib.stack([x, y], -1),
    "slice": lambda lib, x, y: x[1:2],
    "slice2": lambda lib, x, y: x[:, 1:3],
    "select": lambda lib, x, y: x[0],
    "index": lambda lib, x, y: x[lib.tensor([0, 1])],
    "index_select": lambda lib, x, y: x.index_select(1, lib.tensor([0, 1])),
    "gather": lambda lib, x, y: x.gather(1, lib.tensor([[0], [1], [2]])),
    "split": lambda lib, x, y: x.split(2, 1)[1],
    "split_sizes": lambda lib, x, y: x.split([1, 3], 1)[1],
    "chunk": lambda lib, x, y: x.chunk(2, 1)[0],
    "unbind": lambda lib, x, y: x.unbind(0)[1],
    "where": lambda lib, x, y: lib.where(x > 0, x, y),
    "masked_fill": lambda lib, x, y: x.masked_fill(x > 0, 0.0),
    "masked_select": lambda lib, x, y: x.masked_select(x > 0),
    "scatter": lambda lib, x, y: x.scatter(1, lib.tensor([[0], [1], [2]]), y),
    "scatter_add": lambda lib, x, y: x.scatter_add(1, lib.tensor([[0], [1], [2]]), y),
    "index_add": lambda lib, x, y: x.index_add(0, lib.tensor([0, 1, 2]), y),
    "max": lambda lib, x, y: x.max(),
    "max_dim": lambda lib, x, y: x.max(1)[0],
    "min_dim": lambda lib, x, y: x.min(1, True)[0],
    "amax": lambda lib, x, y: x.amax(1),
    "topk": lambda lib, x, y: x.topk(2)[0],
    "sort": lambda lib, x, y: x.sort()[0],
    "cumsum": lambda lib, x, y: x.cumsum(1),
    "cumprod": lambda lib, x, y: x.cumprod(1),
    "prod": lambda lib, x, y: x.prod(),
    "logsumexp": lambda lib, x, y: x.logsumexp(1),
    "norm": lambda lib, x, y: x.norm(),
    "norm_dim": lambda lib, x, y: x.norm(dim=1),
    "vnorm": lambda lib, x, y: lib.linalg.vector_norm(x, dim=1),
    "var": lambda lib, x, y: x.var(1),
    "normalize": lambda lib, x, y: lib.nn.functional.normalize(x),
    "lerp": lambda lib, x, y: lib.lerp(x, y, 0.3),
    "addcmul": lambda lib, x, y: lib.addcmul(x, x, y, value=2),
    "addcdiv": lambda lib, x, y: lib.addcdiv(x, x, y, value=2),
    "pad": lambda lib, x, y: lib.nn.functional.pad(x, (1, 1)),
    "pad_r": lambda lib, x, y: lib.nn.functional.pad(x[None], (1, 1), mode="reflect"),
    "sdpa": lambda lib, x, y: lib.nn.functional.scaled_dot_product_attention(
        x[None, None], y[None, None], y[None, None]
    ),
    "grid": lambda lib, x, y: lib.nn.functional.grid_sample(
        x[None, None], y.reshape(1, 2, 3, 2), align_corners=False
    ),
    "cosine": lambda lib, x, y: lib.cosine_similarity(x, y),
    "cdist": lambda lib, x, y: lib.cdist(x, y),
    "pixel_shuffle": lambda lib, x, y: lib.nn.functional.pixel_shuffle(x.reshape(1, 4, 3, 1), 2),
    "detach": lambda lib, x, y: (x * 1).detach() * x,
    "complex": lambda lib, x, y: lib.view_as_real(x.to(lib.complex64)),
    "inverse": lambda lib, x, y: lib.linalg.inv(x[:, :3]),
    "det": lambda lib, x, y: lib.linalg.det(x[:, :3]),
    "solve": lambda lib, x, y: lib.linalg.solve(x[:, :3], y),
    "cholesky": lambda lib, x, y: lib.linalg.cholesky(x @ x.t() + lib.eye(3)),
    "svd": lambda lib, x, y: lib.linalg.svd(x)[1],
    "qr": lambda lib, x, y: lib.linalg.qr(x)[0],
    "eigh": lambda lib, x, y: lib.linalg.eigh(x @ x.t())[0],
    "atan2": lambda lib, x, y: lib.atan2(x, y),
    "sign": lambda lib, x, y: x.sign(),
    "floor": lambda lib, x, y: x.floor(),
    "round": lambda lib, x, y: x.round(),
    "remainder": lambda lib, x, y: x % 2,
    "tan": lambda lib, x, y: x.tan(),
    "sinh": lambda lib, x, y: x.sinh(),
    "acos": lambda lib, x, y: x.clamp(-0.5, 0.5).acos(),
    "as_strided": lambda lib, x, y: x.as_strided((2, 2), (1, 1)),
    "fft": lambda lib, x, y: lib.fft.rfft(x),
    "std": lambda lib, x, y: x.std(0),
    "std_dim": lambda lib, x, y: x.std(1, keepdim=True),
    "interpolate": lambda lib, x, y: lib.nn.functional.interpolate(x[None], scale_factor=2),
    "interpolate_bicubic": lambda lib, x, y: lib.nn.functional.interpolate(
        x[None, None], size=(5, 3), mode="bicubic", antialias=True, align_corners=True
    ),
    "interpolate_trilinear": lambda lib, x, y: lib.nn.functional.interpolate(
        x[None, None, None], scale_factor=(1, 2, 1.5), mode="trilinear"
    ),
    "channel_shuffle": lambda lib, x, y: lib.nn.functional.channel_shuffle(x.reshape(1, 4, 3), 2),
    "trace": lambda lib, x, y: x.trace(),
    "diag": lambda lib, x, y: lib.diag(x[0]),
    "outer": lambda lib, x, y: lib.outer(x[0], y[0]),
    "cross": lambda lib, x, y: lib.linalg.cross(x[:, :3], y[:, :3]),
}

# What PyTorch keeps of these as well, and is not kept here; the table may only become smaller.
NOT_KEPT = {
    "div_mode": "other self",
    "nll": "self total_weight",
    "cross_entropy": "self",
    "batch_norm": "running_mean running_var",
    "logsigmoid": "buffer",
    "max_pool2d": "self",
    "avg_pool2d": "self",
    "adaptive": "self",
    "gather": "self",
    "masked_select": "self",
    "index_add": "source",
    "prod": "result",
    "pad_r": "self",
    "sdpa": "scale",
    "det": "LU pivots",
    "solve": "LU pivots",
    "as_strided": "storage_offset",
    "fft": "normalization self",
}  # fmt: skip
_OF_ANY_SIGN = {"Q", "R", "U", "Vh", "eigenvectors"}  # which LAPACKs give either way


def _node(lib, name):
    lib.manual_seed(0)
    x, y = (lib.tensor(array.tolist(), requires_grad=True) for array in (_X, _Y))
    return PROGRAMS[name](lib, x, y).grad_fn


def _plain(value, lib):
    """A value without a library: tensors as arrays, dtypes by their names."""
    if isinstance(value, lib.Tensor):
        return value.detach().numpy()
    if isinstance(value, tuple):
        return tuple(_plain(item, lib) for item in value)
    assert value is None or isinstance(value, (bool, int, float, str))
    return value


def _kept(lib, name):
    node = _node(lib, name)
    return type(node).__name__, {
        key[7:]: _plain(getattr(node, key), lib) for key in dir(node) if key.startswith("_saved_")
    }


def _assert_equal(ours, theirs, signs):
    assert isinstance(ours, np.ndarray) == isinstance(theirs, np.ndarray)
    assert isinstance(ours, tuple) == isinstance(theirs, tuple)
    if isinstance(theirs, tuple):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            _assert_equal(a, b, signs)
    elif isinstance(theirs, np.ndarray):
        assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
        a, b = (ours, theirs) if signs else (abs(ours), abs(theirs))
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=1e-6)
    else:
        assert ours == theirs and isinstance(ours, bool) == isinstance(theirs, bool)


@pytest.mark.parametrize("name", PROGRAMS)
def test_names_and_values_are_pytorchs(name):
    (word, ours), (expected, theirs) = (_kept(lib, name) for lib in LIBRARIES)
    assert word == expected
    assert set(theirs) - set(ours) == set(NOT_KEPT.get(name, "").split())
    for key, value in ours.items():
        _assert_equal(value, theirs[key], key not in _OF_ANY_SIGN)


# Ops whose nodes keep something under PyTorch's name with another value: windows whose `stride`
# was left to be their size, a `correction` that was not given, composites that go by another
# dimension, vectors of any sign.
OTHERWISE = set(
    """
    max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d
    adaptive_max_pool1d var std vander linalg_vecdot istft pca_lowrank svd_lowrank
""".split()
)


def _leaf(value):
    found = value.detach().clone()
    return found.requires_grad_() if found.is_floating_point() else found


def _ours_of(value):
    return _leaf(value) if isinstance(value, rushlight.Tensor) else value


def _theirs_of(value):
    if not isinstance(value, rushlight.Tensor):
        return value
    return _leaf(torch.from_numpy(value.detach().numpy().copy()))


def _first_node(results, kind):
    nodes = [value.grad_fn for value in tree_leaves(results) if isinstance(value, kind)]
    return next((node for node in nodes if node is not None), None)


def _last_nodes(op):
    """The nodes of the first sample of an op by both packages, where they are called the same."""
    for args, kwargs in samples_of(op, rushlight.float32)[:1]:
        given = tuple(args), dict(kwargs)
        try:
            (ours, named), (theirs, by_name) = (
                tree_map(convert, given) for convert in (_ours_of, _theirs_of)
            )
            found, expected = _ours(op)(*ours, **named), _theirs(op)(*theirs, **by_name)
        except (RuntimeError, TypeError, ValueError, IndexError):
            continue  # not of float32
        expected = list(expected) if isinstance(expected, (list, tuple)) else expected
        node, other = _first_node(found, rushlight.Tensor), _first_node(expected, torch.Tensor)
        if node is not None and other is not None and node.name() == other.name():
            return node, other
    return None


def test_nothing_is_kept_under_another_name_over_the_table_of_ops():
    """Each name that `dir` gives can be read; PyTorch has it, and with this value."""
    wrong, read = set(), 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in _oracled():
            nodes = _last_nodes(op) if is_differentiable(op) else None
            if nodes is None:
                continue
            for name in [name for name in dir(nodes[0]) if name.startswith("_saved_")]:
                value, read = _plain(getattr(nodes[0], name), rushlight), read + 1
                try:
                    other = _plain(getattr(nodes[1], name), torch)
                    _assert_equal(value, other, name[7:] not in _OF_ANY_SIGN)
                except (AssertionError, AttributeError):
                    wrong.add(op.name)
    assert wrong <= OTHERWISE and read > 400, (wrong - OTHERWISE, read)


def test_tensors_are_gone_after_backward_and_numbers_are_not():
    for lib in LIBRARIES:
        x = lib.ones(2, 3, requires_grad=True)
        y = x.softmax(-1)
        node = y.grad_fn
        assert "_raw_saved_result" in dir(node) and "_raw_saved_dim" not in dir(node)
        y.sum().backward()
        assert node._saved_dim == 2**64 - 1
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            node._saved_result  # noqa: B018
        with pytest.raises(AttributeError, match="no attribute '_saved_nothing'"):
            node._saved_nothing  # noqa: B018


def test_the_tensor_that_was_given_is_kept():
    for lib in LIBRARIES:
        x, y = lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)
        node = (x * y).grad_fn
        assert node._saved_self is x and node._saved_other is y
        assert lib.atan2(x, y.detach()).grad_fn._saved_self is not None
