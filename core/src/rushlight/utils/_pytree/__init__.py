# ruff: noqa: F401 - the names of one module of PyTorch
"""Nested structures of lists, tuples, dicts and registered classes, as flat lists and back.

PyTorch's path ``torch.utils._pytree``, which libraries use although its name begins with a line.
"""

from __future__ import annotations

from rushlight.utils._pytree.kinds import (
    CONSTANT_NODES,
    SUPPORTED_NODES,
    ConstantNode,
    GetAttrKey,
    MappingKey,
    SequenceKey,
    _defaultdict_flatten,
    _defaultdict_unflatten,
    _deque_flatten,
    _deque_unflatten,
    _deregister_pytree_node,
    _dict_flatten,
    _dict_flatten_with_keys,
    _dict_unflatten,
    _list_flatten,
    _list_flatten_with_keys,
    _list_unflatten,
    _namedtuple_flatten,
    _namedtuple_flatten_with_keys,
    _namedtuple_unflatten,
    _ordereddict_flatten,
    _ordereddict_flatten_with_keys,
    _ordereddict_unflatten,
    _register_pytree_node,
    _tuple_flatten,
    _tuple_flatten_with_keys,
    _tuple_unflatten,
    is_constant_class,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
    register_constant,
    register_dataclass,
    register_pytree_node,
)
from rushlight.utils._pytree.kinds import Kind as NodeDef
from rushlight.utils._pytree.kinds import is_namedtuple_instance as _is_namedtuple_instance
from rushlight.utils._pytree.paths import (
    KeyEntry,
    KeyPath,
    key_get,
    keystr,
    tree_flatten_with_path,
    tree_leaves_with_path,
    tree_map_with_path,
)
from rushlight.utils._pytree.trees import (
    BUILTIN_TYPES,
    STANDARD_DICT_TYPES,
    Context,
    LeafSpec,
    PyTree,
    TreeSpec,
    _broadcast_to_and_flatten,
    _get_node_type,
    _is_leaf,
    arg_tree_leaves,
    map_only,
    tree_all,
    tree_all_only,
    tree_any,
    tree_any_only,
    tree_flatten,
    tree_is_leaf,
    tree_iter,
    tree_leaves,
    tree_map,
    tree_map_,
    tree_map_only,
    tree_map_only_,
    tree_structure,
    tree_unflatten,
    treespec_dict,
    treespec_leaf,
    treespec_tuple,
)
from rushlight.utils._pytree.writing import treespec_dumps, treespec_loads

PyTreeSpec = TreeSpec
