"""`unflatten`: an exported program as a module with the model's submodules.

The program's graph is cut into the calls of submodules (``partitioning.py``); each becomes a module
with a graph of its own (``unflattened_graphs.py``). Here these modules get the program's tensors.
"""

from __future__ import annotations

from rushlight.export.exported_program import ExportedProgram
from rushlight.export.graph_signature import InputKind
from rushlight.export.partitioning import partitioned
from rushlight.export.unflattened import FlatArgsAdapter, InterpreterModule, UnflattenedModule
from rushlight.export.unflattened_graphs import write_model
from rushlight.nn.module import Module
from rushlight.nn.parameter import Parameter

__all__ = ["FlatArgsAdapter", "InterpreterModule", "UnflattenedModule", "unflatten"]


def unflatten(
    module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None
) -> UnflattenedModule:
    """A program as a module with the submodules of the model that was exported.

    The names of submodules, parameters and buffers are the model's. Parameters and buffers are
    copies of the program's. Every submodule that computes something is an
    :class:`InterpreterModule`; calls of one submodule that do different things are modules of their
    own, such as ``sub@1``, that share its parameters. Submodules take and give only what others
    compute: those that are to be replaced by other modules are named in the argument
    `preserve_module_call_signature` of :func:`rushlight.export.export`.

    Args:
        module: the program.
        flat_args_adapter: makes the leaves of the arguments from those of arguments of another
            structure; without it such arguments are an error.

    Raises:
        TypeError: `module` is no program.
        ValueError: something that a submodule of kept signature computes passes to others past its
            arguments and results.

    Example:
        >>> import rushlight
        >>> layers = rushlight.nn.Sequential(rushlight.nn.Linear(3, 2), rushlight.nn.ReLU())
        >>> program = rushlight.export.export(layers, (rushlight.ones(1, 3),))
        >>> unflattened = rushlight.export.unflatten(program)
        >>> [name for name, _ in unflattened.named_modules()], list(unflattened.state_dict())
        (['', '0', '1'], ['0.weight', '0.bias'])
    """
    if not isinstance(module, ExportedProgram):
        raise TypeError(
            "unflatten(): argument 'module' must be an ExportedProgram, not "
            f"{type(module).__name__}"
        )
    return UnflattenedModule(module, flat_args_adapter)


def build(root: UnflattenedModule, program: ExportedProgram) -> None:
    """Give a module the graph, submodules and tensors of a program."""
    names = _names(program)
    graph, whole = partitioned(program, names)
    called = {call.path for call in whole.calls()}
    for path in [entry.fqn for entry in program.module_call_graph] + sorted(called):
        if path and "@" not in path:
            _module_at(root, path, called)
    for name, (tensor, persistent) in _tensors(program).items():
        _put(root, name, tensor, persistent)
    root.graph = write_model(root, program, names, graph, whole)


# ------------------------------------------------------------------------------------------ tensors
def _names(program):
    """By inputs of the graph, the names of the tensors they stand for: the same tensor may have
    several."""
    same: dict[int, list[str]] = {}
    for table in (program.state_dict, program.constants):
        for name, tensor in table.items():
            same.setdefault(id(tensor), []).append(name)
    found = {}
    for spec in program.graph_signature.input_specs:
        if spec.kind is not InputKind.USER_INPUT:
            table = program.state_dict if spec.target in program.state_dict else program.constants
            others = same[id(table[spec.target])]
            found[spec.arg.name] = [spec.target, *[n for n in others if n != spec.target]]
    return found


def _tensors(program):
    """Copies of parameters and buffers, and the constants, by name, with what says whether a
    buffer is in the state dict; None for constants."""
    buffers = {s.target for s in program.graph_signature.input_specs if s.kind is InputKind.BUFFER}
    copies: dict[int, object] = {}
    found = {}
    for name, tensor in program.state_dict.items():
        found[name] = _copied(tensor, copies), True
    for name, tensor in program.constants.items():
        is_buffer = name in buffers
        found[name] = (_copied(tensor, copies), False) if is_buffer else (tensor, None)
    return found


def _copied(tensor, copies):
    if id(tensor) not in copies:
        made = tensor.detach().clone()
        if isinstance(tensor, Parameter):
            made = Parameter(made, requires_grad=tensor.requires_grad)
        copies[id(tensor)] = made
    return copies[id(tensor)]


def _put(root, name, tensor, persistent):
    path, _, leaf = name.rpartition(".")
    owner = _module_at(root, path)
    if isinstance(tensor, Parameter):
        owner.register_parameter(leaf, tensor)
    elif persistent is None:
        setattr(owner, leaf, tensor)
    else:
        owner.register_buffer(leaf, tensor, persistent)


def _module_at(root, path, called=frozenset()):
    """The submodule of that path, made with those on the way where there are none; those that are
    `called` have graphs."""
    names = path.split(".") if path else []
    for i, name in enumerate(names):
        if name not in root._modules:
            has_graph = ".".join(names[: i + 1]) in called
            root.add_module(name, InterpreterModule() if has_graph else Module())
        root = root._modules[name]
    return root
