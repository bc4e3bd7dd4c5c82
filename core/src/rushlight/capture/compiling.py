"""``rushlight.compile``: whole graphs in inference, else elementwise chains as single kernels.

Where gradients are recorded, and where a program cannot be captured, the function runs as Python
at every call and its elementwise chains are compiled (:mod:`rushlight.chains`).
"""

from __future__ import annotations

import functools

from rushlight._dynamo.backends.registry import lookup_backend
from rushlight._inductor.options import check_options
from rushlight.capture.entry import NOT_TAKEN, WholeGraphs
from rushlight.capture.handing import Backend, HandedGraphs, Pieces
from rushlight.chains import chained
from rushlight.compiler import get_default_backend, stances
from rushlight.nn.module import Module

__all__ = ["OptimizedModule", "compile"]

_MODES = (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


def compile(
    model=None, *, fullgraph=False, dynamic=None, backend=None, mode=None, options=None,
    name=None, disable=False, recompile_limit=None, isolate_recompiles=False, shapes_spec=None,
):  # fmt: skip
    """A function or module that runs as a graph in inference, and computes elementwise chains in
    single passes over memory elsewhere.

    - `model`: a function, a method or an :class:`rushlight.nn.Module`; without it, a decorator.
    - `backend`: None for ``compiler.get_default_backend()``; ``"inductor"`` (this); a function
      ``backend(graph_module, example_inputs)`` that returns what runs instead of the graph, in
      training as well; or the name of one (``compiler.list_backends(None)``): ``"eager"`` and
      ``"aot_eager"`` run the graph's calls. Where a call is no single graph, a warning says so and
      it runs without the backend.
    - `mode`: None, ``"default"``, ``"reduce-overhead"``, ``"max-autotune"`` or
      ``"max-autotune-no-cudagraphs"``: all the same here. Another backend gets it, and `options`.
    - `fullgraph`: where graphs are made, raise ``_dynamo.exc.Unsupported`` with the line of the
      program that cannot be part of a graph, instead of running the function as it is.
    - `options`: batch norms are folded into convolutions, and weights packed once, as long as
      nobody can have written to them. ``{"freezing": True}`` promises that they do not change any
      more, for this function (``_inductor.config.freezing``: for all): that is done however large
      they are and whoever else has their memory. Writes by ops are still noticed; those through
      ``.data`` and NumPy are not. ``{"freezing": False}`` keeps nothing.
      ``{"guard_filter_fn": function}``: it gets a list of the guards of each new graph (`name`,
      `value`, `guard_type`, `is_global`, ...) and gives a list of bools, which of them are kept;
      `compiler.skip_guard_on_globals_unsafe` and its like are such functions. Kinds of arguments,
      modes and the memory of tensors are looked at in any case.
      The other options of PyTorch's compiler (``_inductor.list_options()``) are accepted.
    - `dynamic`: accepted; a graph is always made for the sizes at hand.
    - `name`: accepted; graphs are called after the function.
    - `disable`: return the model as it is.
    - `recompile_limit`: how many graphs there may be before the function runs as it is, of each
      part where it is cut at a graph break; None for ``_dynamo.config.recompile_limit`` for
      arguments of one kind.
    - `isolate_recompiles`: accepted; every call of :func:`compile` has graphs of its own.
    - `shapes_spec`: None; graphs are made for the sizes at hand.

    float32 results of at least 131,072 elements take part, on a GPU of any size; everything else
    runs as without it. So does a function whose first call with arguments of some shapes shows that
    its chains are too short or too small to pay; the results are the same.

    A module becomes an :class:`OptimizedModule`. Raises RuntimeError for an unknown `backend`,
    `mode` or option, ``_dynamo.exc.BackendCompilerFailed`` where a backend fails.

    >>> gelu = rushlight.compile(lambda x: 0.5 * x * (1 + rushlight.erf(x * 0.5 ** 0.5)))
    >>> gelu(rushlight.zeros(100, 100)).shape
    rushlight.Size([100, 100])
    """
    _check_limits(recompile_limit, shapes_spec)
    guard_filter = _guard_filter_of(options)
    backend = _backend_of(get_default_backend() if backend is None else backend, mode, options)
    if model is None:
        return lambda found: compile(
            found, fullgraph=fullgraph, dynamic=dynamic, backend=backend or "inductor", mode=mode,
            options=options, disable=disable, recompile_limit=recompile_limit,
        )  # fmt: skip
    if not callable(model):
        raise TypeError(f"compile(): model must be callable, got {type(model).__name__}")
    if disable:
        return model
    freezing = None if backend else (options or {}).get("freezing")
    settings = fullgraph, freezing, backend, recompile_limit, guard_filter
    return (
        OptimizedModule(model, *settings)
        if isinstance(model, Module)
        else compiled(model, *settings)
    )


def _check_limits(recompile_limit, shapes_spec):
    if recompile_limit is not None and type(recompile_limit) is not int:
        raise TypeError(
            "compile(): recompile_limit must be an int or None, got "
            f"{type(recompile_limit).__name__}"
        )
    if shapes_spec is not None:
        raise NotImplementedError(
            "compile(): shapes_spec is not available; graphs are made for the sizes at hand, and "
            "export.export takes dynamic_shapes"
        )


def _guard_filter_of(options):
    """The filter of guards among the options, or None; refuses what are no options."""
    if options is None:
        return None
    if not isinstance(options, dict):
        raise TypeError(f"compile(): options must be a dict or None, got {type(options).__name__}")
    found = options.get("guard_filter_fn")
    if found is not None and not callable(found):
        raise TypeError(
            f"compile(): options['guard_filter_fn'] must be a function, got {type(found).__name__}"
        )
    return found


def _backend_of(backend, mode, options):
    """A :class:`Backend`, or None for the ordinary one; refuses what :func:`compile` does not
    take."""
    if isinstance(backend, Backend):
        return backend
    if mode is not None and options is not None:
        raise RuntimeError("compile(): either mode or options can be given, not both")
    if backend == "inductor":
        if mode not in _MODES:
            raise RuntimeError(f"compile(): mode must be one of {_MODES[1:]}, got {mode!r}")
        check_options(_without_filter(options))
        return None
    if not isinstance(backend, str) and not callable(backend):
        raise RuntimeError(
            f"compile(): backend must be a text or a function, got {type(backend).__name__}"
        )
    name = backend if isinstance(backend, str) else getattr(backend, "__name__", repr(backend))
    keywords: dict = {} if mode in (None, "default") else dict(mode=mode)
    passed = _without_filter(options)
    if passed:
        keywords["options"] = passed
    return Backend(lookup_backend(backend), name, keywords)


def _without_filter(options):
    """The options that a backend is to know."""
    return {k: v for k, v in (options or {}).items() if k != "guard_filter_fn"}


def _graphs_of(function, fullgraph, freezing, backend, limit, guard_filter):
    """The graphs of a function, which a :class:`Backend` compiles, or for None the ordinary one; at
    most `limit` of them, with the guards that `guard_filter` keeps."""
    if backend is not None:
        pieces = Pieces(backend, limit=limit, guard_filter=guard_filter)
        return HandedGraphs(function, fullgraph, backend, pieces)
    found = WholeGraphs(function, fullgraph, freezing)
    found.limit, found.guard_filter = limit, guard_filter
    return found


def compiled(function, fullgraph=False, freezing=None, backend=None, limit=None, guard_filter=None):
    """The function, run as a graph in inference, else with its elementwise chains deferred where
    that pays; with a :class:`Backend` run by what that makes of its graphs."""
    rest = chained(function) if backend is None else function
    graphs = _graphs_of(function, fullgraph, freezing, backend, limit, guard_filter)
    held = InStances(function, graphs, rest)

    @functools.wraps(function)
    def run(*args, **kwargs):
        if stances.now() is not stances.DEFAULT:
            return held.call(args, kwargs)
        found = graphs.call(args, kwargs)
        return rest(*args, **kwargs) if found is NOT_TAKEN else found

    run._program = function  # what a compiled program that calls this follows
    return run


class InStances:
    """A compiled function where a stance holds that is not the default
    (:class:`rushlight.compiler.set_stance`)."""

    def __init__(self, function, graphs, rest):
        self.function, self.graphs, self.rest = function, graphs, rest
        self.is_begun = False
        self.forced: dict = {}  # graphs by the backend that a stance asks for

    def call(self, args, kwargs):
        """The result of a call."""
        word, backend = stances.now()
        is_first, self.is_begun = not self.is_begun, True
        if word == "force_eager" or word == "eager_then_compile" and is_first:
            return self.function(*args, **kwargs)
        if word == "aot_eager_then_compile" and is_first:
            backend = "aot_eager"
        graphs = self.graphs if backend is None else self._forced(backend)
        found = graphs.call(args, kwargs)
        if found is not NOT_TAKEN:
            return found
        return (self.rest if graphs is self.graphs else self.function)(*args, **kwargs)

    def _forced(self, backend):
        found = self.forced.get(backend)
        if found is None:
            made, graphs = _backend_of(backend, None, None), self.graphs
            rules = graphs.limit, graphs.guard_filter
            found = _graphs_of(self.function, graphs.fullgraph, None, made, *rules)
            self.forced[backend] = found
        return found


class CompiledForward:
    """What ``module.compile()`` makes of the module's `forward`."""

    def __init__(self, module, *settings):
        self.module, self.settings = module, settings
        self.run = compiled(type(module).forward, *settings)

    def __reduce__(self):
        return CompiledForward, (self.module, *self.settings)  # graphs are made again

    def __call__(self, *args, **kwargs):
        """The forward of the module's class, its chains deferred."""
        return self.run(self.module, *args, **kwargs)


class OptimizedModule(Module):
    """What ``compile(module)`` returns: the module itself is ``_orig_mod``.

    Attributes are those of the module; its parameters have the prefix ``_orig_mod.`` in the state
    dict, as in PyTorch.
    """

    def __init__(self, mod, *settings):
        super().__init__()
        self._orig_mod, self._settings = mod, settings
        object.__setattr__(self, "_run", compiled(mod, *settings))
        self.training = mod.training

    def compiled_forward(self):
        """What the module's `forward` is after ``module.compile()``."""
        return CompiledForward(self._orig_mod, *self._settings)

    def forward(self, *args, **kwargs):
        """Call the module, its hooks included."""
        return self._run(*args, **kwargs)

    def train(self, mode=True):
        """Training mode of both."""
        self._orig_mod.train(mode)
        return super().train(mode)

    def __getattr__(self, name):
        if name == "_orig_mod":
            return super().__getattr__(name)
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._orig_mod, name)

    def __reduce__(self):
        return OptimizedModule, (self._orig_mod, *self._settings)
