"""Settings of PyTorch's compiler, with its defaults. `freezing` says that weights do not change
once a call was captured, as there; the others can be set, and change nothing, because kernels here
are made by other rules."""

from __future__ import annotations

from types import SimpleNamespace

conv_1x1_as_mm = False
coordinate_descent_check_all_directions = False
coordinate_descent_tuning = False
cpp_wrapper = False
emulate_precision_casts = False
epilogue_fusion = True
fallback_random = False
force_fuse_int_mm_with_mul = False
force_mixed_mm = False
freezing = False
fx_graph_cache = True
max_autotune = False
max_autotune_gemm = False
max_autotune_pointwise = False
shape_padding = True
use_mixed_mm = True
verbose_progress = False
cpp = SimpleNamespace(threads=-1, simdlen=None, enable_kernel_profile=False)
triton = SimpleNamespace(
    cudagraphs=False,
    cudagraph_trees=True,
    unique_kernel_names=True,
    cudagraph_skip_dynamic_graphs=False,
)
