"""Where the public names of the top level live that few programs need: loaded at first use."""

from __future__ import annotations

import importlib

from rushlight import refusals
from rushlight.ops._table.deferred_names import EXPORTED

# Modules of the top level imported at first use.
PARTS = frozenset(
    "_C __config__ _decomp _dynamo _guards _higher_order_ops _inductor _jit_internal _ops "
    "_subclasses _tensor_str _utils "
    "accelerator amp array_api backends chains "
    "compiler cpu distributed distributions export fft func futures fx functional hub jit library "
    "linalg masked mps multiprocessing nested onnx overrides profiler quasirandom random "
    "return_types serialization signal sparse special storage testing types version xpu".split()
)

# Module -> names of the top level it holds.
NAMES = {
    "_C.script_types": (
        "AnyType BoolType ComplexType DeviceObjType DictType FloatType IntType ListType NoneType "
        "NumberType OptionalType PyObjectType StreamObjType StringType SymBoolType SymIntType "
        "TensorType TupleType"
    ),
    "streams": "Event Stream",
    "ops.creation.mapped_files": "from_file",
    "amp.grad_scaler": "GradScaler",
    "amp.unscaling": "_amp_foreach_non_finite_check_and_unscale_ _amp_update_scale_",
    "futures": "Future",
    "amp.mode": (
        "autocast clear_autocast_cache get_autocast_cpu_dtype get_autocast_dtype "
        "get_autocast_gpu_dtype is_autocast_cache_enabled is_autocast_cpu_enabled "
        "is_autocast_enabled set_autocast_cache_enabled set_autocast_cpu_dtype "
        "set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype"
    ),
    "legacy_types": (
        "BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor "
        "IntTensor LongTensor ShortTensor"
    ),
    "inspection": (
        "cond detach get_device get_num_interop_threads is_distributed is_inference is_signed "
        "is_storage is_warn_always_enabled set_num_interop_threads set_warn_always while_loop "
        "_assert _assert_async _shape_as_tensor _check_not_implemented _check_with "
        "_check_tensor_all _check_tensor_all_with _check _check_index _check_is_size _check_type "
        "_check_value "
        "get_deterministic_debug_mode get_device_module get_float32_matmul_precision "
        "is_deterministic_algorithms_warn_only_enabled set_deterministic_debug_mode "
        "set_float32_matmul_precision set_flush_denormal set_vital typename"
    ),
    "capture.compiling": "compile",
    "errors": "OutOfMemoryError",
    "ops.complex_numbers": "complex",
    "func": "vmap",
    "jit": "ScriptFunction ScriptModule",
    "library.tags": "Tag",
    "serialization": "load safetensors save",
    "ops.private_names": "_native_batch_norm_legit _segment_reduce",
    "nn.native_calls": (
        "alpha_dropout alpha_dropout_ batch_norm binary_cross_entropy_with_logits convolution "
        "cosine_embedding_loss ctc_loss dropout dropout_ embedding feature_alpha_dropout "
        "feature_alpha_dropout_ feature_dropout feature_dropout_ frobenius_norm group_norm gru "
        "gru_cell hinge_embedding_loss instance_norm kl_div layer_norm lstm lstm_cell "
        "margin_ranking_loss native_dropout nuclear_norm pairwise_distance poisson_nll_loss "
        "rms_norm rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell triplet_margin_loss "
        "adaptive_max_pool1d _convolution"
    ),
    "nn.packed_calls": "_pack_padded_sequence _pad_packed_sequence",
    "ops.storages": (
        "BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage "
        "ComplexFloatStorage DoubleStorage FloatStorage HalfStorage IntStorage LongStorage "
        "ShortStorage StorageBase TypedStorage UntypedStorage"
    ),
    "tensor.layout": "jagged",
    "symbolic_numbers": (
        "SymBool SymFloat SymInt sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum"
    ),
    "autograd.anomaly": "is_anomaly_check_nan_enabled set_anomaly_enabled",
    "nn.functional": "celu_ rrelu_ selu_ threshold_",
    "ops.unpooling": "max_pool1d_with_indices",
    "utils.dlpack": "to_dlpack",
    "ops.sparse_products": "spmm sspaddmm",
    "sparse": (
        "hspmm smm sparse_bsc sparse_bsc_tensor sparse_bsr sparse_bsr_tensor "
        "sparse_compressed_tensor sparse_coo sparse_coo_tensor sparse_csc sparse_csc_tensor "
        "sparse_csr sparse_csr_tensor"
    ),
}
_PLACES = {
    name: module
    for names_of in (NAMES, EXPORTED)
    for module, names in names_of.items()
    for name in names.split()
}


def find(name: str):
    """A module or name of the top level that is loaded late; None if there is none."""
    if name in PARTS or refusals.is_absent(name):
        return importlib.import_module("rushlight." + name)
    if name == "torch":  # PyTorch's package has its own name as an attribute
        return importlib.import_module("rushlight")
    if name.startswith("_foreach_"):
        return importlib.import_module("rushlight.foreach").find(name)
    if name in _PLACES:
        return getattr(importlib.import_module("rushlight." + _PLACES[name]), name)
    return refusals.Refused(name) if name in refusals.NAMES else None


def names() -> set[str]:
    """Every name that :func:`find` finds and that works."""
    return {n for n in (*PARTS, *_PLACES) if not n.startswith("_")}
