"""A module whose ``forward`` is generated from a graph."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import types
import typing
from pathlib import Path

import rushlight
from rushlight import nn
from rushlight.fx.codegen import CodeGen, PythonCode, Reading, _PyTreeCodeGen
from rushlight.fx.graph import Graph
from rushlight.fx.names import builtin_values, import_line
from rushlight.fx.node_hooks import NodeHooks
from rushlight.machine.generated_python import function_of

_numbers = itertools.count()


def _compiled(source: str, namespace: dict, title: str):
    """The function ``forward`` of generated source, whose lines tracebacks show."""
    namespace = {**builtin_values(), **namespace}
    title = f"fx {title} {next(_numbers)}"
    return function_of(source, "forward", title, namespace, lasting=False)


def _import_block(names: dict) -> str:
    """The imports that bind the globals of generated source."""
    return "\n".join(dict.fromkeys(import_line(n, value) for n, value in names.items()))


class _CodeOnlyModule(nn.Module):
    """The attributes of a pickled module, to trace its source with."""

    def __init__(self, body):
        super().__init__()
        self.__dict__.update(body)


def reduce_package_graph_module(importer, body: dict, generated_module_name: str) -> nn.Module:
    """The module of :func:`reduce_graph_module` whose source is the module of Python that
    `importer`, by ``importer.import_module(generated_module_name)``, gives: ``importlib``, or what
    reads a package.

    >>> import types, rushlight
    >>> from rushlight.fx.graph_module import reduce_package_graph_module
    >>> module = rushlight.fx.symbolic_trace(lambda x: x + 1)
    >>> _, (body, imports) = module.__reduce__()
    >>> source = types.SimpleNamespace(forward=module.forward.__func__)
    >>> package = types.SimpleNamespace(import_module=lambda name: source)
    >>> reduce_package_graph_module(package, body, "generated")(rushlight.ones(1))
    tensor([2.])
    """
    return _traced_again(body, importer.import_module(generated_module_name).forward)


def reduce_graph_module(body: dict, import_block: str) -> nn.Module:
    """A module of what `GraphModule.__reduce__` kept: its source is traced again.

    Args: `body` is the module's ``__dict__`` without its graph, with the source of `forward` as
    ``_code``; further entries that begin with ``_kept`` say the class's name and how arguments are
    flattened. `import_block` is what the source has to import.

    >>> import rushlight
    >>> from rushlight.fx.graph_module import reduce_graph_module
    >>> module = rushlight.fx.symbolic_trace(lambda x: x + 1)
    >>> function, args = module.__reduce__()
    >>> function is reduce_graph_module, function(*args)(rushlight.ones(1))
    (True, tensor([2.]))
    """
    title = body.get("_kept_class") or body.get("_graphmodule_cls_name", "GraphModule")
    return _traced_again(body, _compiled(f"{import_block}\n{body['_code']}", {}, title))


def _traced_again(body, forward):
    """The module of attributes and of the function that its source gives."""
    from rushlight.fx._symbolic_trace import Tracer

    body = dict(body)
    kept = {key: body.pop(key, None) for key in ("_kept_class", "_kept_tree", "_tracer_cls")}
    body.pop("_code", None)
    kept["_kept_class"] = kept["_kept_class"] or body.get("_graphmodule_cls_name", "GraphModule")
    root = type("CodeOnly", (_CodeOnlyModule,), {"forward": forward, "__module__": __name__})(body)
    tracer_class = kept["_tracer_cls"] or Tracer
    tracer = type("KeepModules", (tracer_class,), {"is_leaf_module": lambda self, m, name: True})()
    graph = tracer.trace(root)
    graph._tracer_cls = kept["_tracer_cls"]
    if kept["_kept_tree"] is not None:
        graph._codegen = body.pop("_kept_codegen", _PyTreeCodeGen)(kept["_kept_tree"])
    new = GraphModule(root, graph, class_name=kept["_kept_class"])
    new.__dict__.update((k, v) for k, v in body.items() if k not in new.__dict__)
    new.meta = body.get("meta", {})
    return new


_rebuilt = reduce_graph_module  # as pickles name it that were written before


def _copy_attr(from_module: nn.Module, to_module: nn.Module, target: str) -> None:
    """Give a module the attribute of that path, with empty modules on the way to it."""
    *path, name = target.split(".")
    for part in path:
        from_module = getattr(from_module, part)
        inner = getattr(to_module, part, None)
        if inner is from_module:
            return  # which has the attribute
        if inner is None:
            inner = nn.Module()
            setattr(to_module, part, inner)
        to_module = inner
    _put(to_module, name, getattr(from_module, name))


def _assign_attr(from_obj, to_module: nn.Module, target: str) -> None:
    """Set the attribute of that path, with empty modules on the way to it."""
    *path, name = target.split(".")
    for part in path:
        if getattr(to_module, part, None) is None:
            setattr(to_module, part, nn.Module())
        to_module = getattr(to_module, part)
    _put(to_module, name, from_obj)


def _put(module, name, value):
    if isinstance(value, rushlight.Tensor) and not isinstance(value, nn.Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


class GraphModule(NodeHooks, nn.Module):
    """A module that runs a graph as generated Python.

    Args: `root` is a module, or a dict from paths to values, that has what the graph's
    ``call_module`` and ``get_attr`` name: that is taken over, not copied. `graph` is the graph;
    `class_name` names the class and stands in what is printed.

    `code` is the source of ``forward``; assign `graph`, or call `recompile` after changing it.

    >>> import rushlight
    >>> graph = rushlight.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> _ = graph.output(graph.call_method("neg", (x,)))
    >>> module = rushlight.fx.GraphModule(rushlight.nn.Module(), graph)
    >>> module(rushlight.ones(2))
    tensor([-1., -1.])
    """

    def __new__(cls, *args, **kwargs):
        """An instance of a class of its own, since every one has a `forward` of its own."""
        base = next(c for c in cls.__mro__ if "__fx_own_class__" not in c.__dict__)
        own = type(base.__name__, (base,), {"__fx_own_class__": True, "__module__": __name__})
        return super().__new__(own)

    def __init__(self, root, graph: Graph, class_name: str = "GraphModule"):
        super().__init__()
        type(self).__name__ = type(self).__qualname__ = class_name
        if isinstance(root, nn.Module):
            self.training = root.training
            self._adopt_module(root, graph)
        elif isinstance(root, dict):
            self._adopt_dict(root, graph)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self._tracer_cls = None
        if graph._tracer_cls and "<locals>" not in graph._tracer_cls.__qualname__:
            self._tracer_cls = graph._tracer_cls
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict = {}
        self.graph = graph

    def _adopt_module(self, root, graph):
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                _copy_attr(root, self, node.target)

    def _adopt_dict(self, root, graph):
        targets = [n.target for n in graph.nodes if n.op in ("get_attr", "call_module")]
        for target in targets:
            if target not in root:
                raise RuntimeError(
                    f"GraphModule(): the graph names '{target}', which root, a dict, does not have"
                )
        for target in sorted(set(targets), key=lambda name: name.count(".")):
            _assign_attr(root[target], self, target)

    # ------------------------------------------------------------------------------ graph and code
    @property
    def graph(self) -> Graph:
        """The graph that is run; assigning one generates ``forward`` anew."""
        return self._graph

    @graph.setter
    def graph(self, g):
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g).__name__}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The source of ``forward``."""
        if "_code" not in self.__dict__:
            raise RuntimeError("Code has not been generated! Please report a bug")
        return self._code

    def recompile(self) -> PythonCode:
        """Generate ``forward`` from the graph as it is now, and return its source."""
        if isinstance(self._graph._codegen, _PyTreeCodeGen):
            info = self._graph._codegen.pytree_info
            self._in_spec, self._out_spec = info.in_spec, info.out_spec
        made = self._graph.python_code(root_module="self")
        self._code = made.src
        own: typing.Any = type(self)  # a class of this module alone
        own.forward = _compiled(made.src, made.globals, own.__name__)
        return made

    # ------------------------------------------------------------------------------------ modules
    def add_submodule(self, target: str, m: nn.Module) -> bool:
        """Add a module at a path, with empty modules on the way; False where something else than a
        module stands in it."""
        *path, name = target.split(".")
        module: nn.Module = self
        for part in path:
            inner = getattr(module, part, None)
            if inner is None:
                inner = nn.Module()
                setattr(module, part, inner)
            if not isinstance(inner, nn.Module):
                return False
            module = inner
        module.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module of a path; False if there is none."""
        path, _, name = target.rpartition(".")
        try:
            owner = self.get_submodule(path)
        except AttributeError:
            return False
        if not isinstance(getattr(owner, name, None), nn.Module):
            return False
        delattr(owner, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove all modules that the graph neither calls nor reads from, nor lead to such."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            parts = node.target.split(".")
            used.update(".".join(parts[:end]) for end in range(1, len(parts) + 1))
            if node.op == "call_module":
                inside = self.get_submodule(node.target).named_modules()
                used.update(f"{node.target}.{name}" for name, _ in inside if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # ------------------------------------------------------------------------------------- copies
    def __reduce__(self):
        body = {
            k: v
            for k, v in self.__dict__.items()
            if k not in ("_graph", "_node_hooks") and not _is_own_method(self, v)
        }
        codegen = self._graph._codegen
        flat = copy.copy(codegen) if type(codegen) is CodeGen else CodeGen()
        made = flat.generate(self._graph, "self")
        body["_code"], body["_kept_class"] = made.src, type(self).__name__
        body["_kept_tree"] = getattr(codegen, "pytree_info", None)
        if body["_kept_tree"] is not None:
            body["_kept_codegen"] = type(codegen)
        return reduce_graph_module, (body, _import_block(made.globals))

    def __deepcopy__(self, memo):
        new = type(self).__new__(type(self))
        memo[id(self)] = new
        nn.Module.__init__(new)
        type(new).__name__ = type(new).__qualname__ = type(self).__name__
        for key, value in self.__dict__.items():
            if key != "_graph" and not _is_own_method(self, value):
                new.__dict__[key] = copy.deepcopy(value, memo)
        new.graph = copy.deepcopy(self._graph, memo)
        return new

    def __copy__(self):
        new = GraphModule(self, self.graph, type(self).__name__)
        new.meta = dict(self.meta)
        return new

    # --------------------------------------------------------------------------------------- text
    def __str__(self):
        note = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__str__(), self._code, note])

    def print_readable(
        self, print_output: bool = True, include_stride=False, include_device=False,
        colored=False, *, fast_sympy_print=False, expanded_def=False, additional_meta=None,
    ) -> str:  # fmt: skip
        """The class as Python source, with types of values and the lines of the program it was
        traced from where they were recorded, and the modules inside that are graphs as well;
        printed, and returned. `additional_meta` are keys of ``node.meta`` whose values are shown;
        for the other options see :meth:`Graph.python_code`. `fast_sympy_print` changes nothing
        here."""
        options = Reading(
            True, include_stride, include_device, colored, expanded_def,
            tuple(additional_meta or ()),
        )  # fmt: skip
        text = _readable(self, type(self).__name__, options)
        if print_output:
            print(text)
        return text

    def to_folder(self, folder, module_name: str = "FxModule") -> None:
        """Write the module as a package: ``module.py`` with the class `module_name`, and its
        parameters and modules in files beside it."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        rushlight.save(self.state_dict(), folder / "state_dict.pt")
        made = self._graph.python_code(root_module="self")
        lines = [
            _import_block({"rushlight": rushlight, **made.globals}),
            "from pathlib import Path",
        ]
        lines += [
            "",
            "HERE = Path(__file__).parent",
            "",
            f"class {module_name}(rushlight.nn.Module):",
        ]
        lines += ["    def __init__(self):", "        super().__init__()"]
        lines += list(self._folder_lines(folder))
        lines += ['        self.load_state_dict(rushlight.load(HERE / "state_dict.pt"))']
        (folder / "module.py").write_text("\n".join(lines) + "\n" + _indented(made.src) + "\n")
        (folder / "__init__.py").write_text("from .module import *\n")

    def _folder_lines(self, folder):
        """The statements of ``__init__`` in `to_folder`; simple layers are written as calls, other
        modules and structures pickled."""
        for name, module in self._modules.items():
            if _is_written(module):
                made = f"rushlight.nn.{module!r}" + ("" if module.training else ".eval()")
                yield f"        self.add_module({name!r}, {made})"
                continue
            file = f"{name}.pt"
            rushlight.save(module, folder / file)
            load = f"rushlight.load(HERE / {file!r}, weights_only=False)"
            yield f"        self.add_module({name!r}, {load})  # {type(module).__name__}"
        for name, tensor in self._parameters.items():
            if tensor is not None:
                empty = f"rushlight.empty({list(tensor.shape)}, dtype={tensor.dtype})"
                made = f"rushlight.nn.Parameter({empty}, {tensor.requires_grad})"
                yield f"        self.{name} = {made}"
        for name, tensor in self._buffers.items():
            if tensor is not None:
                empty = f"rushlight.empty({list(tensor.shape)}, dtype={tensor.dtype})"
                yield f"        self.register_buffer({name!r}, {empty})"
        for name in ("_in_spec", "_out_spec"):
            if name in self.__dict__:
                rushlight.save(self.__dict__[name], folder / f"{name}.pt")
                load = f"rushlight.load(HERE / '{name}.pt', weights_only=False)"
                yield f"        self.{name} = {load}"


def _is_own_method(module, value):
    """Whether a value is a method that was set on a module itself; copies have none of these."""
    return isinstance(value, types.MethodType) and value.__self__ is module


_SIMPLE = (
    nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d,
)  # fmt: skip


def _is_written(module):
    """Whether what prints a layer makes it, but for the values of its parameters."""
    return type(module) in _SIMPLE and all(
        p.requires_grad and p.dtype is rushlight.float32 and p.device.type == "cpu"
        for p in module.parameters()
    )


def _readable(module, name, options):
    """A class of that name as source; modules inside that are graphs have the names they have."""
    graph = module.graph
    made = graph._codegen.generate(graph, "self", options)
    parts = [f"class {name}(rushlight.nn.Module):\n{_indented(made.src)}"]
    inner_options = dataclasses.replace(options, expanded_def=False)
    for inner, child in module.named_children():
        if isinstance(child, GraphModule):
            parts.append(_indented(_readable(child, inner, inner_options)) + "\n")
    return "\n".join(parts)


def _indented(text):
    return "\n".join("    " + line if line.strip() else "" for line in text.strip("\n").split("\n"))


__all__ = ["GraphModule", "_assign_attr", "_copy_attr"]
