"""Where modules of this package stood before they had families: pickles name functions by them.

A finder after all others gives the module of today under the former name, ``rushlight.ops.matrix``
for ``rushlight.ops.linalg.products``.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys

_FAMILIES = """
_table: _arrays>arrays _attributes>attributes _bindings>bindings _cuda>cuda _deferred>deferred,
_deferred_names>deferred_names _domains>domains _elementwise>elementwise,
_former_calls>former_calls _fusion>fusion _inplace>inplace _inplace_views>inplace_views,
_limited>limited _number_limits>number_limits _numbers>numbers _numpy_names>numpy_names _op>op,
_recording>recording _restoring>restoring _rules>rules _second_order>second_order,
_shape_rules>shape_rules _transfers>transfers
_calls: _cuda_doors>cuda_calls _direct>direct _doors>array_calls,
_elementwise_doors>elementwise_calls _fast>elementwise_prepared _fast_inplace>inplace_prepared,
_known_views>known_views _new_memory>new_memory _quick_pull>quick_pull
_transforms: _batching>batching _batching_convolution>batching_convolution,
_batching_indices>batching_indices _batching_matrix>batching_matrix,
_batching_norms>batching_norms _batching_random>batching_random _batching_rules>batching_rules,
_batching_sparse>batching_sparse _batching_writes>batching_writes,
_custom_functions>custom_functions _differentiation>differentiation _forward>forward,
_tracking>tracking _wrapped_writes>wrapped_writes _wrappers>wrappers
elementwise: activation arithmetic chebyshev_tables comparison complex_numbers exponential,
floating_point gates rounding special_bessel special_errors special_gamma special_polynomials,
trigonometric weighted_sums
reduction: covariance differences hashing histograms membership quantiles,
reduction>sums_and_extremes scan small_reductions sorting variance
shape: complex_views copying joining memory_layout rearranging repetition shape>views stacking,
triangular turning>flipping view_copies
indexing: _assignment>assignment _index_forms>index_forms gathering indexing>items masking,
place_calls>index_calls scattering slicing taking
creation: conversion creation>tensors new_tensors sharing storages windows
random: drawing>compiled_sampling generators random>sampling random_alike reparameterization,
variates
linalg: determinant distances eigenvalues einsum factorization former_names low_rank,
matrix>products matrix_checks matrix_functions matrix_norm product_gradients,
products>other_products solver triangular_systems
neural: attention attention_dropout convolution dropout embedding epilogues folded_weights,
folding full_precision group_normalization interpolation native_norms normalization padding,
pixels pooling recurrence response_normalization sampling>grid_sampling segments softmax,
unpooling
losses: alignment_gradients alignment_loss class_losses losses>pointwise_losses margin_losses,
squared_errors
fft: fourier spectrogram
foreach: foreach>steps
former: former_methods private_names
sparse: held_elements sparse_arrangement>arrangement sparse_compressed>compressed,
sparse_creation>creation sparse_elementwise>elementwise sparse_gradients>gradients,
sparse_history>history sparse_layouts>layouts sparse_patterns>patterns sparse_printing>printing,
sparse_products>products sparse_reduction>reduction sparse_systems>systems,
sparse_tensors>tensors
nested: nested_parts>parts nested_rules>rules nested_tensors>tensors
"""


def _homes():
    """The path of today by the former name, both below ``rushlight.ops``."""
    homes = {}
    for line in _FAMILIES.strip().replace(",\n", " ").splitlines():
        family, _, files = line.partition(":")
        for file in files.split():
            former, _, now = file.partition(">")
            homes[former] = f"{family}.{now or former}"
    return homes


class _Loader:
    """Gives a module that has a name already."""

    def __init__(self, home):
        self.home = home

    def create_module(self, spec):
        """The module of today; its own description is kept for :meth:`exec_module`."""
        module = importlib.import_module(self.home)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module):
        """Nothing is run a second time."""
        spec, module.__spec__ = module.__spec__, module.__spec__.loader_state
        sys.modules[spec.name] = module


class _Finder:
    """Finds former names alone."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """The description of a module by its former name, else None."""
        package, _, file = name.rpartition(".")
        home = _homes().get(file) if package == "rushlight.ops" else None
        if home is None:
            return None
        return importlib.machinery.ModuleSpec(name, _Loader("rushlight.ops." + home))


def install():
    """Find former names from now on."""
    sys.meta_path.append(_Finder)


def names_of(file, package):
    """``__getattr__`` of a package that has the former name of one of its files."""

    def look_up(name):
        own = name.startswith("__") or importlib.util.find_spec(f"{package}.{name}") is not None
        if own:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(importlib.import_module(f"{package}.{file}"), name)
        except AttributeError:
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

    return look_up
