"""Activations and losses of `nn.functional` at their limits: 0, 1, -1, infinities, nan, ties, the
smallest numbers, nothing at all. Values and gradients are PyTorch's. The functions and their
attributes come from the op registry and PyTorch's signatures."""

import inspect
import itertools

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")

INFINITY, NAN, TINY = float("inf"), float("nan"), 1e-45
LIMITS = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 3.0, -3.0, 6.0, 20.0, -20.0, 100.0, -100.0, 1e30, -1e30, TINY,
    -TINY, INFINITY, -INFINITY, NAN,
]  # fmt: skip
SHARES = [0.0, 1.0, 0.5, TINY, 1.0 - 2**-24, 1e-30]
ROWS = [
    [0.0, 0.0, 0.0], [1.0, 1.0, -1.0], [INFINITY, 0.0, 1.0], [-INFINITY, 0.0, 1.0],
    [-INFINITY, -INFINITY, 2.0], [-INFINITY] * 3, [100.0, -100.0, 100.0], [1e30, -1e30, 0.0],
    [NAN, 0.0, 1.0], [TINY, -TINY, 0.0],
]  # fmt: skip
REDUCTIONS = ("none", "sum", "mean")


# Where PyTorch's own result is nan though the function has a limit. Its gradients
# at nan differ between the vectors and the rest of one array: those of vectors are compared.
OURS_IS_RIGHT = [("gelu", "float32"), ("softsign", "float32"), ("softsign", "float64")]


def _activations():
    """Functions of one tensor whose other arguments have defaults, without in-place ones."""
    left_out = {
        "dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d", "dropout3d",
        "rrelu", "gumbel_softmax", "one_hot", "unfold", "normalize", "local_response_norm",
        "channel_shuffle", "upsample", "interpolate", "pixel_shuffle", "glu", "instance_norm",
        "rms_norm", "layer_norm", "softmax", "softmin", "log_softmax", "pad", "embedding",
    }  # fmt: skip
    for name in sorted(dir(torch.nn.functional)):
        ours = getattr(rushlight.nn.functional, name, None)
        theirs = getattr(torch.nn.functional, name)
        if name[0] == "_" or name[-1] == "_" or name in left_out or not callable(theirs):
            continue
        if ours is None or isinstance(theirs, type) or name.startswith(("has_torch", "boolean")):
            continue
        try:
            theirs(torch.tensor([0.5, 1.0]))
        except Exception:  # noqa: BLE001 - it needs more than one tensor
            continue
        yield name


def _losses():
    """Name -> (inputs, targets) for the functions with a `reduction` and a target."""
    numbers = list(itertools.product(LIMITS, LIMITS))
    pairs = [[a for a, _ in numbers], [b for _, b in numbers]]
    shares = [list(v) for v in zip(*itertools.product(SHARES, SHARES), strict=True)]
    logits = [list(v) for v in zip(*itertools.product(LIMITS, SHARES), strict=True)]
    signs = [(x, y) for x in LIMITS for y in (1.0, -1.0) if not x * y < -80]  # exp overflows there
    signs = [list(v) for v in zip(*signs, strict=True)]
    return {
        "binary_cross_entropy": shares, "binary_cross_entropy_with_logits": logits,
        "mse_loss": pairs, "l1_loss": pairs, "smooth_l1_loss": pairs, "huber_loss": pairs,
        "poisson_nll_loss": pairs, "kl_div": pairs, "soft_margin_loss": signs,
        "hinge_embedding_loss": signs, "multilabel_soft_margin_loss": [ROWS, [[1.0, 0, 1]] * 10],
        "cross_entropy": [ROWS, [0, 1, 2] * 3 + [0]], "nll_loss": [ROWS, [0, 1, 2] * 3 + [0]],
        "multi_margin_loss": [ROWS, [0, 1, 2] * 3 + [0]],
        "multilabel_margin_loss": [ROWS, [[0, 2, -1]] * 10],
    }  # fmt: skip


ROW_WISE = ["softmax", "log_softmax", "softmin", "normalize", "logsigmoid", "glu"]


def _run(library, call, *arrays, differentiable=3):
    """Values and gradients with respect to all floating arguments, in float64's NumPy."""
    tensors = [library.tensor(a) for a in arrays]
    for t in tensors[:differentiable]:
        t.requires_grad_(t.is_floating_point())
    out = call(library.nn.functional, *tensors)
    if not out.requires_grad:
        return [out.detach().numpy()]
    out.backward(library.ones_like(out))
    tracked = [t for t in tensors if t.requires_grad]
    return [out.detach().numpy(), *(None if t.grad is None else t.grad.numpy() for t in tracked)]


def _agree(call, *arrays, **options):
    try:
        theirs = _run(torch, call, *arrays, **options)
    except (RuntimeError, ValueError) as error:
        with pytest.raises(type(error)):
            _run(rushlight, call, *arrays, **options)
        return
    ours = _run(rushlight, call, *arrays, **options)
    assert len(ours) == len(theirs)
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        assert (a is None) == (b is None), i
        if b is not None:
            message = "value" if not i else f"gradient of argument {i}"
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5, err_msg=message)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", list(_activations()))
def test_activations(name, dtype):
    limits = [x for x in LIMITS if abs(x) != INFINITY or (name, dtype) not in OURS_IS_RIGHT]
    for given in (np.repeat(limits, 32), []):
        _agree(lambda F, x: getattr(F, name)(x), np.array(given, dtype))


@pytest.mark.parametrize(("name", "dtype"), OURS_IS_RIGHT)
def test_where_pytorch_is_wrong(name, dtype):
    """Each gives nan where the function has a limit: inf times erf's vector code, inf / inf."""
    x = rushlight.tensor([INFINITY], dtype=getattr(rushlight, dtype), requires_grad=True)
    out = getattr(rushlight.nn.functional, name)(x)
    assert out.isnan().item() == (name == "softsign")
    out.backward()
    assert name != "softsign" or x.grad.item() == 0.0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ROW_WISE)
def test_rows(name, dtype):
    options = {} if name == "logsigmoid" else {"dim": 1}
    for given in (ROWS, ROWS * 20, np.zeros((0, 4)), np.zeros((4, 0))):
        array = np.array(given, dtype)
        if name == "glu":
            array = np.concatenate([array, array[::-1]], 1)
        _agree(lambda F, x: getattr(F, name)(x, **options), array)


def _options(name):
    known = inspect.signature(getattr(torch.nn.functional, name)).parameters
    extra = [{}]
    for key, value in (("log_target", True), ("log_input", False), ("full", True), ("margin", 0.5),
                       ("label_smoothing", 0.1), ("beta", 0.0), ("p", 2)):  # fmt: skip
        if key in known:
            extra.append({key: value})
    return [{"reduction": r, **e} for r in REDUCTIONS for e in extra]


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", list(_losses()))
def test_losses(name, dtype):
    inputs, targets = (np.array(v) for v in _losses()[name])
    targets = targets.astype(dtype if targets.dtype.kind == "f" else np.int64)
    inputs = inputs.astype(dtype)
    tracked = 1 if name == "soft_margin_loss" else 2  # whose target has no gradient there
    for options in _options(name):
        # Of no rows PyTorch's two margin losses over classes read memory that nothing has written.
        none = () if "margin_loss" in name and name.startswith("multi") else (0,)
        for count in (len(inputs), *none):
            call = lambda F, x, y, o=options: getattr(F, name)(x, y, **o)  # noqa: E731
            _agree(call, inputs[:count], targets[:count], differentiable=tracked)
        if options["reduction"] != "none":  # each alone: a nan hides the others
            for i in range(len(inputs)):
                _agree(call, inputs[i : i + 1], targets[i : i + 1], differentiable=tracked)


TRIPLES = [[0.0, 0.0], [1.0, -1.0], [INFINITY, 0.0], [1e30, 1e30], [TINY, 0.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    "name", ["triplet_margin_loss", "margin_ranking_loss", "cosine_embedding_loss",
             "gaussian_nll_loss", "cosine_similarity", "pairwise_distance"],
)  # fmt: skip
def test_several_inputs(name):
    # Of infinite vectors both libraries' cosines and slopes are nan, each elsewhere.
    rows = [r for r in TRIPLES if INFINITY not in r or not name.startswith("cosine")]
    vectors = np.array(list(itertools.product(rows, rows)), np.float32)
    first, second = vectors[:, 0], vectors[:, 1]
    third = {
        "triplet_margin_loss": second[::-1].copy(), "gaussian_nll_loss": np.abs(second),
        "margin_ranking_loss": np.ones_like(first),
        "cosine_embedding_loss": np.where(np.arange(len(first)) % 2, 1, -1),
    }.get(name)  # fmt: skip
    given = (first, second) if third is None else (first, second, third)
    for i in range(len(first)):
        _agree(lambda F, *a: getattr(F, name)(*a), *(g[i : i + 1] for g in given))
    _agree(lambda F, *a: getattr(F, name)(*a), *(g[:0] for g in given))
