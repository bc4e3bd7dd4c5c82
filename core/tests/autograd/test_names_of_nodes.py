"""Names of nodes, which graphs that tools draw and prune show, against PyTorch's."""

from __future__ import annotations

import warnings

import pytest

import rushlight
from rushlight.testing.ops import _oracled, _ours, _theirs, is_differentiable
from rushlight.testing.samples import samples_of
from rushlight.utils._pytree import tree_leaves, tree_map

torch = pytest.importorskip("torch")

# Made of other ops than PyTorch's, or of several where it has one; the set may only become smaller.
COMPOSED = set("""
    sum_to_size polygamma clamp_min clamp_max softsign tanhshrink scatter take_along_dim
    matmul addmm addmv addbmm baddbmm linear dist norm_except_dim conv_transpose3d conv_tbc
    max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d
    adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
    adaptive_max_pool3d var_mean std_mean native_group_norm ldexp float_power polar
    affine_grid affine_grid_generator native_channel_shuffle
    rrelu scaled_dot_product_attention multilabel_margin_loss aminmax quantile nanquantile
    combinations atleast_3d unsafe_split unsafe_split_with_sizes unsafe_chunk diagonal_scatter
    select_scatter slice_scatter as_strided_scatter alias_copy as_strided_copy diagonal_copy
    expand_copy narrow_copy permute_copy select_copy slice_copy split_copy
    split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy
    unsqueeze_copy view_copy segment_reduce triangular_solve cholesky cholesky_inverse
    lu_unpack linalg_lu_solve lu_solve linalg_lstsq linalg_eig linalg_matrix_norm linalg_norm
    linalg_cond linalg_pinv pinverse linalg_matrix_power matrix_power linalg_multi_dot
    chain_matmul linalg_householder_product orgqr ormqr linalg_tensorinv vander kron inner
    vdot addr diff trapezoid trapz cumulative_trapezoid pdist renorm fft_ifft stft istft
    lobpcg special_modified_bessel_i0 special_modified_bessel_i1 special_ndtr special_zeta
    mvlgamma poisson rot90 _addmm_activation _chunk_cat _safe_softmax _unsafe_masked_index
    _unsafe_masked_index_put_accumulate
""".split())  # fmt: skip


def _leaf(value):
    found = value.detach().clone()
    return found.requires_grad_() if found.is_floating_point() else found


def _ours_of(value):
    return _leaf(value) if isinstance(value, rushlight.Tensor) else value


def _theirs_of(value):
    if not isinstance(value, rushlight.Tensor):
        return value
    return _leaf(torch.from_numpy(value.detach().numpy().copy()))


def _names(results, kind):
    nodes = [value.grad_fn for value in tree_leaves(results) if isinstance(value, kind)]
    return [None if node is None else node.name() for node in nodes]


def _differs(op):
    """Whether a sample of an op has another last node than in PyTorch."""
    for args, kwargs in samples_of(op, rushlight.float32)[:4]:
        given = tuple(args), dict(kwargs)
        try:
            (ours, named), (theirs, by_name) = (
                tree_map(convert, given) for convert in (_ours_of, _theirs_of)
            )
            found, expected = _ours(op)(*ours, **named), _theirs(op)(*theirs, **by_name)
        except (RuntimeError, TypeError, ValueError, IndexError):
            continue  # not of float32, which other tests ask for
        expected = list(expected) if isinstance(expected, (list, tuple)) else [expected]
        if _names(found, rushlight.Tensor) != _names(expected, torch.Tensor):
            return True
    return False


def test_nodes_are_called_as_pytorchs():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        differing = {op.name for op in _oracled() if is_differentiable(op) and _differs(op)}
    assert differing == COMPOSED


INDICES = [
    0, -1, slice(1, 2), slice(None), slice(None, None, 2), None, ..., (0, 1), (..., 0),
    (slice(None), 0), (0, slice(1, 2)), (slice(1, 2), 0), (slice(None), None), (0, None), (None, 0),
    (0, 0, 0), (slice(0, 1), ..., None), (slice(None), slice(1, 3)), (0, ...),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_the_last_view_names_what_an_index_gives(index):
    ours, theirs = (lib.ones(4, 5, 6, requires_grad=True) for lib in (rushlight, torch))
    assert ours[index].grad_fn.name() == theirs[index].grad_fn.name()
    assert f"grad_fn=<{theirs[index].grad_fn.name()}>" in repr(ours[index])


@pytest.mark.parametrize("bias, name", [(True, "AddmmBackward0"), (False, "MmBackward0")])
def test_linear_layers_are_products(bias, name):
    for lib in (rushlight, torch):
        assert lib.nn.Linear(3, 2, bias=bias)(lib.ones(4, 3)).grad_fn.name() == name
