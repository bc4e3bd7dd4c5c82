"""Op families that few programs use: declared at first use, so that importing stays quick.

`RARE` names each such family and the Tensor methods it binds. Until the family is needed a
:class:`Deferred` stands where each method will be.
"""

from __future__ import annotations

import functools
import importlib

from rushlight.ops._numpy_names import first_by_keyword
from rushlight.ops._op import TABLE
from rushlight.tensor.tensor import Tensor

RARE = {
    "native_norms": "",
    "floating_point": (
        "__ilshift__ __irshift__ __lshift__ __rlshift__ __rmod__ __rrshift__ __rshift__ "
        "bitwise_left_shift bitwise_left_shift_ bitwise_right_shift bitwise_right_shift_ "
        "copysign copysign_ float_power float_power_ fmax fmin frexp gcd gcd_ heaviside "
        "heaviside_ isneginf isposinf lcm lcm_ ldexp ldexp_ nan_to_num nan_to_num_ "
        "nextafter nextafter_ signbit"
    ),
    "complex_numbers": (
        "adjoint angle conj_physical conj_physical_ is_conj is_neg isreal resolve_conj resolve_neg"
    ),
    "interpolation": "",
    "sampling": "",
    "folding": "",
    "pixels": "",
    "gates": "prelu",
    "attention": "",
    "unpooling": "",
    "margin_losses": "",
    "alignment_loss": "",
    "quantiles": "aminmax mode nanquantile quantile",
    "histograms": "histc histogram",
    "membership": "unique_consecutive",
    "hashing": "hash_tensor",
    "scattering": (
        "index_reduce index_reduce_ masked_scatter masked_scatter_ nonzero_static put put_ "
        "scatter_reduce scatter_reduce_"
    ),
    "stacking": (
        "dsplit hsplit split_with_sizes unsafe_chunk unsafe_split unsafe_split_with_sizes vsplit"
    ),
    "view_copies": "as_strided_scatter diagonal_scatter narrow_copy select_scatter slice_scatter",
    "segments": "",
    "triangular_systems": "triangular_solve",
    "factorization": "cholesky cholesky_inverse cholesky_solve geqrf lu qr",
    "solver": "inverse lu_solve",
    "determinant": "det logdet slogdet",
    "eigenvalues": "svd",
    "matrix_norm": "",
    "matrix_functions": "cross matrix_exp matrix_power orgqr ormqr pinverse",
    "products": "addr addr_ inner kron trace vdot",
    "covariance": "corrcoef cov",
    "differences": "diff",
    "distances": "renorm renorm_",
    "fourier": "",
    "windows": "",
    "spectrogram": "istft stft",
    "low_rank": "",
    "former_names": "eig lstsq solve symeig",
    "special_bessel": "i0 i0_",
    "special_errors": "",
    "special_gamma": "igamma igamma_ igammac igammac_ mvlgamma mvlgamma_ polygamma polygamma_",
    "special_polynomials": "",
    "variates": "cauchy_ geometric_ log_normal_",
    "reparameterization": "",
    "rearranging": (
        "__reversed__ apply_ diagflat fill fill_diagonal_ fliplr flipud is_same_size map2_ map_ "
        "rot90"
    ),
    "former_methods": (
        "dequantize get_device index new record_stream set_ storage to_mkldnn typed_storage"
    ),
    "sparse_layouts": (
        "_indices _nnz _values ccol_indices coalesce col_indices crow_indices dense_dim indices "
        "is_coalesced row_indices smm sparse_dim sspaddmm sparse_mask sparse_resize_ "
        "sparse_resize_and_clear_ to_dense to_sparse to_sparse_bsc to_sparse_bsr to_sparse_coo "
        "to_sparse_csc to_sparse_csr values"
    ),
    "sharing": "is_shared share_memory_",
    "memory_layout": "dim_order new_empty_strided resize resize_ resize_as resize_as_",
}


class Deferred:
    """A Tensor method whose family is not loaded yet: looking it up loads the family."""

    def __init__(self, name, family):
        self.name, self.family = name, family

    def __get__(self, instance, owner):
        load(self.family)
        return getattr(owner if instance is None else instance, self.name)


def load(family):
    """Declare the ops of a rare family (nothing happens the second time)."""
    return importlib.import_module("rushlight.ops." + family)


def load_all():
    """Declare every op there is."""
    for family in RARE:
        load(family)


def defer():
    """Put a :class:`Deferred` on Tensor for every method of the rare families."""
    for family, methods in RARE.items():
        for name in methods.split():
            setattr(Tensor, name, Deferred(name, family))


def find(name):
    """The public function of a declared op, of one of its aliases (``absolute``) or of its in-place
    form (``relu_``); None if there is none."""
    found = _function(name)
    if found is not None:
        return found
    for family, methods in RARE.items():  # most functions are methods too
        if name in methods.split():
            load(family)
    found = _function(name)
    if found is None:
        load_all()
        found = _function(name)
    return found


def names():
    """The names that :func:`find` finds, those of in-place forms left out."""
    load_all()
    ops = [op for op in TABLE.values() if not _elsewhere(op) and not op.name.startswith("_")]
    return sorted({name for op in ops for name in (op.name, *op.aliases)})


def _function(name):
    op = TABLE.get(name) or TABLE.get(_aliases().get(name))
    if op is None and name.endswith("_"):  # in-place forms are functions too: ``relu_``, ``zero_``
        found = getattr(Tensor, name, None)
        return found if found is None or hasattr(found, "op") else _first_named(found)
    return None if op is None or _elsewhere(op) else op.function


def _first_named(method):
    """A method that is a function too, whose first argument functions call ``input``."""

    @functools.wraps(method)
    def call(*args, **kwargs):
        if not args:
            args = (first_by_keyword(method.__name__, kwargs),)
        return method(*args, **kwargs)

    return call


def _elsewhere(op):
    """Whether the op is public in a namespace of its own only."""
    return "oracle" in op.options


def _aliases():
    return {alias: op.name for op in TABLE.values() for alias in op.aliases}
