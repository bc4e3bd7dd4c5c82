"""Op families that few programs use: declared at first use, so that importing stays quick.

`FAMILIES` names them; the methods and functions they bind stand in `deferred_names`, which
ci/deferred.py writes. Until a family is needed a :class:`Deferred` stands where each of its methods
will be.
"""

from __future__ import annotations

import functools
import importlib

from rushlight.ops._table.deferred_names import FUNCTIONS, METHODS
from rushlight.ops._table.numpy_names import first_by_keyword
from rushlight.ops._table.op import ALIASES, TABLE
from rushlight.tensor.overriding import overridable
from rushlight.tensor.tensor import Tensor

FAMILIES = (
    "neural.native_norms elementwise.floating_point elementwise.complex_numbers "
    "neural.interpolation neural.grid_sampling neural.folding neural.pixels elementwise.gates "
    "neural.attention neural.unpooling losses.margin_losses losses.alignment_loss "
    "reduction.quantiles reduction.histograms reduction.membership reduction.hashing "
    "indexing.scattering shape.stacking shape.view_copies neural.segments "
    "linalg.triangular_systems linalg.factorization linalg.solver linalg.determinant "
    "linalg.eigenvalues linalg.matrix_norm linalg.matrix_functions linalg.other_products "
    "reduction.covariance reduction.differences linalg.distances fft.fourier creation.windows "
    "fft.spectrogram linalg.low_rank linalg.former_names elementwise.special_bessel "
    "elementwise.special_errors elementwise.special_gamma elementwise.special_polynomials "
    "random.variates random.reparameterization shape.rearranging former.former_methods "
    "sparse.layouts creation.sharing shape.memory_layout losses.transducer_loss "
    "signal.recursive_filters signal.suppression linalg.grouped_products elementwise.quantization"
).split()


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


@functools.cache
def load_all():
    """Declare every op there is (nothing happens the second time)."""
    for family in FAMILIES:
        load(family)


def defer():
    """Put a :class:`Deferred` on Tensor for every method of the rare families."""
    for family, methods in METHODS.items():
        for name in methods.split():
            setattr(Tensor, name, Deferred(name, family))


def find(name):
    """The public function of a declared op, of one of its aliases (``absolute``) or of its in-place
    form (``relu_``); None if there is none."""
    found = _function(name)
    if found is not None:
        return found
    for family in _families().get(name, ()):
        load(family)
    found = _function(name)
    if found is None:
        load_all()
        found = _function(name)
    return found


@functools.cache
def _families():
    """The families that bind a name."""
    found = {}
    for names_of in (METHODS, FUNCTIONS):  # most functions are methods too
        for family, words in names_of.items():
            for name in words.split():
                found.setdefault(name, []).append(family)
    return found


def names():
    """The names that :func:`find` finds, those of in-place forms left out."""
    load_all()
    ops = [op for op in TABLE.values() if not _elsewhere(op) and not op.name.startswith("_")]
    return sorted({name for op in ops for name in (op.name, *op.aliases)})


def _function(name):
    op = TABLE.get(name) or TABLE.get(ALIASES.get(name))
    if op is None and name.endswith("_"):  # in-place forms are functions too: ``relu_``, ``zero_``
        found = getattr(Tensor, name, None)
        return found if found is None or hasattr(found, "op") else _first_named(found)
    return None if op is None or _elsewhere(op) else op.function


def _first_named(method):
    """A method that is a function too, whose first argument functions call ``input``."""

    @overridable
    @functools.wraps(method)
    def call(*args, **kwargs):
        if not args:
            args = (first_by_keyword(method.__name__, kwargs),)
        return method(*args, **kwargs)

    return call


def _elsewhere(op):
    """Whether the op is public in a namespace of its own only."""
    return "oracle" in op.options
