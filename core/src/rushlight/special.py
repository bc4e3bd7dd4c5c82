"""Special functions: the public names of :mod:`rushlight.special`.

>>> rushlight.special.expit(rushlight.tensor([0.0]))
tensor([0.5000])
"""

from __future__ import annotations

from rushlight.ops.elementwise.exponential import (
    digamma,
    erf,
    erfc,
    erfinv,
    exp2,
    expm1,
    log1p,
    logit,
    polygamma,
    xlogy,
)
from rushlight.ops.elementwise.exponential import lgamma as gammaln
from rushlight.ops.elementwise.exponential import sigmoid as expit
from rushlight.ops.elementwise.rounding import round
from rushlight.ops.elementwise.special_bessel import i0
from rushlight.ops.elementwise.special_bessel import special_airy_ai as airy_ai
from rushlight.ops.elementwise.special_bessel import special_bessel_j0 as bessel_j0
from rushlight.ops.elementwise.special_bessel import special_bessel_j1 as bessel_j1
from rushlight.ops.elementwise.special_bessel import special_bessel_y0 as bessel_y0
from rushlight.ops.elementwise.special_bessel import special_bessel_y1 as bessel_y1
from rushlight.ops.elementwise.special_bessel import special_i0e as i0e
from rushlight.ops.elementwise.special_bessel import special_i1 as i1
from rushlight.ops.elementwise.special_bessel import special_i1e as i1e
from rushlight.ops.elementwise.special_bessel import (
    special_modified_bessel_i0 as modified_bessel_i0,
)
from rushlight.ops.elementwise.special_bessel import (
    special_modified_bessel_i1 as modified_bessel_i1,
)
from rushlight.ops.elementwise.special_bessel import (
    special_modified_bessel_k0 as modified_bessel_k0,
)
from rushlight.ops.elementwise.special_bessel import (
    special_modified_bessel_k1 as modified_bessel_k1,
)
from rushlight.ops.elementwise.special_bessel import (
    special_scaled_modified_bessel_k0 as scaled_modified_bessel_k0,
)
from rushlight.ops.elementwise.special_bessel import (
    special_scaled_modified_bessel_k1 as scaled_modified_bessel_k1,
)
from rushlight.ops.elementwise.special_bessel import (
    special_spherical_bessel_j0 as spherical_bessel_j0,
)
from rushlight.ops.elementwise.special_errors import special_entr as entr
from rushlight.ops.elementwise.special_errors import special_erfcx as erfcx
from rushlight.ops.elementwise.special_errors import special_log_ndtr as log_ndtr
from rushlight.ops.elementwise.special_errors import special_ndtr as ndtr
from rushlight.ops.elementwise.special_errors import special_ndtri as ndtri
from rushlight.ops.elementwise.special_errors import special_xlog1py as xlog1py
from rushlight.ops.elementwise.special_gamma import igamma as gammainc
from rushlight.ops.elementwise.special_gamma import igammac as gammaincc
from rushlight.ops.elementwise.special_gamma import mvlgamma as multigammaln
from rushlight.ops.elementwise.special_gamma import special_zeta as zeta
from rushlight.ops.elementwise.special_polynomials import (
    special_chebyshev_polynomial_t as chebyshev_polynomial_t,
)
from rushlight.ops.elementwise.special_polynomials import (
    special_chebyshev_polynomial_u as chebyshev_polynomial_u,
)
from rushlight.ops.elementwise.special_polynomials import (
    special_chebyshev_polynomial_v as chebyshev_polynomial_v,
)
from rushlight.ops.elementwise.special_polynomials import (
    special_chebyshev_polynomial_w as chebyshev_polynomial_w,
)
from rushlight.ops.elementwise.special_polynomials import (
    special_hermite_polynomial_h as hermite_polynomial_h,
)
from rushlight.ops.elementwise.special_polynomials import (
    special_hermite_polynomial_he as hermite_polynomial_he,
)
from rushlight.ops.elementwise.special_polynomials import (
    special_laguerre_polynomial_l as laguerre_polynomial_l,
)
from rushlight.ops.elementwise.special_polynomials import (
    special_legendre_polynomial_p as legendre_polynomial_p,
)
from rushlight.ops.elementwise.special_polynomials import (
    special_shifted_chebyshev_polynomial_t as shifted_chebyshev_polynomial_t,
)
from rushlight.ops.elementwise.special_polynomials import (
    special_shifted_chebyshev_polynomial_u as shifted_chebyshev_polynomial_u,
)
from rushlight.ops.elementwise.special_polynomials import (
    special_shifted_chebyshev_polynomial_v as shifted_chebyshev_polynomial_v,
)
from rushlight.ops.elementwise.special_polynomials import (
    special_shifted_chebyshev_polynomial_w as shifted_chebyshev_polynomial_w,
)
from rushlight.ops.elementwise.trigonometric import sinc
from rushlight.ops.neural.softmax import log_softmax, logsumexp, softmax

psi = digamma

__all__ = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammainc",
    "gammaincc",
    "gammaln",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
    "sinc",
    "softmax",
    "spherical_bessel_j0",
    "xlog1py",
    "xlogy",
    "zeta",
]
