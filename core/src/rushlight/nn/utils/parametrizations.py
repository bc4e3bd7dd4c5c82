"""Parametrizations that are ready to use: weight, spectral and orthogonal."""

from __future__ import annotations

from rushlight.autograd.mode import no_grad
from rushlight.dtypes import finfo
from rushlight.nn.convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from rushlight.nn.functional import normalize
from rushlight.nn.module import Module
from rushlight.nn.utils.parametrize import register_parametrization
from rushlight.nn.utils.spectral_normalization import rows_first
from rushlight.nn.utils.weight_normalization import weight_of
from rushlight.ops.reduction.sums_and_extremes import norm_except_dim


def _named(module, name):
    found = getattr(module, name, None)
    if (
        found is None
        or name not in {**module._parameters, **module._buffers}
        and not hasattr(module, "parametrizations")
    ):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return found


class _WeightNorm(Module):
    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        """The weight of length `weight_g` and direction `weight_v`."""
        return weight_of(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        """Length and direction."""
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """Learn the length and the direction of a weight separately. (Salimans and Kingma, 2016.)"""
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict, prefix, *rest):
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                new = f"{prefix}parametrizations.{name}.original{i}"
                state_dict[new] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        ndim = weight.dim()
        if not -ndim <= dim < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got "
                f"{dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got n_power_iterations="
                f"{n_power_iterations}"
            )
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = rows_first(weight.detach(), self.dim).flatten(1)
            u = matrix.new_empty(matrix.shape[0]).normal_(0, 1)
            v = matrix.new_empty(matrix.shape[1]).normal_(0, 1)
            self.register_buffer("_u", normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", normalize(v, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _iterate(self, matrix, count):
        with no_grad():
            for _ in range(count):
                self._u.copy_(normalize(matrix.mv(self._v), dim=0, eps=self.eps))
                self._v.copy_(normalize(matrix.t().mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight):
        """The weight divided by its largest singular value."""
        if weight.dim() == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = rows_first(weight, self.dim).flatten(1)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / u.vdot(matrix.mv(v))

    def right_inverse(self, value):
        """The value itself: its norm is taken anew."""
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide a weight by its largest singular value. (Miyato et al., 2018.)"""
    weight = _named(module, name)
    if dim is None:
        transposed = isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d))
        dim = 1 if transposed else 0
    made = _SpectralNorm(weight, n_power_iterations, dim, eps)
    register_parametrization(module, name, made)
    return module


class _Orthogonal(Module):
    """Orthogonal matrices from unconstrained ones, times a fixed orthogonal base: ``cayley`` or
    ``matrix_exp`` of the skew-symmetric part, or a product of ``householder`` reflections."""

    def __init__(self, weight, orthogonal_map, use_trivialization):
        super().__init__()
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x):
        """The orthogonal matrix (its columns, or rows of a wide one, are orthonormal)."""
        wide = x.shape[-2] < x.shape[-1]
        x = x.transpose(-2, -1) if wide else x
        q = _reflected(x) if self.orthogonal_map == "householder" else self._rotated(x)
        base = self._buffers.get("base")
        q = q if base is None else base @ q
        return q.transpose(-2, -1) if wide else q

    def _rotated(self, x):
        """The first columns of a rotation: the exponential or Cayley map of a skew matrix."""
        from rushlight.nn.functional import pad
        from rushlight.ops.creation.tensors import eye
        from rushlight.ops.linalg.matrix_functions import linalg_matrix_exp
        from rushlight.ops.linalg.solver import linalg_solve

        n, k = x.shape[-2:]
        lower = x.tril() if n == k else pad(x.tril(), (0, n - k))
        skew = lower - lower.transpose(-2, -1).conj()
        if self.orthogonal_map == "matrix_exp":
            return linalg_matrix_exp(skew)[..., :k]
        identity = eye(n, dtype=x.dtype, device=x.device)
        return linalg_solve(identity - 0.5 * skew, identity + 0.5 * skew)[..., :k]

    def right_inverse(self, weight):
        """Keep the orthogonal factor of `weight` as base; the free matrix starts at minus one on
        its diagonal, which all three maps take to the identity. Without a base the reflections
        that make `weight` are the free matrix."""
        from rushlight.ops.creation.tensors import zeros_like

        wide = weight.shape[-2] < weight.shape[-1]
        tall = weight.transpose(-2, -1) if wide else weight
        if "base" in self._buffers:
            self.base = _completed(tall)
            free = zeros_like(tall)
            free.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        elif self.orthogonal_map == "householder":
            free = _reflections(tall)
        else:
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley "
                "parametrizations when use_trivialization=False."
            )
        return free.transpose(-2, -1) if wide else free


def _reflected(x):
    """The product of the reflections in the columns of `x` below its diagonal, with the signs on
    the diagonal."""
    from rushlight.ops.linalg.matrix_functions import linalg_householder_product

    vectors = x.tril(-1)
    lengths = 2.0 / (1.0 + (vectors * vectors).sum(dim=-2))
    signs = x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
    return linalg_householder_product(vectors, lengths) * signs


def _reflections(tall):
    """The matrix that :func:`_reflected` takes to the orthogonal factor of `tall`."""
    from rushlight.ops.linalg.factorization import geqrf

    vectors, lengths = geqrf(tall)
    diagonal = vectors.diagonal(dim1=-2, dim2=-1)
    diagonal.sign_()
    diagonal[lengths == 0.0] *= -1  # LAPACK left this reflection out
    return vectors


def _completed(tall):
    """A square matrix with orthonormal columns, the first ones those of `tall` made orthonormal;
    the others are drawn."""
    from rushlight.ops.creation.tensors import eye
    from rushlight.ops.linalg.factorization import linalg_qr
    from rushlight.ops.random.sampling import randn
    from rushlight.ops.shape.joining import cat

    n, k = tall.shape[-2:]
    if n == k:
        identity = eye(n, dtype=tall.dtype, device=tall.device)
        near = 10 * n * finfo(tall.dtype).eps
        if (tall.transpose(-2, -1).conj() @ tall).allclose(identity, atol=near):
            return tall.clone()
    else:
        rest = randn((*tall.shape[:-2], n, n - k), dtype=tall.dtype, device=tall.device)
        tall = cat([tall, rest], dim=-1)
    q, r = linalg_qr(tall)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Keep a matrix (or batch of them) orthogonal. (Lezcano-Casado, 2019.)

    `orthogonal_map` is ``"matrix_exp"`` (default for square and complex matrices), ``"cayley"`` or
    ``"householder"`` (default for others; real matrices only).
    """
    weight = _named(module, name)
    if weight.dim() < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions."
        )
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: '
            f"{orthogonal_map}"
        )
    if orthogonal_map == "householder" and weight.is_complex():
        raise ValueError("The householder parametrization does not support complex tensors.")
    made = _Orthogonal(weight, orthogonal_map, use_trivialization)
    register_parametrization(module, name, made, unsafe=True)
    return module


__all__ = ["orthogonal", "spectral_norm", "weight_norm"]
