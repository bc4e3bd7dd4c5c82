"""Sums, extremes, variances and norms as core ATen graphs have them."""

from __future__ import annotations

import math

from rushlight.dtypes import get_default_dtype
from rushlight.fx.experimental.core_parts.exact_calls import exact
from rushlight.fx.experimental.core_parts.numbers import chosen
from rushlight.library.operators import lookup
from rushlight.tensor.shape import wrap_dim

_SMALL = 1e-07  # what renorm adds to norms that it divides by


def _spread(target, root, with_mean=False):
    """Variance, or deviation (`root`), by a correction; `with_mean`, the mean too."""

    def run(self, dim=None, unbiased=None, keepdim=False, *, correction=None):
        if isinstance(dim, bool):  # of all elements, the second argument
            dim, unbiased = None, dim
        if unbiased is not None:
            correction = float(unbiased) if root else int(unbiased)
        elif correction is None:
            correction = 1.0 if root else None
        given = () if dim is None else (_listed(dim),)
        named = {} if correction is None else {"correction": correction}
        if keepdim:
            named["keepdim"] = True
        found = exact(target, self, *given, **named)
        if not with_mean:
            return found.sqrt() if root else found
        return (found[0].sqrt(), found[1]) if root else tuple(found)

    return run


def _extremes(self, *, dim=None, keepdim=False):
    given = (self,) if dim is None else (self, [dim])
    named = {"keepdim": True} if keepdim else {}
    aten = lookup("aten")
    return exact(aten.amin.default, *given, **named), exact(aten.amax.default, *given, **named)


def _sum(input, dims, keepdim=False, dtype=None):
    given = (dims, True) if keepdim else (dims,)
    named = {} if dtype is None else {"dtype": dtype}
    return exact(lookup("aten").sum.dim_IntList, input, *given, **named)


def _listed(dim):
    return dim if dim is None else list(dim) if isinstance(dim, tuple | list) else [dim]


def _count_nonzero(self, dim=None):
    return _sum(self != 0, _listed(dim))


def _known(self):
    return chosen(lookup("aten").isnan.default(self), 0, self)


def _nansum(self, dim=None, keepdim=False, *, dtype=None):
    if not self.dtype.is_floating_point:
        return NotImplemented
    return _sum(_known(self), _listed(dim), keepdim, dtype)


def _nanmean(self, dim=None, keepdim=False, *, dtype=None):
    if not self.dtype.is_floating_point:
        return NotImplemented
    aten, dims = lookup("aten"), _listed(dim)
    given = exact(aten.alias.default, self)
    count = _sum(aten.logical_not.default(given != given), dims, keepdim)
    return _sum(_known(self), dims, keepdim, dtype) / count


def _logsumexp(self, dim, keepdim=False):
    if self.dtype.is_complex:
        return NotImplemented
    if not self.dtype.is_floating_point:
        self = self.to(get_default_dtype())
    dims, aten = _listed(dim), lookup("aten")
    if not self.numel():
        return _sum(self.exp(), dims, keepdim).log()
    high = aten.amax.default(self, dims, True)
    high = chosen(high.abs() == math.inf, 0.0, high)
    kept = high if keepdim else exact(aten.squeeze.dims, high, dims)
    return _sum((self - high).exp(), dims, keepdim).log() + kept


def _every(self, dim=None, keepdim=False):
    aten = lookup("aten")
    absent = aten.logical_not.default(self)
    if dim is None:
        some = exact(aten.any.dims, absent)
    else:
        named = (True,) if keepdim else ()
        target = aten.any.dims if isinstance(dim, tuple | list) else aten.any.dim
        some = exact(target, absent, dim, *named)
    return aten.logical_not.default(some)


def _trace(self):
    return self.diagonal().sum()


def _vector_norm(self, *rest):
    return exact(lookup("aten").linalg_vector_norm.default, self, *rest)


def _renorm(self, p, dim, maxnorm):
    dim = wrap_dim(dim, self.dim())
    others = [i for i in range(self.dim()) if i != dim]
    norms = _vector_norm(self, p, others, True)
    factors = (norms + _SMALL).reciprocal() * maxnorm
    return self * chosen(norms > maxnorm, factors, 1.0)


def _norm_except_dim(v, pow=2, dim=0):
    if dim == -1:
        return _vector_norm(v, pow)
    dim = wrap_dim(dim, v.dim())
    return _vector_norm(v, pow, [i for i in range(v.dim()) if i != dim], True)


def _linalg_norm(self, ord=None, dim=None, keepdim=False, *, dtype=None):
    dims = _listed(dim)
    if dtype is not None:
        return NotImplemented
    ndim = self.dim() if dims is None else len(dims)
    if ord is not None and ndim == 2:
        return _matrix_norm(self, ord, dims or (-2, -1), keepdim)
    if ord is not None and ndim != 1:
        return NotImplemented
    rest = () if dims is None and not keepdim else (dims, True) if keepdim else (dims,)
    return _vector_norm(self, 2.0 if ord is None else ord, *rest)


def _matrix_norm(self, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    if dtype is not None or ord not in ("fro", "nuc", 1, -1, math.inf, -math.inf):
        return NotImplemented
    dims = [wrap_dim(each, self.dim()) for each in dim]
    if ord == "fro":
        return _vector_norm(self, 2, dims, *((True,) if keepdim else ()))
    if ord != "nuc":
        return _matrix_extreme(self, float(ord), dims, keepdim)
    if keepdim:
        return NotImplemented
    order = [i for i in range(self.dim()) if i not in dims] + dims
    values = lookup("aten").linalg_svdvals.default(self.permute(*order))
    return _sum(values, [-1])


def _matrix_extreme(self, ord, dims, keepdim):
    """The largest sum of a column or row (1, inf), or the least of them, of distances from zero."""
    summed, left = dims if abs(ord) == 1 else dims[::-1]
    if not keepdim and summed < left:
        left -= 1
    rest, aten = (True,) if keepdim else (), lookup("aten")
    sums = _vector_norm(self, 1.0, [summed], *rest)
    return exact((aten.amax if ord > 0 else aten.amin).default, sums, [left], *rest)


def _of_spreads(aten):
    variance = _spread(aten.var.correction, False)
    deviation = _spread(aten.var.correction, True)
    variance_mean = _spread(aten.var_mean.correction, False, True)
    deviation_mean = _spread(aten.var_mean.correction, True, True)
    std, std_mean = aten.std, aten.std_mean
    return {
        aten.var.default: variance,
        aten.var.dim: variance,
        aten.var_mean.default: variance_mean,
        aten.var_mean.dim: variance_mean,
        **dict.fromkeys((std.default, std.dim, std.correction), deviation),
        **dict.fromkeys((std_mean.default, std_mean.dim, std_mean.correction), deviation_mean),
    }


def parts() -> dict:
    """Overloads -> their parts."""
    aten = lookup("aten")
    return _of_spreads(aten) | {
        aten.aminmax.default: _extremes,
        aten.count_nonzero.default: _count_nonzero,
        aten.count_nonzero.dim_IntList: _count_nonzero,
        aten.nansum.default: _nansum,
        aten.nanmean.default: _nanmean,
        aten.logsumexp.default: _logsumexp,
        aten.all.default: _every,
        aten.all.dim: _every,
        aten.all.dims: _every,
        aten.trace.default: _trace,
        aten.renorm.default: _renorm,
        aten.norm_except_dim.default: _norm_except_dim,
        aten.linalg_norm.default: _linalg_norm,
        aten.linalg_matrix_norm.default: _matrix_norm,
        aten.linalg_matrix_norm.str_ord: _matrix_norm,
    }
