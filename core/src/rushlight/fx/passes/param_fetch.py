"""What a backend needs of layers, as attributes of the nodes that call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight
from rushlight import nn
from rushlight.fx.graph_module import GraphModule


def default_matching(name: str, target_version: int) -> str:
    """The name of an attribute in a layer of version `target_version`: the same in all."""
    return name


# By class: the version of the layer that the names are those of, the names, and what finds a name
# in another version. Programs may add classes of their own.
module_fetch_book: dict[type, tuple[int, list[str], Callable[[str, int], str]]] = {
    nn.Linear: (1, ["weight", "bias"], default_matching),
    nn.Conv2d: (
        1,
        "weight bias kernel_size stride padding dilation groups padding_mode".split(),
        default_matching,
    ),
    nn.BatchNorm2d: (2, "weight bias running_mean running_var eps".split(), default_matching),
    nn.AdaptiveAvgPool2d: (1, [], default_matching),
    nn.MaxPool2d: (
        1,
        "kernel_size stride padding dilation return_indices ceil_mode".split(),
        default_matching,
    ),
    nn.ReLU: (1, ["inplace"], default_matching),
}


def extract_attrs_for_lowering(mod: nn.Module) -> dict[str, Any]:
    """The attributes of a layer that `module_fetch_book` names, and its class's name as ``name``.

    RuntimeError where the book lacks the class, or knows an older version of it only.

    >>> import rushlight
    >>> from rushlight.fx.passes.param_fetch import extract_attrs_for_lowering
    >>> extract_attrs_for_lowering(rushlight.nn.ReLU())
    {'name': 'rushlight.nn.activation.ReLU', 'inplace': False}
    """
    name = rushlight.typename(mod)
    if type(mod) not in module_fetch_book:
        raise RuntimeError(
            f"extract_attrs_for_lowering(): module_fetch_book has no entry for {name}; add one"
        )
    version, names, matching = module_fetch_book[type(mod)]
    if version < mod._version:
        raise RuntimeError(
            f"extract_attrs_for_lowering(): module_fetch_book knows version {version} of {name}, "
            f"whose version is {mod._version}; change its entry"
        )
    return {"name": name, **{each: getattr(mod, matching(each, mod._version)) for each in names}}


def lift_lowering_attrs_to_nodes(fx_module: GraphModule) -> None:
    """Set ``node.attrs_for_lowering`` of every call of a layer to
    :func:`extract_attrs_for_lowering`, also in the graphs inside."""
    for node in fx_module.graph.find_nodes(op="call_module"):
        module = fx_module.get_submodule(node.target)
        if isinstance(module, GraphModule):
            lift_lowering_attrs_to_nodes(module)
        else:
            node.attrs_for_lowering = extract_attrs_for_lowering(module)


__all__ = ["default_matching", "extract_attrs_for_lowering", "lift_lowering_attrs_to_nodes"]
