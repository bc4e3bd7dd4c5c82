"""ATen's ops that only decomposed programs call: distances, means, bilinear forms and random
slopes under the names that PyTorch's own functions call them by."""

from __future__ import annotations

from rushlight.ops._table.aten import declared_in_aten, in_aten
from rushlight.ops.elementwise.activation import leaky_relu
from rushlight.ops.elementwise.gates import _drawn_slopes
from rushlight.ops.linalg.distances import cdist, pdist
from rushlight.ops.linalg.einsum import einsum
from rushlight.ops.neural.pooling import adaptive_avg_pool2d, adaptive_avg_pool3d

_LETTERS = "abcdefghijklmnopqrstuvwxyz"

# whose mode is a word in the public function
declared_in_aten("cdist(Tensor x1, Tensor x2, float p=2.0, int? compute_mode=None) -> Tensor")


@in_aten("_pdist_forward(Tensor self, float p=2.0) -> Tensor")
def _pdist_forward(self, p=2.0):
    """:func:`pdist`."""
    return pdist(self, p)


@in_aten("_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor")
def _cdist_forward(x1, x2, p, compute_mode):
    """:func:`cdist`, whose mode is a number: by a matrix product for many rows (0, None), always
    (1) or never (2)."""
    return cdist(x1, x2, p, compute_mode)


@in_aten("_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor")
def _adaptive_avg_pool2d(self, output_size):
    """:func:`adaptive_avg_pool2d`."""
    return adaptive_avg_pool2d(self, output_size)


@in_aten("_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor")
def _adaptive_avg_pool3d(self, output_size):
    """:func:`adaptive_avg_pool3d`."""
    return adaptive_avg_pool3d(self, output_size)


@in_aten(
    "_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, "
    "int[] sumdim, int unroll_dim=1) -> Tensor"
)
def _trilinear(i1, i2, i3, expand1, expand2, expand3, sumdim, unroll_dim=1):
    """The product of three tensors, which lack the dimensions `expand1`, `expand2` and `expand3`,
    summed over `sumdim`; the order of the sum, `unroll_dim`, is that of ``einsum``."""
    letters = _LETTERS[: i1.dim() + len(expand1)]
    subscripts = (
        "".join(letter for i, letter in enumerate(letters) if i not in left_out)
        for left_out in (expand1, expand2, expand3, sumdim)
    )
    *given, result = subscripts
    return einsum(f"{','.join(given)}->{result}", i1, i2, i3)


@in_aten(
    "rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, "
    "Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) "
    "-> (Tensor, Tensor noise_out)"
)
def rrelu_with_noise_functional(
    self, noise, lower=0.125, upper=1.0 / 3, training=False, generator=None
):
    """:func:`rrelu`, and the slopes of all elements in training; else `noise` as it is."""
    if not training:
        return leaky_relu(self, (lower + upper) / 2), noise.clone()
    slopes = _drawn_slopes(self, lower, upper, generator)
    return self * slopes, slopes
