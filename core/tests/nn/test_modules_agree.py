"""Every module against PyTorch's: one table, the same questions for each row.

Same seed, same state dict (bitwise); same repr; state dicts load both ways; outputs and gradients
agree in training and evaluation; deepcopy and pickle keep the outputs; the meta device builds it.
"""

import copy
import pickle
import warnings

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")


def floats(*shape):
    return ("float", shape)


def classes(high, *shape):
    return ("int", high, shape)


def signs(*shape):
    return ("sign", shape)


def shares(*shape):
    return ("share", shape)


def mask(*shape):
    return ("mask", shape)


IMAGE, SEQUENCE, VOLUME = floats(2, 4, 7, 6), floats(2, 4, 9), floats(2, 4, 5, 4, 6)
# (class, arguments, keyword arguments, inputs of forward)
TABLE = [
    ("Linear", (5, 3), {}, [floats(4, 5)]),
    ("Linear", (5, 3), {"bias": False, "dtype": "float64"}, [("double", (2, 4, 5))]),
    ("Bilinear", (5, 4, 3), {}, [floats(6, 5), floats(6, 4)]),
    ("Identity", (1,), {"unused": 2}, [floats(3)]),
    ("Flatten", (), {}, [IMAGE]),
    ("Flatten", (0, 1), {}, [IMAGE]),
    ("Unflatten", (1, (2, 2)), {}, [IMAGE]),
    ("Conv1d", (4, 6, 3), {"stride": 2, "padding": 1, "dilation": 2}, [SEQUENCE]),
    ("Conv1d", (4, 6, 3), {"padding": "same", "padding_mode": "circular"}, [SEQUENCE]),
    ("Conv2d", (4, 6, (3, 2)), {"padding": (1, 0), "groups": 2}, [IMAGE]),
    ("Conv2d", (4, 6, 3), {"padding": 1, "padding_mode": "reflect", "bias": False}, [IMAGE]),
    ("Conv2d", (4, 6, 3), {"padding": 2, "padding_mode": "replicate"}, [floats(4, 7, 6)]),
    ("Conv3d", (4, 6, 2), {"stride": (1, 2, 1)}, [VOLUME]),
    ("ConvTranspose1d", (4, 6, 3), {"stride": 2, "padding": 1}, [SEQUENCE]),
    ("ConvTranspose2d", (4, 6, 3, 2, 1), {"output_padding": 1, "groups": 2}, [IMAGE]),
    ("ConvTranspose2d", (4, 6, 3), {"dilation": 2, "bias": False}, [IMAGE]),
    ("ConvTranspose3d", (4, 6, 2, 2), {}, [VOLUME]),
    ("MaxPool1d", (3,), {"stride": 2, "padding": 1, "ceil_mode": True}, [SEQUENCE]),
    ("MaxPool2d", ((3, 2),), {"stride": (2, 1), "dilation": (1, 2)}, [IMAGE]),
    ("MaxPool2d", (2,), {"return_indices": True}, [IMAGE]),
    ("MaxPool3d", (2,), {}, [VOLUME]),
    ("AvgPool1d", (3,), {"stride": 2, "padding": 1}, [SEQUENCE]),
    ("AvgPool2d", (3,), {"stride": 2, "padding": 1, "count_include_pad": False}, [IMAGE]),
    ("AvgPool2d", (3,), {"divisor_override": 2}, [IMAGE]),
    ("AvgPool3d", (2,), {"ceil_mode": True}, [VOLUME]),
    ("LPPool1d", (2, 3), {"stride": 2}, [SEQUENCE]),
    ("LPPool2d", (4, (2, 3)), {"ceil_mode": True}, [IMAGE]),
    ("LPPool3d", (2, 2), {}, [VOLUME]),
    ("AdaptiveAvgPool1d", (4,), {}, [SEQUENCE]),
    ("AdaptiveAvgPool2d", ((3, None),), {}, [IMAGE]),
    ("AdaptiveAvgPool3d", (2,), {}, [VOLUME]),
    ("AdaptiveMaxPool1d", (4,), {}, [SEQUENCE]),
    ("AdaptiveMaxPool2d", (3,), {"return_indices": True}, [IMAGE]),
    ("AdaptiveMaxPool3d", ((2, 3, None),), {}, [VOLUME]),
    ("FractionalMaxPool2d", (2,), {"output_size": (3, 4)}, [IMAGE]),
    ("FractionalMaxPool2d", (2,), {"output_ratio": 0.5}, [IMAGE]),
    ("FractionalMaxPool3d", (2,), {"output_size": (2, 2, 3)}, [VOLUME]),
    ("BatchNorm1d", (4,), {}, [floats(6, 4)]),
    ("BatchNorm1d", (4,), {"momentum": None, "eps": 1e-3}, [SEQUENCE]),
    ("BatchNorm2d", (4,), {"affine": False}, [IMAGE]),
    ("BatchNorm2d", (4,), {"track_running_stats": False}, [IMAGE]),
    ("BatchNorm3d", (4,), {"momentum": 0.3}, [VOLUME]),
    ("InstanceNorm1d", (4,), {"affine": True}, [SEQUENCE]),
    ("InstanceNorm2d", (4,), {"track_running_stats": True}, [IMAGE]),
    ("InstanceNorm3d", (4,), {}, [VOLUME]),
    ("LayerNorm", ((7, 6),), {}, [IMAGE]),
    ("LayerNorm", (6,), {"bias": False}, [IMAGE]),
    ("LayerNorm", (6,), {"elementwise_affine": False, "eps": 1e-2}, [IMAGE]),
    ("RMSNorm", (6,), {}, [IMAGE]),
    ("RMSNorm", ((7, 6),), {"eps": 1e-3, "elementwise_affine": False}, [IMAGE]),
    ("GroupNorm", (2, 4), {}, [IMAGE]),
    ("GroupNorm", (4, 4), {"affine": False}, [SEQUENCE]),
    ("LocalResponseNorm", (3,), {"alpha": 0.1, "k": 2.0}, [IMAGE]),
    ("LocalResponseNorm", (2,), {}, [SEQUENCE]),
    ("Dropout", (0.3,), {}, [IMAGE]),
    ("Dropout1d", (0.3,), {}, [SEQUENCE]),
    ("Dropout2d", (0.3,), {}, [IMAGE]),
    ("Dropout3d", (0.3,), {}, [VOLUME]),
    ("AlphaDropout", (0.3,), {}, [IMAGE]),
    ("FeatureAlphaDropout", (0.3,), {}, [IMAGE]),
    ("ConstantPad1d", ((1, 2), 0.5), {}, [SEQUENCE]),
    ("ConstantPad2d", (2, 0.5), {}, [IMAGE]),
    ("ConstantPad3d", (1, 3.5), {}, [VOLUME]),
    ("ZeroPad1d", (2,), {}, [SEQUENCE]),
    ("ZeroPad2d", ((1, -1, 2, 0),), {}, [IMAGE]),
    ("ZeroPad3d", (1,), {}, [VOLUME]),
    ("ReflectionPad1d", ((3, 1),), {}, [SEQUENCE]),
    ("ReflectionPad2d", ((1, 2, 3, 0),), {}, [IMAGE]),
    ("ReflectionPad3d", (1,), {}, [VOLUME]),
    ("ReplicationPad1d", ((3, 1),), {}, [SEQUENCE]),
    ("ReplicationPad2d", (2,), {}, [IMAGE]),
    ("ReplicationPad3d", ((3, 1, 2, 0, 1, 1),), {}, [VOLUME]),
    ("CircularPad1d", ((3, 1),), {}, [SEQUENCE]),
    ("CircularPad2d", (2,), {}, [IMAGE]),
    ("CircularPad3d", (1,), {}, [VOLUME]),
    ("Upsample", (), {"scale_factor": 2}, [IMAGE]),
    ("Upsample", ((9, 11),), {"mode": "bicubic", "align_corners": True}, [IMAGE]),
    ("Upsample", (), {"scale_factor": (1.5, 0.7), "mode": "bilinear"}, [IMAGE]),
    ("Upsample", (13,), {"mode": "linear"}, [SEQUENCE]),
    ("Upsample", (), {"scale_factor": 1.6, "mode": "trilinear"}, [VOLUME]),
    ("UpsamplingNearest2d", (), {"scale_factor": 3}, [IMAGE]),
    ("UpsamplingBilinear2d", ((9, 5),), {}, [IMAGE]),
    ("PixelShuffle", (2,), {}, [IMAGE]),
    ("PixelUnshuffle", (2,), {}, [floats(2, 3, 6, 4)]),
    ("ChannelShuffle", (2,), {}, [IMAGE]),
    ("Unfold", ((3, 2),), {"dilation": (1, 2), "padding": 1, "stride": 2}, [IMAGE]),
    ("Fold", ((5, 4), 2), {"padding": 1, "stride": 2}, [floats(2, 12, 9)]),
    ("Embedding", (10, 3), {"padding_idx": 2}, [classes(10, 4, 5)]),
    ("Embedding", (10, 3), {"max_norm": 1.0, "scale_grad_by_freq": True}, [classes(10, 4, 5)]),
    ("EmbeddingBag", (10, 3), {"mode": "max"}, [classes(10, 4, 5)]),
    ("EmbeddingBag", (10, 3), {"mode": "sum", "padding_idx": 1}, [classes(10, 4, 5)]),
    ("CosineSimilarity", (), {"dim": 2}, [IMAGE, IMAGE]),
    ("PairwiseDistance", (), {"p": 3.0, "keepdim": True}, [floats(4, 5), floats(4, 5)]),
    ("ReLU", (), {}, [IMAGE]),
    ("ReLU6", (), {}, [IMAGE]),
    ("RReLU", (), {"lower": 0.1}, [IMAGE]),
    ("Hardtanh", (-0.5, 0.7), {}, [IMAGE]),
    ("Sigmoid", (), {}, [IMAGE]),
    ("Hardsigmoid", (), {}, [IMAGE]),
    ("Tanh", (), {}, [IMAGE]),
    ("SiLU", (), {}, [IMAGE]),
    ("Mish", (), {}, [IMAGE]),
    ("Hardswish", (), {}, [IMAGE]),
    ("ELU", (0.7,), {}, [IMAGE]),
    ("CELU", (0.7,), {}, [IMAGE]),
    ("SELU", (), {}, [IMAGE]),
    ("GLU", (1,), {}, [IMAGE]),
    ("GELU", (), {"approximate": "tanh"}, [IMAGE]),
    ("Hardshrink", (0.3,), {}, [IMAGE]),
    ("LeakyReLU", (0.2,), {}, [IMAGE]),
    ("LogSigmoid", (), {}, [IMAGE]),
    ("Softplus", (2, 3), {}, [IMAGE]),
    ("Softshrink", (0.3,), {}, [IMAGE]),
    ("PReLU", (4,), {"init": 0.1}, [IMAGE]),
    ("Softsign", (), {}, [IMAGE]),
    ("Tanhshrink", (), {}, [IMAGE]),
    ("Threshold", (0.1, 2.0), {}, [IMAGE]),
    ("Softmin", (1,), {}, [IMAGE]),
    ("Softmax", (1,), {}, [IMAGE]),
    ("LogSoftmax", (-1,), {}, [IMAGE]),
    ("Softmax2d", (), {}, [IMAGE]),
    ("L1Loss", (), {}, [floats(3, 4), floats(3, 4)]),
    ("MSELoss", (), {"reduction": "sum"}, [floats(3, 4), floats(3, 4)]),
    ("CrossEntropyLoss", (), {"label_smoothing": 0.1}, [floats(5, 4), classes(4, 5)]),
    ("NLLLoss", (), {"ignore_index": 1}, [floats(5, 4), classes(4, 5)]),
    ("PoissonNLLLoss", (), {"full": True}, [floats(3, 4), classes(9, 3, 4)]),
    ("GaussianNLLLoss", (), {"full": True}, [floats(3, 4), floats(3, 4), shares(3, 4)]),
    ("KLDivLoss", (), {"reduction": "batchmean"}, [floats(3, 4), shares(3, 4)]),
    ("BCELoss", (), {}, [shares(3, 4), shares(3, 4)]),
    ("BCEWithLogitsLoss", (), {}, [floats(3, 4), shares(3, 4)]),
    ("MarginRankingLoss", (0.1,), {}, [floats(4), floats(4), signs(4)]),
    ("HingeEmbeddingLoss", (0.5,), {}, [floats(3, 4), signs(3, 4)]),
    ("MultiLabelMarginLoss", (), {}, [floats(3, 4), classes(4, 3, 4)]),
    ("HuberLoss", (), {"delta": 0.5}, [floats(3, 4), floats(3, 4)]),
    ("SmoothL1Loss", (), {"beta": 0.5}, [floats(3, 4), floats(3, 4)]),
    ("SoftMarginLoss", (), {}, [floats(3, 4), signs(3, 4)]),
    ("MultiLabelSoftMarginLoss", (), {}, [floats(3, 4), shares(3, 4)]),
    ("CosineEmbeddingLoss", (0.2,), {}, [floats(3, 4), floats(3, 4), signs(3)]),
    ("MultiMarginLoss", (2, 0.7), {}, [floats(5, 4), classes(4, 5)]),
    ("TripletMarginLoss", (), {"swap": True}, [floats(3, 4)] * 3),
    ("TripletMarginWithDistanceLoss", (), {"margin": 0.5}, [floats(3, 4)] * 3),
    ("AdaptiveLogSoftmaxWithLoss", (8, 20, [5, 10]), {"div_value": 2.0},
     [floats(6, 8), classes(20, 6)]),
    ("RNN", (5, 4), {"nonlinearity": "relu", "bidirectional": True}, [floats(6, 3, 5)]),
    ("RNN", (5, 4, 2), {"dropout": 0.3, "batch_first": True}, [floats(3, 6, 5)]),
    ("LSTM", (5, 4, 2), {"bidirectional": True, "proj_size": 3}, [floats(6, 3, 5)]),
    ("LSTM", (5, 4), {"bias": False}, [floats(6, 5)]),
    ("GRU", (5, 4, 2), {"bidirectional": True}, [floats(6, 3, 5), floats(4, 3, 4)]),
    ("RNNCell", (5, 4), {"nonlinearity": "relu"}, [floats(3, 5), floats(3, 4)]),
    ("LSTMCell", (5, 4), {}, [floats(3, 5)]),
    ("GRUCell", (5, 4), {"bias": False}, [floats(5), floats(4)]),
    ("MultiheadAttention", (8, 2), {}, [floats(5, 3, 8), floats(6, 3, 8), floats(6, 3, 8)]),
    ("MultiheadAttention", (8, 2), {"dropout": 0.2, "batch_first": True, "bias": False},
     [floats(3, 5, 8)] * 3),
    ("MultiheadAttention", (8, 2), {"kdim": 6, "vdim": 4, "add_bias_kv": True,
     "add_zero_attn": True}, [floats(5, 3, 8), floats(6, 3, 6), floats(6, 3, 4)]),
    ("MultiheadAttention", (8, 2), {}, [floats(5, 3, 8), floats(6, 3, 8), floats(6, 3, 8),
     mask(3, 6)]),
    ("TransformerEncoderLayer", (8, 2, 16), {}, [floats(5, 3, 8)]),
    ("TransformerEncoderLayer", (8, 2, 16, 0.2, "gelu"), {"norm_first": True,
     "batch_first": True}, [floats(3, 5, 8)]),
    ("TransformerDecoderLayer", (8, 2, 16), {"bias": False}, [floats(5, 3, 8), floats(4, 3, 8)]),
    ("TransformerDecoderLayer", (8, 2, 16), {"norm_first": True, "layer_norm_eps": 1e-3},
     [floats(5, 3, 8), floats(4, 3, 8)]),
    ("Transformer", (8, 2, 2, 2, 16), {"batch_first": True}, [floats(3, 5, 8), floats(3, 4, 8)]),
    ("LazyLinear", (3,), {}, [floats(4, 5)]),
    ("LazyConv2d", (6, 3), {"padding": 1}, [IMAGE]),
    ("LazyConvTranspose1d", (6, 3), {}, [SEQUENCE]),
    ("LazyBatchNorm2d", (), {"momentum": 0.2}, [IMAGE]),
    ("LazyInstanceNorm1d", (), {}, [SEQUENCE]),
]  # fmt: skip
ROWS = [pytest.param(*row, id=f"{i}-{row[0]}") for i, row in enumerate(TABLE)]
# Rounding of long chains of float32 products.
LOOSE = ("LSTM", "GRU", "RNN", "Transformer", "MultiheadAttention", "Conv", "LazyConv", "Bilinear")


def inputs_for(library, specs, seed=0):
    """The inputs of a row as one library's tensors, floats with gradients."""
    random, made = np.random.default_rng(seed), []
    for kind, *rest in specs:
        shape = rest[-1]
        if kind == "int":
            made.append(library.tensor(random.integers(0, rest[0], shape)))
            continue
        if kind == "mask":
            hidden = np.arange(shape[1]) >= random.integers(1, shape[1], (shape[0], 1))
            made.append(library.tensor(hidden))
            continue
        values = random.standard_normal(shape)
        if kind == "sign":
            made.append(library.tensor(np.sign(values), dtype=library.float32))
            continue
        values = random.uniform(0.1, 0.9, shape) if kind == "share" else values
        dtype = library.float64 if kind == "double" else library.float32
        made.append(library.tensor(values, dtype=dtype, requires_grad=True))
    return made


def build(library, name, args, kwargs):
    kwargs = {k: getattr(library, v) if k == "dtype" else v for k, v in kwargs.items()}
    library.manual_seed(3)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Lazy modules are a new feature")
        warnings.filterwarnings("ignore", "enable_nested_tensor is True")
        warnings.filterwarnings("ignore", "The given NumPy array is not writ")
        return getattr(library.nn, name)(*args, **kwargs)


def flatten(value):
    if isinstance(value, (tuple, list)):
        return [item for part in value for item in flatten(part)]
    return [] if value is None else [value]


def numbers(tensor):
    return tensor.detach().numpy()


def outcome(library, module, specs):
    """Outputs, gradients of inputs and parameters, and buffers after one call."""
    given = inputs_for(library, specs)
    library.manual_seed(5)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Using padding='same' with even kernel")
        warnings.filterwarnings("ignore", "LSTM with projections is not supported with oneDNN")
        outputs = flatten(module(*given))
    tracked = [t for t in outputs if t.requires_grad]
    if tracked:
        random = np.random.default_rng(1)
        weights = [random.uniform(0.5, 1.5, tuple(t.shape)) for t in tracked]
        pairs = zip(tracked, weights, strict=True)
        sum((t * t * library.tensor(w, dtype=t.dtype)).sum() for t, w in pairs).backward()
    leaves = [t for t in given if t.requires_grad] + list(module.parameters())
    gradients = [None if t.grad is None else numbers(t.grad) for t in leaves]
    buffers = [numbers(b) for b in module.buffers() if b is not None]
    return [numbers(t) for t in outputs], gradients, buffers


def close(ours, theirs, loose):
    rtol, atol = (2e-4, 2e-5) if loose else (3e-5, 2e-6)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


@pytest.mark.parametrize(("name", "args", "kwargs", "specs"), ROWS)
def test_agrees_with_torch(name, args, kwargs, specs):
    ours, theirs = (build(library, name, args, kwargs) for library in (rushlight, torch))
    assert repr(ours) == repr(theirs)
    lazy = name.startswith("Lazy")
    if not lazy:
        same_state(ours, theirs)
    for training in (True, False):
        ours.train(training), theirs.train(training)
        results = [outcome(*pair, specs) for pair in ((rushlight, ours), (torch, theirs))]
        for found, expected in zip(*results, strict=True):
            close(found, expected, name.startswith(LOOSE))
        ours.zero_grad(), theirs.zero_grad()
    if lazy:
        assert repr(ours) == repr(theirs)
        assert type(ours).__name__ == type(theirs).__name__ == name.removeprefix("Lazy")
        same_state(ours, theirs, exact=False)


def same_state(ours, theirs, exact=True):
    state, expected = ours.state_dict(), theirs.state_dict()
    assert list(state) == list(expected)
    assert [n for n, _ in ours.named_buffers()] == [n for n, _ in theirs.named_buffers()]
    for key, value in expected.items():
        assert state[key].dtype is getattr(rushlight, str(value.dtype).split(".")[1])
        if exact:  # normal values pass through transcendental functions: a few units at most
            np.testing.assert_allclose(numbers(state[key]), value.numpy(), rtol=1e-6, atol=1e-9)
            if not any(word in key for word in ("bias_k", "bias_v")) and "Embed" not in repr(ours):
                assert (numbers(state[key]) == value.numpy()).all()
        else:
            np.testing.assert_allclose(numbers(state[key]), value.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "args", "kwargs", "specs"), ROWS)
def test_copies_and_state_dicts(name, args, kwargs, specs):
    """Copies, pickles and modules loaded from a state dict (PyTorch's too) compute the same."""
    module, theirs = (build(library, name, args, kwargs) for library in (rushlight, torch))
    outcome(rushlight, module, specs), outcome(torch, theirs, specs)
    module.zero_grad()
    expected = outcome(rushlight, copy.deepcopy(module).eval(), specs)
    other = build(rushlight, name, args, kwargs)
    with rushlight.no_grad():
        for parameter in [] if name.startswith("Lazy") else other.parameters():
            parameter.zero_()
    other.load_state_dict(module.state_dict())
    copies = [pickle.loads(pickle.dumps(module)), other, copy.deepcopy(module)]
    for copied in copies:
        found = outcome(rushlight, copied.eval(), specs)
        for a, b in zip(found, expected, strict=True):
            close(a, b, False)
    state = {k: torch.tensor(numbers(v)) for k, v in module.state_dict().items()}
    theirs.load_state_dict(state)
    state = {k: rushlight.tensor(v.numpy()) for k, v in theirs.state_dict().items()}
    assert not module.load_state_dict(state).missing_keys


@pytest.mark.parametrize(("name", "args", "kwargs", "specs"), ROWS)
def test_meta_construction(name, args, kwargs, specs):
    """`device="meta"` gives the shapes without memory, where the class takes a device."""
    real = build(rushlight, name, args, kwargs)
    if not list(real.parameters()) or name.startswith("Lazy"):
        assert name.startswith("Lazy") or "device" not in kwargs
        return
    meta = build(rushlight, name, args, {**kwargs, "device": "meta"})
    pairs = zip(meta.state_dict().items(), real.state_dict().items(), strict=True)
    for (key, value), (other_key, other) in pairs:
        assert key == other_key and value.is_meta and value.shape == other.shape
    filled = meta.to_empty(device="cpu")
    assert not any(p.is_meta for p in filled.parameters())


# Devices that are not here, a name of a type, and parts of inner shortcuts.
LEFT_OUT = {"ipu", "mtia", "xpu", "T_destination", "merge_masks", "activation_relu_or_gelu"}


@pytest.mark.parametrize("name, args, kwargs, specs", ROWS)
def test_public_attributes(name, args, kwargs, specs):
    """Programs that prune, convert or subclass layers read them."""
    ours, theirs = (build(library, name, args, kwargs) for library in (rushlight, torch))
    names = {each for each in {*vars(theirs), *dir(theirs)} if not each.startswith("_")}
    assert not {each for each in names - LEFT_OUT if not hasattr(ours, each)}
    for each in names - LEFT_OUT:
        value = getattr(theirs, each)
        if isinstance(value, (int, float, str, bool, tuple)):
            assert getattr(ours, each) == value, each


def test_the_table_has_every_class():
    """Every public class of torch.nn exists; all but containers and bases are in the table."""
    classes = {
        n for n, v in vars(torch.nn).items() if isinstance(v, type) and not n.startswith("_")
    }
    missing = sorted(n for n in classes if not hasattr(rushlight.nn, n))
    assert missing == []
    untested = classes - {row[0] for row in TABLE}
    assert untested == ELSEWHERE


# Containers and bases (test_modules.py), and modules whose forward takes other things (below).
ELSEWHERE = {
    "Module", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict",
    "Parameter", "Buffer", "UninitializedParameter", "UninitializedBuffer", "RNNBase", "Container",
    "RNNCellBase", "DataParallel", "SyncBatchNorm", "CTCLoss", "NLLLoss2d", "MaxUnpool1d",
    "MaxUnpool2d", "MaxUnpool3d", "LinearCrossEntropyLoss", "LinearCrossEntropyOptions",
    "TransformerEncoder", "TransformerDecoder", "CrossMapLRN2d", "LazyConv1d", "LazyConv3d",
    "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyBatchNorm1d", "LazyBatchNorm3d",
    "LazyInstanceNorm2d", "LazyInstanceNorm3d",
}  # fmt: skip


_LINE, _PLANE, _SPACE = (2, 4, 8), (2, 4, 8, 8), (2, 4, 8, 8, 8)
_CALLED = {
    "conv1d": ("Conv1d", (4, 2, 3), _LINE),
    "conv2d": ("Conv2d", (4, 2, 3), _PLANE),
    "conv3d": ("Conv3d", (4, 2, 3), _SPACE),
    "conv_transpose1d": ("ConvTranspose1d", (4, 2, 3), _LINE),
    "conv_transpose2d": ("ConvTranspose2d", (4, 2, 3), _PLANE),
    "conv_transpose3d": ("ConvTranspose3d", (4, 2, 3), _SPACE),
    "dropout": ("Dropout", (), _LINE),
    "dropout1d": ("Dropout1d", (), _LINE),
    "dropout2d": ("Dropout2d", (), _PLANE),
    "dropout3d": ("Dropout3d", (), _SPACE),
    "alpha_dropout": ("AlphaDropout", (), _LINE),
    "feature_alpha_dropout": ("FeatureAlphaDropout", (), _PLANE),
    "max_pool1d": ("MaxPool1d", (2,), _LINE),
    "max_pool2d": ("MaxPool2d", (2,), _PLANE),
    "max_pool3d": ("MaxPool3d", (2,), _SPACE),
    "avg_pool1d": ("AvgPool1d", (2,), _LINE),
    "avg_pool2d": ("AvgPool2d", (2,), _PLANE),
    "avg_pool3d": ("AvgPool3d", (2,), _SPACE),
    "adaptive_avg_pool1d": ("AdaptiveAvgPool1d", (2,), _LINE),
    "adaptive_avg_pool2d": ("AdaptiveAvgPool2d", (2,), _PLANE),
    "adaptive_avg_pool3d": ("AdaptiveAvgPool3d", (2,), _SPACE),
    "adaptive_max_pool1d": ("AdaptiveMaxPool1d", (2,), _LINE),
    "adaptive_max_pool2d": ("AdaptiveMaxPool2d", (2,), _PLANE),
    "adaptive_max_pool3d": ("AdaptiveMaxPool3d", (2,), _SPACE),
    "gelu": ("GELU", (), _LINE),
    "softmax": ("Softmax", (-1,), _LINE),
    "layer_norm": ("LayerNorm", (8,), _LINE),
    "linear": ("Linear", (8, 3), _LINE),
}


@pytest.mark.parametrize("function", _CALLED)
def test_layers_call_the_function_that_a_program_puts_in_place(function, monkeypatch):
    name, settings, shape = _CALLED[function]
    for library in (rushlight, torch):
        layer, home = getattr(library.nn, name)(*settings), library.nn.functional
        own, seen = getattr(home, function), []

        def counted(*args, own=own, seen=seen, **kwargs):
            seen.append(tuple(args[0].shape))
            return own(*args, **kwargs) * 2

        x = library.rand(shape)
        library.manual_seed(0)
        plain = layer(x)
        with monkeypatch.context() as patch:
            patch.setattr(home, function, counted)
            library.manual_seed(0)
            found = layer(x)
        assert seen == [shape] and found.tolist() == (plain * 2).tolist()
        library.manual_seed(0)
        assert layer(x).tolist() == plain.tolist()
