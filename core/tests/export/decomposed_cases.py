"""Functions and layers with inputs, whose parts `run_decompositions` writes down."""

from rushlight import nn
from rushlight.dtypes import float64
from rushlight.ops.linalg.distances import cdist

F = nn.functional
ROWS, SIGNALS, PLANES, HEADS = (2, 4), (2, 3, 4), (1, 2, 6, 6), (2, 2, 3, 4)
VOLUMES = (1, 2, 3, 4, 3)
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
    "resize, nearest row": (lambda x: F.interpolate(x, 7), SIGNALS),
    "resize, nearest volume": (lambda x: F.interpolate(x, scale_factor=1.7), VOLUMES),
    "resize, exact row": (
        lambda x: F.interpolate(x, scale_factor=2, mode="nearest-exact"), SIGNALS,
    ),
    "resize, exact plane": (
        lambda x: F.interpolate(x, (7, 4), mode="nearest-exact"), PLANES,
    ),
    "resize, exact volume": (lambda x: F.interpolate(x, 5, mode="nearest-exact"), VOLUMES),
    "resize, linear": (lambda x: F.interpolate(x, scale_factor=1.7, mode="linear"), SIGNALS),
    "resize, linear, aligned": (
        lambda x: F.interpolate(x, 7, mode="linear", align_corners=True), SIGNALS,
    ),
    "resize, linear, to one": (
        lambda x: F.interpolate(x, 1, mode="linear", align_corners=True), SIGNALS,
    ),
    "resize, trilinear": (
        lambda x: F.interpolate(x, (2, 5, 3), mode="trilinear"), VOLUMES,
    ),
    "resize, bicubic": (lambda x: F.interpolate(x, (4, 9), mode="bicubic"), PLANES),
    "resize, bicubic, aligned": (
        lambda x: F.interpolate(x, scale_factor=1.5, mode="bicubic", align_corners=True), PLANES,
    ),
    "resize, area": (lambda x: F.interpolate(x, (4, 3), mode="area"), PLANES),
    "resize, smoothed": (lambda x: F.adaptive_avg_pool3d(x, 2), VOLUMES),
    "windows": (lambda x: F.unfold(x, 3), PLANES),
    "windows, apart": (
        lambda x: F.unfold(x, (2, 3), dilation=(1, 2), padding=(1, 0), stride=(2, 1)), PLANES,
    ),
    "windows, without a batch": (lambda x: F.unfold(x, 2), (2, 4, 3)),
    "windows summed": (
        lambda x: F.fold(x, (6, 6), (2, 3), dilation=(1, 2), padding=(1, 0), stride=(2, 1)),
        (2, 12, 8),
    ),
    "windows summed, without a batch": (lambda x: F.fold(x, (5, 5), 2), (8, 16)),
    "affine grid": (lambda x: F.affine_grid(x, (2, 3, 4, 5), align_corners=False), (2, 2, 3)),
    "affine grid of volumes": (
        lambda x: F.affine_grid(x, (1, 3, 4, 5, 2), align_corners=True), (1, 3, 4),
    ),
    "bilinear": (F.bilinear, (2, 3), (2, 4), (5, 3, 4), (5,)),
    "bilinear, of rows": (lambda x, y, w: F.bilinear(x, y, w), SIGNALS, SIGNALS, (2, 4, 4)),
    "rrelu": (lambda x: F.rrelu(x - 0.5), SIGNALS),
    "rrelu, in training": (lambda x: F.rrelu(x - 0.5, 0.1, 0.4, training=True), SIGNALS),
    "multi-label margin": (F.multilabel_margin_loss, ROWS, [[0, 2, -1, 1], [3, -1, 0, 1]]),
    "multi-label margin, of a row": (
        lambda x, t: F.multilabel_margin_loss(x, t, reduction="sum"), (4,), [3, 0, -1, 1],
    ),
    "multi margin, each": (lambda x, t: F.multi_margin_loss(x, t, reduction="none"), ROWS, CLASSES),
    "multi margin, weighted": (
        lambda x, t, w: F.multi_margin_loss(x, t, p=2, weight=w), ROWS, CLASSES, (4,),
    ),
    "response": (lambda x: F.local_response_norm(x, 3), SIGNALS),
    "response of planes": (lambda x: F.local_response_norm(x, 2), PLANES),
    "distances": (F.pdist, ROWS),
    "distances, of order 1": (lambda x: F.pdist(x, 1.0), ROWS),
    "distances of sets": (lambda x, y: cdist(x, y), (2, 4, 3), (2, 5, 3)),
    "distances of many": (lambda x, y: cdist(x, y), (30, 3), (3, 3)),
    "distances by a product": (
        lambda x, y: cdist(x, -y, compute_mode="use_mm_for_euclid_dist"), (4, 3), (5, 3),
    ),
    "mirrored and cut": (lambda x: F.pad(x, (-1, 2), "reflect"), SIGNALS),
    "repeated and cut": (lambda x: F.pad(x, (2, -1, -1, 1), "replicate"), PLANES),
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
    "weight norm": (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), ROWS),
    "spectral norm": (
        lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3)).eval(), ROWS,
    ),
    "transformer": (lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), SIGNALS),
}  # fmt: skip
