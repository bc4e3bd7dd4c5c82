"""The names PyTorch's checkpoints use, and what they mean here."""

from __future__ import annotations

import importlib

from rushlight import dtypes

STORAGE_OF = {
    "float32": "FloatStorage", "float64": "DoubleStorage", "float16": "HalfStorage",
    "bfloat16": "BFloat16Storage", "int64": "LongStorage", "int32": "IntStorage",
    "int16": "ShortStorage", "int8": "CharStorage", "uint8": "ByteStorage", "bool": "BoolStorage",
    "complex64": "ComplexFloatStorage", "complex128": "ComplexDoubleStorage",
}  # fmt: skip
DTYPE_OF = {storage: dtypes.NAMES[name] for name, storage in STORAGE_OF.items()}

# Element types that PyTorch has and Rushlight has not: a file with them is refused by name.
FOREIGN_DTYPES = frozenset(
    "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz "
    "float8_e8m0fnu float4_e2m1fn_x2 quint8 qint8 qint32 quint4x2 quint2x4 bits8 bits16 "
    "bits1x8 bits2x4 bits4x2".split()
)

# PyTorch's modules under ``torch.nn.modules`` -> the layers they define. Whole modules are written
# with these names, so that PyTorch reads them, and read by them.
LAYERS = {
    "activation": "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU "
    "LogSigmoid LogSoftmax Mish MultiheadAttention PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid "
    "Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh Tanhshrink Threshold",
    "adaptive": "AdaptiveLogSoftmaxWithLoss",
    "batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d "
    "LazyBatchNorm3d SyncBatchNorm",
    "channelshuffle": "ChannelShuffle",
    "container": "ModuleDict ModuleList ParameterDict ParameterList Sequential",
    "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d "
    "LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d",
    "distance": "CosineSimilarity PairwiseDistance",
    "dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
    "flatten": "Flatten Unflatten",
    "fold": "Fold Unfold",
    "instancenorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d "
    "LazyInstanceNorm2d LazyInstanceNorm3d",
    "linear": "Bilinear Identity LazyLinear Linear",
    "loss": "BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss "
    "GaussianNLLLoss HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss MSELoss MarginRankingLoss "
    "MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss NLLLoss2d "
    "PoissonNLLLoss SmoothL1Loss SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss",
    "module": "Module",
    "normalization": "CrossMapLRN2d GroupNorm LayerNorm LocalResponseNorm RMSNorm",
    "padding": "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d "
    "ConstantPad3d ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d "
    "ReplicationPad2d ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d",
    "pixelshuffle": "PixelShuffle PixelUnshuffle",
    "pooling": "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d "
    "AdaptiveMaxPool2d AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d "
    "FractionalMaxPool3d LPPool1d LPPool2d LPPool3d MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d "
    "MaxUnpool2d MaxUnpool3d",
    "rnn": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase",
    "sparse": "Embedding EmbeddingBag",
    "transformer": "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder "
    "TransformerEncoderLayer",
    "upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
}
_LAYER_HOMES = {
    name: f"torch.nn.modules.{home}" for home, names in LAYERS.items() for name in names.split()
}


class Global:
    """A name in a pickle that is not imported here: ``module.name``."""

    __slots__ = ("module", "name")

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __call__(self, *args):
        """Names are not called, only written."""
        raise TypeError(f"{self.module}.{self.name} is only a name in a checkpoint")


class Untyped:
    """Stands for ``torch.storage.UntypedStorage``: memory counted in bytes."""

    name, code, itemsize = "uint8", dtypes.uint8.code, 1


UNTYPED = Untyped()


def torch_home(item):
    """The module in which PyTorch keeps the class or function `item` of ours, or None."""
    module, name = getattr(item, "__module__", None), getattr(item, "__qualname__", "")
    if not isinstance(module, str) or not module.startswith("rushlight."):
        return None
    if not isinstance(item, type):
        functional = importlib.import_module("rushlight.nn.functional")
        return "torch.nn.functional" if getattr(functional, name, None) is item else None
    if module.startswith("rushlight.distributed.checkpoint."):
        return "torch." + module.removeprefix("rushlight.")
    if module.startswith("rushlight.nn.") and name in _LAYER_HOMES:
        return _LAYER_HOMES[name]
    if module.startswith("rushlight.optim."):
        return f"torch.optim.{name.lower()}" if name in _optimizers() else None
    return None


def _optimizers():
    return (
        "Adadelta Adagrad Adam Adamax AdamW ASGD LBFGS NAdam Optimizer RAdam RMSprop Rprop SGD"
    ).split()


def ours(module, name):
    """The object of Rushlight behind a name of PyTorch's; None where there is none."""
    if module != "torch" and not module.startswith("torch."):
        return None
    if module == "torch._C._nn":  # where its compiled activations live
        module = "torch.nn.functional"
    elif module.startswith("torch.nn.modules."):
        module = "torch.nn"
    elif module.startswith("torch.optim.") and not module.startswith("torch.optim.lr_scheduler"):
        module = "torch.optim"
    try:
        home = importlib.import_module("rushlight" + module.removeprefix("torch"))
        found = home
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, NotImplementedError):
        return None
    return found
