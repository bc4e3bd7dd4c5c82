"""Small helpers that programs import: messages, seeds, containers of tensors, summaries, norms.

They import modules, data modules and loops; nothing in the loops imports them. Begin reading at
the module that your import names.
"""

from __future__ import annotations

from lightning_lite.lazy import attach

HOMES = {
    "AttributeDict": "configuration",
    "CombinedLoader": "combined_loader",
    "GradClipAlgorithmType": "utilities.enums",
    "LightningEnum": "utilities.enums",
    "MisconfigurationException": "errors",
    "ModelSummary": "utilities.model_summary",
    "Throughput": "utilities.throughput",
    "ThroughputMonitor": "utilities.throughput",
    "apply_to_collection": "utilities.apply_func",
    "disable_possible_user_warnings": "utilities.warnings",
    "find_shared_parameters": "utilities.parameter_tying",
    "grad_norm": "utilities.grads",
    "is_picklable": "utilities.parsing",
    "is_shared_filesystem": "utilities.distributed",
    "measure_flops": "utilities.throughput",
    "move_data_to_device": "utilities.apply_func",
    "rank_zero_deprecation": "utilities.rank_zero",
    "rank_zero_info": "utilities.rank_zero",
    "rank_zero_only": "utilities.rank_zero",
    "rank_zero_warn": "utilities.rank_zero",
    "set_shared_parameters": "utilities.parameter_tying",
    "suggested_max_num_workers": "utilities.data",
    "summarize": "utilities.model_summary",
}
__all__ = sorted(HOMES)
__getattr__ = attach(__name__, HOMES)
