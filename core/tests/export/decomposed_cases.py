"""Functions and layers with inputs, whose parts `run_decompositions` writes down."""

from rushlight import nn
from rushlight.dtypes import float64

F = nn.functional
ROWS, SIGNALS, PLANES, HEADS = (2, 4), (2, 3, 4), (1, 2, 6, 6), (2, 2, 3, 4)
CLASSES, SOME = [0, 2], [1, -100]

# Name -> a function and its inputs: shapes, or whole numbers.
FUNCTIONS = {
    "cross entropy": (F.cross_entropy, ROWS, SOME),
    "cross entropy, weighted": (lambda x, t, w: F.cross_entropy(x, t, w), ROWS, CLASSES, (4,)),
    "cross entropy, of a row": (lambda x, t: F.cross_entropy(x, t), (4,), 2),
    "cross entropy, summed": (
        lambda x, t: F.cross_entropy(x, t, reduction="sum", ignore_index=2), ROWS, CLASSES,
    ),
    "cross entropy, smooth": (
        lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1), ROWS, CLASSES,
    ),
    "cross entropy, smooth and weighted": (
        lambda x, t, w: F.cross_entropy(x, t, w, label_smoothing=0.1), ROWS, CLASSES, (4,),
    ),
    "cross entropy, smooth and weighted, of planes": (
        lambda x, t, w: F.cross_entropy(x, t, w, label_smoothing=0.1),
        (2, 3, 2), [[0, 1], [2, -100]], (3,),
    ),
    "cross entropy, smooth and weighted, of a row": (
        lambda x, t, w: F.cross_entropy(x, t, w, label_smoothing=0.1), (4,), 2, (4,),
    ),
    "cross entropy, smooth probabilities": (
        lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1, reduction="none"), ROWS, ROWS,
    ),
    "cross entropy, of probabilities": (F.cross_entropy, ROWS, ROWS),
    "nll, of planes": (
        lambda x, t: F.nll_loss(x, t, reduction="none"), (2, 3, 2), [[0, 1], [2, 1]],
    ),
    "mse": (F.mse_loss, ROWS, ROWS),
    "mse, weighted": (lambda x, y, w: F.mse_loss(x, y, weight=w), ROWS, ROWS, ROWS),
    "l1": (lambda x, y: F.l1_loss(x, y, reduction="sum"), ROWS, ROWS),
    "smooth l1": (lambda x, y: F.smooth_l1_loss(x, y, beta=0.3), ROWS, ROWS),
    "smooth l1, sharp": (lambda x, y: F.smooth_l1_loss(x, y, beta=0.0), ROWS, ROWS),
    "huber": (lambda x, y: F.huber_loss(x, y, delta=0.3, reduction="none"), ROWS, ROWS),
    "binary cross entropy": (F.binary_cross_entropy, ROWS, ROWS),
    "binary cross entropy, of logits": (
        lambda x, y, w: F.binary_cross_entropy_with_logits(x, y, w, pos_weight=w), ROWS, ROWS, ROWS,
    ),
    "kl div": (lambda x, y: F.kl_div(x, y, reduction="none"), ROWS, ROWS),
    "kl div, of logarithms": (
        lambda x, y: F.kl_div(x, y, log_target=True, reduction="sum"), ROWS, ROWS,
    ),
    "multi margin": (F.multi_margin_loss, ROWS, CLASSES),
    "attention": (F.scaled_dot_product_attention, HEADS, HEADS, HEADS),
    "attention, causal": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), *[HEADS] * 3,
    ),
    "attention, masked": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m > 0.6, scale=0.3),
        *[HEADS] * 3, (3, 3),
    ),
    "attention, dropped": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, dropout_p=0.5), *[HEADS] * 3,
    ),
    "attention, grouped": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        (2, 4, 3, 4), HEADS, HEADS,
    ),
    "dropout": (F.dropout, SIGNALS),
    "dropout of channels": (F.dropout1d, SIGNALS),
    "alpha dropout": (lambda x: F.alpha_dropout(x, training=True), SIGNALS),
    "alpha dropout of channels": (
        lambda x: F.feature_alpha_dropout(x, training=True), SIGNALS,
    ),
    "instance norm": (
        lambda x, w, b: F.instance_norm(x, weight=w, bias=b), SIGNALS, (3,), (3,),
    ),
    "rms norm": (lambda x, w: F.rms_norm(x, [4], w), SIGNALS, (4,)),
    "selu": (lambda x: F.selu(x - 0.5), SIGNALS),
    "celu": (lambda x: F.celu(x - 0.5, 0.7), SIGNALS),
    "mish": (F.mish, SIGNALS),
    "hardswish": (lambda x: F.hardswish(x - 0.5), SIGNALS),
    "hardsigmoid": (lambda x: F.hardsigmoid(x - 0.5), SIGNALS),
    "softplus": (lambda x: F.softplus(x * 30, 2), SIGNALS),
    "softshrink": (lambda x: F.softshrink(x - 0.5, 0.2), SIGNALS),
    "hardshrink": (lambda x: F.hardshrink(x - 0.5, 0.2), SIGNALS),
    "logsigmoid": (lambda x: F.logsigmoid(x * 50 - 25), SIGNALS),
    "glu": (F.glu, SIGNALS),
    "prelu": (lambda x, w: F.prelu(x - 0.5, w), SIGNALS, (3,)),
    "threshold": (lambda x: F.threshold(x, 0.5, 2.0), SIGNALS),
    "softmax in another dtype": (lambda x: F.softmax(x, 1, dtype=float64), SIGNALS),
    "max pool 1d": (lambda x: F.max_pool1d(x, 2, return_indices=True), SIGNALS),
    "max pool 3d": (lambda x: F.max_pool3d(x, 2), (1, 2, 4, 4, 4)),
    "avg pool 1d": (lambda x: F.avg_pool1d(x, 2, padding=1), SIGNALS),
    "adaptive avg pool 1d": (lambda x: F.adaptive_avg_pool1d(x, 1), SIGNALS),
    "adaptive avg pool 3d": (lambda x: F.adaptive_avg_pool3d(x, 1), (1, 2, 4, 4, 4)),
    "adaptive max pool 1d": (lambda x: F.adaptive_max_pool1d(x, 2), SIGNALS),
    "convolution, the same": (lambda x, w: F.conv1d(x, w, padding="same"), SIGNALS, (2, 3, 2)),
    "convolution, transposed": (F.conv_transpose1d, (3, 4), (3, 2, 2)),
    "one hot": (lambda t: F.one_hot(t, 4), CLASSES),
    "reflected": (lambda x: F.pad(x, (1, 2, 2, 1), "reflect"), PLANES),
    "replicated": (lambda x: F.pad(x, (1, 2, 2, 1), "replicate"), PLANES),
    "around": (lambda x: F.pad(x, (1, 2), "circular"), SIGNALS),
    "pixel shuffle": (lambda x: F.pixel_shuffle(x, 2), (1, 4, 3, 3)),
    "pixel unshuffle": (lambda x: F.pixel_unshuffle(x, 2), PLANES),
    "channel shuffle": (lambda x: F.channel_shuffle(x, 2), (1, 4, 3, 3)),
    "cosine similarity": (F.cosine_similarity, ROWS, ROWS),
    "choices": (lambda x: (x.where(x > 0.5, 2.0), 1 - x, x.tril(), x.triu(1)), ROWS),
}  # fmt: skip

LAYERS = {
    "LSTM": (lambda: nn.LSTM(4, 5, 2, bidirectional=True), SIGNALS),
    "LSTM, projected": (lambda: nn.LSTM(4, 5, proj_size=2), SIGNALS),
    "LSTM, dropped": (lambda: nn.LSTM(4, 5, 2, dropout=0.5, bias=False), SIGNALS),
    "LSTM, without a batch": (lambda: nn.LSTM(4, 5), (3, 4)),
    "LSTM, the batch first": (lambda: nn.LSTM(4, 5, batch_first=True), SIGNALS),
    "GRU": (lambda: nn.GRU(4, 5, 2, bidirectional=True), SIGNALS),
    "RNN": (lambda: nn.RNN(4, 5, 2, nonlinearity="relu"), SIGNALS),
    "instance norm, kept": (
        lambda: nn.InstanceNorm1d(3, affine=True, track_running_stats=True), SIGNALS,
    ),
    "instance norm, used": (
        lambda: nn.InstanceNorm1d(3, track_running_stats=True).eval(), SIGNALS,
    ),
    "multi-head attention": (
        lambda: nn.MultiheadAttention(4, 2, dropout=0.5), SIGNALS, SIGNALS, SIGNALS,
    ),
    "transformer": (lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), SIGNALS),
}  # fmt: skip
