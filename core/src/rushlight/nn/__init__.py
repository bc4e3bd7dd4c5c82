"""Neural network layers, containers, losses and initial values.

Layers that few programs use are imported at the first look-up.
"""

import importlib

from rushlight.listings import list_on_demand
from rushlight.nn import functional, init, utils
from rushlight.nn.activation import (
    CELU,
    ELU,
    GELU,
    GLU,
    SELU,
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    Identity,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    PReLU,
    ReLU,
    ReLU6,
    RReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softmax2d,
    Softmin,
    Softplus,
    Softshrink,
    Softsign,
    Tanh,
    Tanhshrink,
    Threshold,
)
from rushlight.nn.containers import (
    ModuleDict,
    ModuleList,
    Sequential,
)
from rushlight.nn.convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from rushlight.nn.dropout import (
    AlphaDropout,
    Dropout,
    Dropout1d,
    Dropout2d,
    Dropout3d,
    FeatureAlphaDropout,
)
from rushlight.nn.embedding import (
    Embedding,
    EmbeddingBag,
)
from rushlight.nn.linear import (
    Bilinear,
    Flatten,
    Linear,
    Unflatten,
)
from rushlight.nn.losses import (
    BCELoss,
    BCEWithLogitsLoss,
    CosineEmbeddingLoss,
    CrossEntropyLoss,
    GaussianNLLLoss,
    HingeEmbeddingLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MarginRankingLoss,
    MSELoss,
    NLLLoss,
    PoissonNLLLoss,
    SmoothL1Loss,
    SoftMarginLoss,
    TripletMarginLoss,
)
from rushlight.nn.module import Module
from rushlight.nn.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
    RMSNorm,
)
from rushlight.nn.parameter import Buffer, Parameter
from rushlight.nn.parameter_containers import ParameterDict, ParameterList
from rushlight.nn.pooling import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
    AvgPool1d,
    AvgPool2d,
    AvgPool3d,
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
)
from rushlight.nn.recurrent import (
    GRU,
    LSTM,
    RNN,
    GRUCell,
    LSTMCell,
    RNNBase,
    RNNCell,
    RNNCellBase,
)

# File: the classes it defines.
_RARE = {
    "padding": (
        "ConstantPad1d ConstantPad2d ConstantPad3d ZeroPad1d ZeroPad2d ZeroPad3d "
        "ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d "
        "ReplicationPad3d CircularPad1d CircularPad2d CircularPad3d"
    ),
    "resizing": (
        "Upsample UpsamplingNearest2d UpsamplingBilinear2d PixelShuffle PixelUnshuffle "
        "ChannelShuffle Unfold Fold"
    ),
    "unpooling": (
        "MaxUnpool1d MaxUnpool2d MaxUnpool3d LPPool1d LPPool2d LPPool3d FractionalMaxPool2d "
        "FractionalMaxPool3d"
    ),
    "distance": "CosineSimilarity PairwiseDistance",
    "margin_losses": (
        "CTCLoss MultiMarginLoss MultiLabelMarginLoss MultiLabelSoftMarginLoss "
        "TripletMarginWithDistanceLoss NLLLoss2d LinearCrossEntropyLoss "
        "LinearCrossEntropyOptions"
    ),
    "response_norm": "LocalResponseNorm CrossMapLRN2d SyncBatchNorm",
    "adaptive_softmax": "AdaptiveLogSoftmaxWithLoss",
    "containers": "Container",
    "multihead": "MultiheadAttention",
    "transformer": (
        "Transformer TransformerEncoder TransformerDecoder TransformerEncoderLayer "
        "TransformerDecoderLayer"
    ),
    "lazy": (
        "LazyLinear LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d "
        "LazyConvTranspose3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d "
        "LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d UninitializedParameter "
        "UninitializedBuffer"
    ),
    "parallel": "DataParallel",
}
_FILE_OF = {name: file for file, names in _RARE.items() for name in names.split()}
_PARTS = ("attention", "common_types", "grad", "modules", "parallel")


def __getattr__(name):
    if name in _FILE_OF:
        found = getattr(importlib.import_module("rushlight.nn." + _FILE_OF[name]), name)
        globals()[name] = found
        return found
    if name in _PARTS:
        return importlib.import_module("rushlight.nn." + name)
    raise AttributeError(f"module 'rushlight.nn' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *_FILE_OF, *_PARTS})


list_on_demand(__name__)


__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AlphaDropout",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Bilinear",
    "Buffer",
    "CELU",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "ELU",
    "Embedding",
    "EmbeddingBag",
    "FeatureAlphaDropout",
    "Flatten",
    "GELU",
    "GLU",
    "GRU",
    "GRUCell",
    "GaussianNLLLoss",
    "GroupNorm",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "Identity",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "KLDivLoss",
    "L1Loss",
    "LSTM",
    "LSTMCell",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MarginRankingLoss",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "Mish",
    "Module",
    "ModuleDict",
    "ModuleList",
    "NLLLoss",
    "PReLU",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "PoissonNLLLoss",
    "RMSNorm",
    "RNN",
    "RNNBase",
    "RNNCell",
    "RNNCellBase",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
    "TripletMarginLoss",
    "Unflatten",
    "functional",
    "init",
    "utils",
    *_FILE_OF,
]
