"""Passes over graphs: each looks at, divides or draws one; imported at first use."""

import importlib

from rushlight import refusals

_PARTS = (
    "annotate_getitem_nodes dialect fake_tensor_prop graph_drawer graph_manipulation "
    "graph_transform_observer infra net_min_base operator_support param_fetch pass_manager "
    "reinplace shape_prop split_module split_utils splitter_base tools_common utils"
).split()


def __getattr__(name):
    if name in _PARTS:
        return importlib.import_module(f"{__name__}.{name}")
    return refusals.lookup("fx.passes", name)
