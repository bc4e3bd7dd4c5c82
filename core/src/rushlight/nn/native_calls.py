"""Functions of the top level that take what :mod:`rushlight.nn.functional`'s take in another order.

PyTorch's layers call them with everything spelled out; programs meet them as ``torch.embedding`` or
``torch.lstm``. A `reduction` is a number here: 0 (their default) for none, 1 for the mean, 2 for
the sum.
"""

from __future__ import annotations

import inspect
import operator

from rushlight.dtypes import bool_
from rushlight.errors import argument_error
from rushlight.nn import functional as F
from rushlight.ops._table.aten import RUNS, in_aten
from rushlight.ops._table.numpy_names import numpy_names
from rushlight.ops._table.value_sized import value_sized
from rushlight.ops.creation.tensors import empty_like
from rushlight.ops.linalg.matrix_norm import linalg_matrix_norm, linalg_vector_norm
from rushlight.ops.neural import dropout as noise
from rushlight.tensor.overriding import overridable
from rushlight.tensor.tensor import Tensor

_REDUCTIONS = ("none", "mean", "sum")


def _reduction(op, value):
    if type(value) is not int or not 0 <= value < 3:
        raise argument_error(op, "reduction", "0 (none), 1 (mean) or 2 (sum)", value)
    return _REDUCTIONS[value]


# ------------------------------------------------------------------------------------ normalization
@overridable(as_given=True)
def batch_norm(
    input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled=True
):
    """:func:`rushlight.nn.functional.batch_norm`, weight and bias before the running statistics."""
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@overridable(as_given=True)
def instance_norm(
    input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps,
    cudnn_enabled=True,
):  # fmt: skip
    """:func:`rushlight.nn.functional.instance_norm`, weight and bias before the statistics."""
    return F.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


@overridable(as_given=True)
@numpy_names
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05, cudnn_enable=True):
    """:func:`rushlight.nn.functional.layer_norm`."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


@overridable(as_given=True)
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05, cudnn_enabled=True):
    """:func:`rushlight.nn.functional.group_norm`."""
    return F.group_norm(input, num_groups, weight, bias, eps)


@overridable(as_given=True)
@numpy_names
def rms_norm(input, normalized_shape, weight=None, eps=None):
    """:func:`rushlight.nn.functional.rms_norm`."""
    return F.rms_norm(input, normalized_shape, weight, eps)


# --------------------------------------------------------------------------------------- embeddings
@overridable(as_given=True)
def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """Rows of `weight`, the table first; see :func:`rushlight.nn.functional.embedding`."""
    padding_idx = None if padding_idx == -1 else padding_idx
    return F.embedding(indices, weight, padding_idx, None, 2.0, scale_grad_by_freq, sparse)


# ------------------------------------------------------------------------------------------ dropout
def _chance(p):
    """A probability; the functions of the top level raise RuntimeError for what is none."""
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    return p


@in_aten("dropout(Tensor input, float p, bool train) -> Tensor")
@overridable(as_given=True)
@numpy_names
def dropout(input, p, train):
    """:func:`rushlight.nn.functional.dropout`."""
    return F.dropout(input, _chance(p), train)


@overridable(as_given=True)
@numpy_names
def dropout_(input, p, train):
    """In-place version of :func:`dropout`."""
    return F.dropout(input, _chance(p), train, True)


@in_aten("alpha_dropout(Tensor input, float p, bool train) -> Tensor")
@overridable(as_given=True)
@numpy_names
def alpha_dropout(input, p, train):
    """:func:`rushlight.nn.functional.alpha_dropout`."""
    return F.alpha_dropout(input, _chance(p), train)


@overridable(as_given=True)
@numpy_names
def alpha_dropout_(input, p, train):
    """In-place version of :func:`alpha_dropout`."""
    return F.alpha_dropout(input, _chance(p), train, True)


@in_aten("feature_dropout(Tensor input, float p, bool train) -> Tensor")
@overridable(as_given=True)
@numpy_names
def feature_dropout(input, p, train):
    """Dropout of whole channels, of input with any number of dimensions behind them."""
    return noise._channels(input, _chance(p), train, False)


@overridable(as_given=True)
@numpy_names
def feature_dropout_(input, p, train):
    """In-place version of :func:`feature_dropout`."""
    return noise._channels(input, _chance(p), train, True)


@in_aten("feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor")
@overridable(as_given=True)
@numpy_names
def feature_alpha_dropout(input, p, train):
    """:func:`rushlight.nn.functional.feature_alpha_dropout`."""
    return F.feature_alpha_dropout(input, _chance(p), train)


@overridable(as_given=True)
@numpy_names
def feature_alpha_dropout_(input, p, train):
    """In-place version of :func:`feature_alpha_dropout`."""
    return F.feature_alpha_dropout(input, _chance(p), train, True)


@in_aten("native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)")
@overridable(as_given=True)
@numpy_names
def native_dropout(input, p, train):
    """Dropout and the mask of what it kept."""
    if not train:
        return input.clone(), empty_like(input, dtype=bool_).fill_(True)
    kept = empty_like(input).bernoulli_(1 - p)
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return input * kept * scale, kept.bool()


# ------------------------------------------------------------------------------------------- losses
@overridable(as_given=True)
def ctc_loss(
    log_probs, targets, input_lengths, target_lengths, blank=0, reduction=0, zero_infinity=False
):
    """:func:`rushlight.nn.functional.ctc_loss`."""
    reduction = _reduction("ctc_loss", reduction)
    return F.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity
    )


@overridable(as_given=True)
def kl_div(input, target, reduction=0, *, log_target=False):
    """:func:`rushlight.nn.functional.kl_div`; the mean is over all elements."""
    loss = F.kl_div(input, target, reduction="none", log_target=log_target)
    reduction = _reduction("kl_div", reduction)
    return loss if reduction == "none" else getattr(loss, reduction)()


@overridable(as_given=True)
def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=0):
    """:func:`rushlight.nn.functional.binary_cross_entropy_with_logits`."""
    reduction = _reduction("binary_cross_entropy_with_logits", reduction)
    return F.binary_cross_entropy_with_logits(
        input, target, weight, reduction=reduction, pos_weight=pos_weight
    )


@overridable(as_given=True)
def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=0):
    """:func:`rushlight.nn.functional.cosine_embedding_loss`."""
    reduction = _reduction("cosine_embedding_loss", reduction)
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=reduction)


@overridable(as_given=True)
@numpy_names
def hinge_embedding_loss(input, target, margin=1.0, reduction=0):
    """:func:`rushlight.nn.functional.hinge_embedding_loss`."""
    reduction = _reduction("hinge_embedding_loss", reduction)
    return F.hinge_embedding_loss(input, target, margin, reduction=reduction)


@overridable(as_given=True)
def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=0):
    """:func:`rushlight.nn.functional.margin_ranking_loss`."""
    reduction = _reduction("margin_ranking_loss", reduction)
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=reduction)


@overridable(as_given=True)
def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """:func:`rushlight.nn.functional.poisson_nll_loss`."""
    reduction = _reduction("poisson_nll_loss", reduction)
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=reduction)


@overridable(as_given=True)
def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2, eps=1e-06, swap=False, reduction=0
):
    """:func:`rushlight.nn.functional.triplet_margin_loss`."""
    reduction = _reduction("triplet_margin_loss", reduction)
    return F.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=reduction
    )


def _by_mean(function):
    """The same with ATen's default, the mean."""
    signature = inspect.signature(function)

    def run(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.arguments.setdefault("reduction", 1)
        return function(*bound.args, **bound.kwargs)

    return run


_BY_MEAN = (kl_div, cosine_embedding_loss, hinge_embedding_loss, margin_ranking_loss,
            triplet_margin_loss, ctc_loss)  # fmt: skip
RUNS.update(
    zip(map(operator.attrgetter("__name__"), _BY_MEAN), map(_by_mean, _BY_MEAN), strict=True)
)


@in_aten("soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor")
def _soft_margin_loss(self, target, reduction=1):
    """:func:`rushlight.nn.functional.soft_margin_loss`."""
    return F.soft_margin_loss(self, target, reduction=_reduction("soft_margin_loss", reduction))


# ------------------------------------------------------------------------------------------- others
@overridable(as_given=True)
@numpy_names
def pairwise_distance(x1, x2, p=2.0, eps=1e-06, keepdim=False):
    """:func:`rushlight.nn.functional.pairwise_distance`."""
    return F.pairwise_distance(x1, x2, p, eps, keepdim)


@overridable(as_given=True)
@numpy_names
def adaptive_max_pool1d(input, output_size):
    """:func:`rushlight.nn.functional.adaptive_max_pool1d` with the positions of the maxima."""
    return F.adaptive_max_pool1d(input, output_size, True)


@in_aten(
    "convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
    "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor"
)
@overridable(as_given=True)
def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """A convolution, transposed or not, of as many dimensions as `weight` has behind two."""
    count = weight.dim() - 2
    if count not in (1, 2, 3):
        raise RuntimeError(f"convolution: weight must have 3 to 5 dimensions, got {weight.dim()}")
    if transposed:
        function = getattr(F, f"conv_transpose{count}d")
        return function(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return getattr(F, f"conv{count}d")(input, weight, bias, stride, padding, dilation, groups)


_BACKEND_SWITCHES = ("benchmark", "deterministic", "cudnn_enabled", "allow_tf32")


def _convolution(input, weight, bias, *settings, **named):
    """:func:`convolution` by the name that traces have; the switches of backends that follow its
    six settings change nothing."""
    for switch in _BACKEND_SWITCHES:
        named.pop(switch, None)
    return convolution(input, weight, bias, *settings[:6], **named)


@overridable(as_given=True)
@numpy_names
def frobenius_norm(input, dim=None, keepdim=False):
    """The square root of the sum of squares over `dim` (all)."""
    return linalg_vector_norm(input, 2, dim, keepdim)


@overridable(as_given=True)
@numpy_names
def nuclear_norm(input, dim=None, keepdim=False):
    """The sum of singular values of matrices over two dimensions (the last); also written
    ``nuclear_norm(input, keepdim)``."""
    if isinstance(dim, bool):
        dim, keepdim = None, dim
    return linalg_matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim)


# ---------------------------------------------------------------------------------- recurrent nets
_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_PADDED = ("input", "hx", "params", "has_biases", "num_layers", "dropout", "train",
           "bidirectional", "batch_first")  # fmt: skip
_PACKED = ("data", "batch_sizes", *_PADDED[1:-1])


def _is_packed(values):
    """Whether the values of a call are data and batch sizes: nine values, too, where those of
    padded input are."""
    return not isinstance(values[_PADDED.index("has_biases")], bool)


def _packed_states(draw, *values):
    """Forms of the results over packed data: the rows of the output are those of the data."""
    if not _is_packed(values):
        return NotImplemented
    given = dict(zip(_PACKED, values, strict=True))
    states = given["hx"] if isinstance(given["hx"], list | tuple) else [given["hx"]]
    width = states[0].shape[2] * (2 if given["bidirectional"] else 1)
    output = given["data"].new_empty((given["data"].shape[0], width))
    return (output, *(state.new_empty(state.shape) for state in states))


def _in_aten(states):
    """Declare both overloads in ATen of a layer with `states` of state."""
    hx, results = ("Tensor[] hx", "Tensor, Tensor, Tensor") if states == 2 else (
        "Tensor hx", "Tensor, Tensor")  # fmt: skip
    rest = (
        f"{hx}, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool "
        "bidirectional"
    )

    def decorate(function):
        name, signature = function.__name__, inspect.signature(function)

        def call(*args, **kwargs):
            values = tuple(signature.bind(*args, **kwargs).arguments.values())
            names = _PACKED if _is_packed(values) else _PADDED
            return name, dict(zip(names, values, strict=True))

        RUNS[name] = function
        function = value_sized(_packed_states)(function)
        return in_aten(
            f"{name}.input(Tensor input, {rest}, bool batch_first) -> ({results})",
            f"{name}.data(Tensor data, Tensor batch_sizes, {rest}) -> ({results})",
            call=call,
        )(function)

    return decorate


def _recurrent(kind, values, **options):
    """A layer over padded input or packed data: its output, and its states."""
    if _is_packed(values):
        from rushlight.nn.utils.rnn import PackedSequence

        data, batch_sizes, *rest = values
        input, batch_first = PackedSequence(data, batch_sizes), False
    else:
        input, *rest, batch_first = values
    output, states = _layers(kind, input, *rest, batch_first, **options)
    return (output.data if _is_packed(values) else output), states


def _layers(kind, input, hx, params, has_biases, layers, p, train, bidirectional, batch_first,
            **options):  # fmt: skip
    from rushlight import nn
    from rushlight.nn.utils.stateless import called

    expected = layers * (2 if bidirectional else 1) * (4 if has_biases else 2)
    if len(params) < 2:
        raise RuntimeError(f"{kind.lower()}: expected {expected} parameters, got {len(params)}")
    hidden, state = params[1].shape[0] // _GATES[kind], params[1].shape[1]
    if state != hidden:  # projected
        options["proj_size"] = state
    module = getattr(nn, kind)(
        params[0].shape[1], hidden, layers, bias=has_biases, batch_first=batch_first,
        dropout=p, bidirectional=bidirectional, device="meta", **options,
    )  # fmt: skip
    module.train(train)
    names = [name for name, _ in module.named_parameters()]
    if len(names) != len(params):
        raise RuntimeError(f"{kind.lower()}: expected {len(names)} parameters, got {len(params)}")
    hx = tuple(hx) if kind == "LSTM" else hx
    return called(module, dict(zip(names, params, strict=True)), (input, hx))


@_in_aten(states=2)
@overridable(as_given=True)
def lstm(
    input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
) -> tuple[Tensor, Tensor, Tensor]:
    """A long short-term memory: output, hidden and cell state; see :class:`rushlight.nn.LSTM`.
    `params` are its weights and biases, layer by layer. Of packed data: ``lstm(data, batch_sizes,
    hx, params, has_biases, num_layers, dropout, train, bidirectional)``."""
    values = (
        input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    )  # fmt: skip
    out, (hidden, cell) = _recurrent("LSTM", values)
    return out, hidden, cell


@_in_aten(states=1)
@overridable(as_given=True)
def gru(
    input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
) -> tuple[Tensor, Tensor]:
    """A gated recurrent unit: output and hidden state; see :class:`rushlight.nn.GRU`. Of packed
    data as :func:`lstm`."""
    values = (
        input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    )  # fmt: skip
    return _recurrent("GRU", values)


@_in_aten(states=1)
@overridable(as_given=True)
def rnn_tanh(
    input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
) -> tuple[Tensor, Tensor]:
    """An Elman network with tanh: output and hidden state; see :class:`rushlight.nn.RNN`. Of
    packed data as :func:`lstm`."""
    values = (
        input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    )  # fmt: skip
    return _recurrent("RNN", values, nonlinearity="tanh")


@_in_aten(states=1)
@overridable(as_given=True)
def rnn_relu(
    input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
) -> tuple[Tensor, Tensor]:
    """An Elman network with relu: output and hidden state; see :class:`rushlight.nn.RNN`. Of
    packed data as :func:`lstm`."""
    values = (
        input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    )  # fmt: skip
    return _recurrent("RNN", values, nonlinearity="relu")


@overridable(as_given=True)
def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None) -> tuple[Tensor, Tensor]:
    """One step of :func:`lstm`: the new hidden and cell state."""
    hidden, cell = hx
    gates = F.linear(input, w_ih, b_ih) + F.linear(hidden, w_hh, b_hh)
    into, forget, new, out = gates.chunk(4, -1)
    cell = forget.sigmoid() * cell + into.sigmoid() * new.tanh()
    return out.sigmoid() * cell.tanh(), cell


@overridable(as_given=True)
def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of :func:`gru`: the new hidden state."""
    reset, update, new = F.linear(input, w_ih, b_ih).chunk(3, -1)
    reset_hidden, update_hidden, new_hidden = F.linear(hx, w_hh, b_hh).chunk(3, -1)
    new = (new + (reset + reset_hidden).sigmoid() * new_hidden).tanh()
    return new + (update + update_hidden).sigmoid() * (hx - new)


@overridable(as_given=True)
@numpy_names
def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of :func:`rnn_tanh`: the new hidden state."""
    return (F.linear(input, w_ih, b_ih) + F.linear(hx, w_hh, b_hh)).tanh()


@overridable(as_given=True)
@numpy_names
def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of :func:`rnn_relu`: the new hidden state."""
    return (F.linear(input, w_ih, b_ih) + F.linear(hx, w_hh, b_hh)).relu()
