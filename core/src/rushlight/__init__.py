"""Rushlight: deep learning in Python, all the way down.

``import rushlight as torch`` is how programs migrate: names, signatures and semantics are
PyTorch's. Everything here is plain Python over NumPy and generated kernels.
"""

from math import e, inf, nan, pi

from rushlight import autograd, cuda, nn, ops, optim, utils
from rushlight._version import __version__
from rushlight.autograd.anomaly import is_anomaly_enabled
from rushlight.autograd.mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from rushlight.devices import device, get_default_device, set_default_device
from rushlight.dtypes import (
    bfloat16,
    can_cast,
    complex64,
    complex128,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
)
from rushlight.dtypes import bool_ as bool
from rushlight.tensor.shape import Size
from rushlight.tensor.tensor import Tensor
from rushlight.inspection import (
    are_deterministic_algorithms_enabled,
    get_num_threads,
    is_complex,
    is_floating_point,
    is_nonzero,
    is_tensor,
    numel,
    result_type,
    set_default_tensor_type,
    set_num_threads,
    use_deterministic_algorithms,
)
from rushlight.ops.activation import (
    celu,
    hardshrink,
    relu,
    selu,
    threshold,
)
from rushlight.ops.arithmetic import (
    abs,
    add,
    addcdiv,
    addcmul,
    clamp,
    clamp_max,
    clamp_min,
    conj,
    div,
    floor_divide,
    fmod,
    lerp,
    maximum,
    minimum,
    mul,
    neg,
    positive,
    pow,
    reciprocal,
    remainder,
    rsqrt,
    rsub,
    sgn,
    sign,
    sqrt,
    square,
    sub,
    true_divide,
)
from rushlight.ops.comparison import (
    allclose,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    eq,
    equal,
    ge,
    gt,
    isclose,
    isfinite,
    isinf,
    isnan,
    le,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    lt,
    ne,
    where,
)
from rushlight.ops.creation import (
    arange,
    as_tensor,
    asarray,
    complex,
    empty,
    empty_like,
    eye,
    from_numpy,
    frombuffer,
    full,
    full_like,
    linspace,
    logspace,
    ones,
    ones_like,
    scalar_tensor,
    tensor,
    zeros,
    zeros_like,
)
from rushlight.ops.exponential import (
    digamma,
    erf,
    erfc,
    erfinv,
    exp,
    exp2,
    expm1,
    lgamma,
    log,
    log10,
    log1p,
    log2,
    logaddexp,
    logit,
    polygamma,
    sigmoid,
    xlogy,
)
from rushlight.ops.indexing import (
    argwhere,
    diag,
    diag_embed,
    gather,
    index_add,
    index_copy,
    index_fill,
    index_put,
    index_select,
    masked_fill,
    masked_select,
    nonzero,
    scatter,
    scatter_add,
    take,
    take_along_dim,
    tril,
    triu,
)
from rushlight.ops.joining import (
    atleast_1d,
    atleast_2d,
    block_diag,
    cat,
    dstack,
    hstack,
    meshgrid,
    stack,
    vstack,
)
from rushlight.ops.matrix import (
    addbmm,
    addmm,
    addmv,
    baddbmm,
    bilinear,
    bmm,
    dot,
    matmul,
    mm,
    mv,
    outer,
)
from rushlight.ops.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from rushlight.ops.dropout import dropout
from rushlight.ops.embedding import embedding
from rushlight.ops.losses import cosine_similarity
from rushlight.ops.normalization import batch_norm, layer_norm
from rushlight.ops.pooling import avg_pool1d, max_pool1d, max_pool2d
from rushlight.ops.random import (
    Generator,
    bernoulli,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    multinomial,
    normal,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
    seed,
    set_rng_state,
)
from rushlight.ops.reduction import (
    all,
    amax,
    amin,
    any,
    argmax,
    argmin,
    count_nonzero,
    dist,
    logsumexp,
    max,
    mean,
    min,
    nanmean,
    nansum,
    norm,
    prod,
    std,
    std_mean,
    sum,
    var,
    var_mean,
)
from rushlight.ops.rounding import (
    ceil,
    floor,
    frac,
    round,
    trunc,
)
from rushlight.ops.scan import (
    cummax,
    cummin,
    cumprod,
    cumsum,
)
from rushlight.ops.shape import (
    as_strided,
    broadcast_shapes,
    broadcast_tensors,
    broadcast_to,
    chunk,
    clone,
    diagonal,
    flatten,
    flip,
    imag,
    movedim,
    narrow,
    permute,
    ravel,
    real,
    repeat_interleave,
    reshape,
    roll,
    select,
    split,
    squeeze,
    t,
    tensor_split,
    tile,
    transpose,
    unbind,
    unflatten,
    unsqueeze,
    view_as_complex,
    view_as_real,
)
from rushlight.ops.softmax import log_softmax, softmax
from rushlight.ops.sorting import (
    argsort,
    bincount,
    bucketize,
    kthvalue,
    median,
    msort,
    searchsorted,
    sort,
    topk,
    unique,
)
from rushlight.ops.trigonometric import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cos,
    cosh,
    hypot,
    sin,
    sinh,
    tan,
    tanh,
)
from rushlight.serialization import load, safetensors, save
from rushlight.tensor.printing import set_printoptions

# PyTorch's other names for the same things.
not_equal = ne
less = lt
less_equal = le
greater = gt
greater_equal = ge
subtract = sub
multiply = mul
divide = div
negative = neg
absolute = abs
clip = clamp
arcsin = asin
arccos = acos
arctan = atan
arctan2 = atan2
arcsinh = asinh
arccosh = acosh
arctanh = atanh
swapaxes = transpose
swapdims = transpose
moveaxis = movedim
ger = outer
fix = trunc
concat = concatenate = cat
half, short, long, double = float16, int16, int64, float64
cfloat, cdouble = complex64, complex128
float, int = float32, int32
strided = "strided"
contiguous_format, channels_last = "contiguous_format", "channels_last"
preserve_format = "preserve_format"


def __getattr__(name):
    """Parts that few programs need are imported when they are asked for."""
    if name in ("testing",):
        import importlib

        return importlib.import_module(f"rushlight.{name}")
    raise AttributeError(f"module 'rushlight' has no attribute '{name}'")
