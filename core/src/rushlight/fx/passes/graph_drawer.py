"""Graphs as drawings: the DOT language of Graphviz, and pydot's objects where pydot is there."""

from __future__ import annotations

from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import readable_target

_COLORS = {
    "placeholder": "AliceBlue",
    "call_module": "LemonChiffon1",
    "get_attr": "LightGoldenrod2",
    "output": "PowderBlue",
    "call_function": "CadetBlue1",
    "call_method": "LightSteelBlue1",
}


class FxGraphDrawer:
    """Draws the graph of a module, and those of the graph modules that it calls.

    Args: `name` names the drawing; `ignore_getattr` leaves reads of attributes out, and
    `ignore_parameters_and_buffers` those of parameters and buffers; `skip_node_names_in_args` shows
    arguments without the names of nodes.

    >>> import rushlight
    >>> from rushlight.fx.passes.graph_drawer import FxGraphDrawer
    >>> module = rushlight.fx.symbolic_trace(lambda x: rushlight.relu(x))
    >>> FxGraphDrawer(module, "small").get_dot_text().splitlines()[0]
    'digraph "small" {'
    """

    def __init__(
        self, graph_module: GraphModule, name: str, ignore_getattr: bool = False,
        ignore_parameters_and_buffers: bool = False, skip_node_names_in_args: bool = True,
        parse_stack_trace: bool = False, dot_graph_shape: str | None = None,
    ):  # fmt: skip
        self._name, self.shape = name, dot_graph_shape or "record"
        self.skip_names, self.traces = skip_node_names_in_args, parse_stack_trace
        self.ignore_getattr, self.ignore_held = ignore_getattr, ignore_parameters_and_buffers
        self._modules = {name: graph_module}
        for node in graph_module.graph.nodes:
            if node.op == "call_module":
                inner = graph_module.get_submodule(node.target)
                if isinstance(inner, GraphModule):
                    self._modules[f"{name}_{node.target}"] = inner

    def get_dot_text(self, submod_name: str | None = None) -> str:
        """The drawing as text for Graphviz; of the module called under a path if that is given."""
        name = self._name if submod_name is None else f"{self._name}_{submod_name}"
        lines = [f'digraph "{name}" {{', "rankdir=TB;"]
        skipped = set()
        for node in self._modules[name].graph.nodes:
            if node.op == "get_attr" and (self.ignore_getattr or self.ignore_held):
                skipped.add(node)
                continue
            lines.append(
                f'"{node.name}" [shape={self.shape}, style="filled,rounded", '
                f'fillcolor={self._color(node)}, label="{self._label(name, node)}"];'
            )
        for node in self._modules[name].graph.nodes:
            lines += [f'"{n.name}" -> "{node.name}";' for n in node.all_input_nodes
                      if n not in skipped]  # fmt: skip
        return "\n".join([*lines, "}"]) + "\n"

    def get_all_dot_texts(self) -> dict[str, str]:
        """The texts of all drawings by name."""
        own = len(self._name) + 1
        return {
            name: self.get_dot_text(name[own:] if name != self._name else None)
            for name in self._modules
        }

    def get_dot_graph(self, submod_name: str | None = None):
        """The drawing as an object of pydot; NotImplementedError without pydot."""
        return _pydot_of(self.get_dot_text(submod_name))

    def get_main_dot_graph(self):
        """:meth:`get_dot_graph` of the module itself."""
        return self.get_dot_graph()

    def get_submod_dot_graph(self, submod_name: str):
        """:meth:`get_dot_graph` of a graph module that is called."""
        return self.get_dot_graph(submod_name)

    def get_all_dot_graphs(self) -> dict:
        """All drawings by name."""
        return {name: _pydot_of(text) for name, text in self.get_all_dot_texts().items()}

    def _color(self, node):
        return _COLORS[node.op]

    def _label(self, owner, node):
        parts = [f"name=%{node.name}", f"op_code={node.op}"]
        if node.op == "call_module":
            module = self._modules[owner].get_submodule(node.target)
            parts.append(f"{type(module).__module__}.{type(module).__name__}")
            constants = getattr(module, "__constants__", ())
            parts += [f"{name}: {getattr(module, name, None)}" for name in constants]
        else:
            target = node.target
            parts.append(f"target={target if isinstance(target, str) else readable_target(target)}")
        if node.args and node.op not in ("placeholder", "output"):
            shown = [a for a in node.args if not (self.skip_names and hasattr(a, "op"))]
            parts += [f"args={tuple(shown)}"] if shown else []
        parts.append(f"num_users={len(node.users)}")
        if "tensor_meta" in node.meta and hasattr(node.meta["tensor_meta"], "shape"):
            meta = node.meta["tensor_meta"]
            parts += [f"dtype={meta.dtype}", f"shape={tuple(meta.shape)}"]
        if self.traces and node.stack_trace:
            parts.append(node.stack_trace.strip().split("\n")[-1].strip())
        return "{" + "|".join(_escaped(part) for part in parts) + "}"


def _escaped(text):
    for sign in '\\{}|<>"':
        text = text.replace(sign, "\\" + sign)
    return text.replace("\n", "\\n")


def _pydot_of(text):
    try:
        import pydot
    except ModuleNotFoundError:
        raise NotImplementedError(
            "FxGraphDrawer.get_dot_graph() needs pydot (pip install pydot); get_dot_text() gives "
            "the same drawing as text for Graphviz"
        ) from None
    return pydot.graph_from_dot_data(text)[0]
