"""What the tests of ONNX know of the ops of the table."""

from __future__ import annotations

import rushlight

# What ONNX has no operator for, or what reads values; each raises an error that says so.
ABSENT = frozenset(
    """
adjoint allclose argwhere avg_pool2d binomial cholesky cholesky_inverse cholesky_solve digamma equal
erfinv fft_fft fft_fft2 fft_fftn fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_ihfft2 fft_ihfftn
fft_rfft fft_rfft2 fft_rfftn gcd geqrf
hash_tensor histogram histogramdd i0 igamma igammac inverse is_conj isreal istft lcm lgamma
linalg_cholesky linalg_cholesky_ex linalg_cond linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh
linalg_householder_product linalg_inv linalg_inv_ex linalg_ldl_factor linalg_ldl_factor_ex
linalg_ldl_solve linalg_lstsq linalg_lu linalg_lu_factor linalg_lu_factor_ex linalg_lu_solve
linalg_matrix_exp linalg_matrix_norm linalg_matrix_power linalg_matrix_rank linalg_norm linalg_pinv
linalg_qr linalg_slogdet linalg_solve linalg_solve_ex linalg_solve_triangular linalg_svd
linalg_svdvals linalg_tensorinv linalg_tensorsolve lobpcg logdet lu lu_solve lu_unpack masked_select
matrix_exp matrix_power max_pool2d_with_indices_backward mvlgamma nextafter nonzero_static orgqr
ormqr pca_lowrank pdist pinverse poisson polar polygamma put qr resolve_conj slogdet
special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1
special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v
special_chebyshev_polynomial_w special_erfcx special_hermite_polynomial_h
special_hermite_polynomial_he special_i0e special_i1 special_i1e special_laguerre_polynomial_l
special_legendre_polynomial_p special_log_ndtr special_modified_bessel_i0 special_modified_bessel_i1
special_modified_bessel_k0 special_modified_bessel_k1 special_ndtri
special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1
special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u
special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w
special_spherical_bessel_j0 special_zeta stft svd svd_lowrank triangular_solve unique_consecutive
view_as_complex view_as_complex_copy view_as_real view_as_real_copy
""".split()
)


def narrowed(tensor):
    """A sample's tensor as a program would have it: float32."""
    return tensor.float() if tensor.dtype is rushlight.float64 else tensor
