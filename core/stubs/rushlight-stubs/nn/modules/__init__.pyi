# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from typing import Any

from rushlight.nn.pooling import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from rushlight.nn.pooling import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from rushlight.nn.pooling import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from rushlight.nn.adaptive_softmax import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
from rushlight.nn.pooling import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from rushlight.nn.pooling import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from rushlight.nn.pooling import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from rushlight.nn.dropout import AlphaDropout as AlphaDropout
from rushlight.nn.pooling import AvgPool1d as AvgPool1d
from rushlight.nn.pooling import AvgPool2d as AvgPool2d
from rushlight.nn.pooling import AvgPool3d as AvgPool3d
from rushlight.nn.losses import BCELoss as BCELoss
from rushlight.nn.losses import BCEWithLogitsLoss as BCEWithLogitsLoss
from rushlight.nn.normalization import BatchNorm1d as BatchNorm1d
from rushlight.nn.normalization import BatchNorm2d as BatchNorm2d
from rushlight.nn.normalization import BatchNorm3d as BatchNorm3d
from rushlight.nn.linear import Bilinear as Bilinear
from rushlight.nn.parameter import Buffer as Buffer
from rushlight.nn.activation import CELU as CELU
from rushlight.nn.margin_losses import CTCLoss as CTCLoss
from rushlight.nn.resizing import ChannelShuffle as ChannelShuffle
from rushlight.nn.padding import CircularPad1d as CircularPad1d
from rushlight.nn.padding import CircularPad2d as CircularPad2d
from rushlight.nn.padding import CircularPad3d as CircularPad3d
from rushlight.nn.padding import ConstantPad1d as ConstantPad1d
from rushlight.nn.padding import ConstantPad2d as ConstantPad2d
from rushlight.nn.padding import ConstantPad3d as ConstantPad3d
from rushlight.nn.containers import Container as Container
from rushlight.nn.convolution import Conv1d as Conv1d
from rushlight.nn.convolution import Conv2d as Conv2d
from rushlight.nn.convolution import Conv3d as Conv3d
from rushlight.nn.convolution import ConvTranspose1d as ConvTranspose1d
from rushlight.nn.convolution import ConvTranspose2d as ConvTranspose2d
from rushlight.nn.convolution import ConvTranspose3d as ConvTranspose3d
from rushlight.nn.losses import CosineEmbeddingLoss as CosineEmbeddingLoss
from rushlight.nn.distance import CosineSimilarity as CosineSimilarity
from rushlight.nn.losses import CrossEntropyLoss as CrossEntropyLoss
from rushlight.nn.response_norm import CrossMapLRN2d as CrossMapLRN2d
from rushlight.nn.parallel.data_parallel import DataParallel as DataParallel
from rushlight.nn.dropout import Dropout as Dropout
from rushlight.nn.dropout import Dropout1d as Dropout1d
from rushlight.nn.dropout import Dropout2d as Dropout2d
from rushlight.nn.dropout import Dropout3d as Dropout3d
from rushlight.nn.activation import ELU as ELU
from rushlight.nn.embedding import Embedding as Embedding
from rushlight.nn.embedding import EmbeddingBag as EmbeddingBag
from rushlight.nn.dropout import FeatureAlphaDropout as FeatureAlphaDropout
from rushlight.nn.linear import Flatten as Flatten
from rushlight.nn.resizing import Fold as Fold
from rushlight.nn.unpooling import FractionalMaxPool2d as FractionalMaxPool2d
from rushlight.nn.unpooling import FractionalMaxPool3d as FractionalMaxPool3d
from rushlight.nn.activation import GELU as GELU
from rushlight.nn.activation import GLU as GLU
from rushlight.nn.recurrent import GRU as GRU
from rushlight.nn.recurrent import GRUCell as GRUCell
from rushlight.nn.losses import GaussianNLLLoss as GaussianNLLLoss
from rushlight.nn.normalization import GroupNorm as GroupNorm
from rushlight.nn.activation import Hardshrink as Hardshrink
from rushlight.nn.activation import Hardsigmoid as Hardsigmoid
from rushlight.nn.activation import Hardswish as Hardswish
from rushlight.nn.activation import Hardtanh as Hardtanh
from rushlight.nn.losses import HingeEmbeddingLoss as HingeEmbeddingLoss
from rushlight.nn.losses import HuberLoss as HuberLoss
from rushlight.nn.activation import Identity as Identity
from rushlight.nn.normalization import InstanceNorm1d as InstanceNorm1d
from rushlight.nn.normalization import InstanceNorm2d as InstanceNorm2d
from rushlight.nn.normalization import InstanceNorm3d as InstanceNorm3d
from rushlight.nn.losses import KLDivLoss as KLDivLoss
from rushlight.nn.losses import L1Loss as L1Loss
from rushlight.nn.unpooling import LPPool1d as LPPool1d
from rushlight.nn.unpooling import LPPool2d as LPPool2d
from rushlight.nn.unpooling import LPPool3d as LPPool3d
from rushlight.nn.recurrent import LSTM as LSTM
from rushlight.nn.recurrent import LSTMCell as LSTMCell
from rushlight.nn.normalization import LayerNorm as LayerNorm
from rushlight.nn.lazy import LazyBatchNorm1d as LazyBatchNorm1d
from rushlight.nn.lazy import LazyBatchNorm2d as LazyBatchNorm2d
from rushlight.nn.lazy import LazyBatchNorm3d as LazyBatchNorm3d
from rushlight.nn.lazy import LazyConv1d as LazyConv1d
from rushlight.nn.lazy import LazyConv2d as LazyConv2d
from rushlight.nn.lazy import LazyConv3d as LazyConv3d
from rushlight.nn.lazy import LazyConvTranspose1d as LazyConvTranspose1d
from rushlight.nn.lazy import LazyConvTranspose2d as LazyConvTranspose2d
from rushlight.nn.lazy import LazyConvTranspose3d as LazyConvTranspose3d
from rushlight.nn.lazy import LazyInstanceNorm1d as LazyInstanceNorm1d
from rushlight.nn.lazy import LazyInstanceNorm2d as LazyInstanceNorm2d
from rushlight.nn.lazy import LazyInstanceNorm3d as LazyInstanceNorm3d
from rushlight.nn.lazy import LazyLinear as LazyLinear
from rushlight.nn.activation import LeakyReLU as LeakyReLU
from rushlight.nn.linear import Linear as Linear
from rushlight.nn.margin_losses import LinearCrossEntropyLoss as LinearCrossEntropyLoss
from rushlight.nn.margin_losses import LinearCrossEntropyOptions as LinearCrossEntropyOptions
from rushlight.nn.response_norm import LocalResponseNorm as LocalResponseNorm
from rushlight.nn.activation import LogSigmoid as LogSigmoid
from rushlight.nn.activation import LogSoftmax as LogSoftmax
from rushlight.nn.losses import MSELoss as MSELoss
from rushlight.nn.losses import MarginRankingLoss as MarginRankingLoss
from rushlight.nn.pooling import MaxPool1d as MaxPool1d
from rushlight.nn.pooling import MaxPool2d as MaxPool2d
from rushlight.nn.pooling import MaxPool3d as MaxPool3d
from rushlight.nn.unpooling import MaxUnpool1d as MaxUnpool1d
from rushlight.nn.unpooling import MaxUnpool2d as MaxUnpool2d
from rushlight.nn.unpooling import MaxUnpool3d as MaxUnpool3d
from rushlight.nn.activation import Mish as Mish
from rushlight.nn.module import Module as Module
from rushlight.nn.containers import ModuleDict as ModuleDict
from rushlight.nn.containers import ModuleList as ModuleList
from rushlight.nn.margin_losses import MultiLabelMarginLoss as MultiLabelMarginLoss
from rushlight.nn.margin_losses import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
from rushlight.nn.margin_losses import MultiMarginLoss as MultiMarginLoss
from rushlight.nn.multihead import MultiheadAttention as MultiheadAttention
from rushlight.nn.losses import NLLLoss as NLLLoss
from rushlight.nn.margin_losses import NLLLoss2d as NLLLoss2d
from rushlight.nn.activation import PReLU as PReLU
from rushlight.nn.distance import PairwiseDistance as PairwiseDistance
from rushlight.tensor.tensor import Parameter as Parameter
from rushlight.nn.parameter_containers import ParameterDict as ParameterDict
from rushlight.nn.parameter_containers import ParameterList as ParameterList
from rushlight.nn.resizing import PixelShuffle as PixelShuffle
from rushlight.nn.resizing import PixelUnshuffle as PixelUnshuffle
from rushlight.nn.losses import PoissonNLLLoss as PoissonNLLLoss
from rushlight.nn.normalization import RMSNorm as RMSNorm
from rushlight.nn.recurrent import RNN as RNN
from rushlight.nn.recurrent import RNNBase as RNNBase
from rushlight.nn.recurrent import RNNCell as RNNCell
from rushlight.nn.recurrent import RNNCellBase as RNNCellBase
from rushlight.nn.activation import RReLU as RReLU
from rushlight.nn.activation import ReLU as ReLU
from rushlight.nn.activation import ReLU6 as ReLU6
from rushlight.nn.padding import ReflectionPad1d as ReflectionPad1d
from rushlight.nn.padding import ReflectionPad2d as ReflectionPad2d
from rushlight.nn.padding import ReflectionPad3d as ReflectionPad3d
from rushlight.nn.padding import ReplicationPad1d as ReplicationPad1d
from rushlight.nn.padding import ReplicationPad2d as ReplicationPad2d
from rushlight.nn.padding import ReplicationPad3d as ReplicationPad3d
from rushlight.nn.activation import SELU as SELU
from rushlight.nn.containers import Sequential as Sequential
from rushlight.nn.activation import SiLU as SiLU
from rushlight.nn.activation import Sigmoid as Sigmoid
from rushlight.nn.losses import SmoothL1Loss as SmoothL1Loss
from rushlight.nn.losses import SoftMarginLoss as SoftMarginLoss
from rushlight.nn.activation import Softmax as Softmax
from rushlight.nn.activation import Softmax2d as Softmax2d
from rushlight.nn.activation import Softmin as Softmin
from rushlight.nn.activation import Softplus as Softplus
from rushlight.nn.activation import Softshrink as Softshrink
from rushlight.nn.activation import Softsign as Softsign
from rushlight.nn.response_norm import SyncBatchNorm as SyncBatchNorm
from rushlight.nn.activation import Tanh as Tanh
from rushlight.nn.activation import Tanhshrink as Tanhshrink
from rushlight.nn.activation import Threshold as Threshold
from rushlight.nn.transformer import Transformer as Transformer
from rushlight.nn.transformer import TransformerDecoder as TransformerDecoder
from rushlight.nn.transformer import TransformerDecoderLayer as TransformerDecoderLayer
from rushlight.nn.transformer import TransformerEncoder as TransformerEncoder
from rushlight.nn.transformer import TransformerEncoderLayer as TransformerEncoderLayer
from rushlight.nn.losses import TripletMarginLoss as TripletMarginLoss
from rushlight.nn.margin_losses import TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss
from rushlight.nn.linear import Unflatten as Unflatten
from rushlight.nn.resizing import Unfold as Unfold
from rushlight.nn.lazy import UninitializedBuffer as UninitializedBuffer
from rushlight.nn.lazy import UninitializedParameter as UninitializedParameter
from rushlight.nn.resizing import Upsample as Upsample
from rushlight.nn.resizing import UpsamplingBilinear2d as UpsamplingBilinear2d
from rushlight.nn.resizing import UpsamplingNearest2d as UpsamplingNearest2d
from rushlight.nn.padding import ZeroPad1d as ZeroPad1d
from rushlight.nn.padding import ZeroPad2d as ZeroPad2d
from rushlight.nn.padding import ZeroPad3d as ZeroPad3d
activation: Any
adaptive: Any
batchnorm: Any
channelshuffle: Any
container: Any
conv: Any
distance: Any
dropout: Any
flatten: Any
fold: Any
instancenorm: Any
lazy: Any
linear: Any
linear_cross_entropy: Any
loss: Any
module: Any
normalization: Any
padding: Any
pixelshuffle: Any
pooling: Any
rnn: Any
sparse: Any
transformer: Any
upsampling: Any
utils: Any
