"""``rushlight.compile``: whole graphs in inference, else elementwise chains as single kernels.

Where gradients are recorded, and where a program cannot be captured, the function runs as Python
at every call and its elementwise chains are compiled (:mod:`rushlight.chains`).
"""

from __future__ import annotations

import functools

from rushlight.capture.entry import NOT_TAKEN, WholeGraphs
from rushlight.chains import chained
from rushlight.nn.module import Module

__all__ = ["OptimizedModule", "compile"]

_MODES = (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
_PLAIN_BACKENDS = ("eager", "aot_eager")


def compile(
    model=None, *, fullgraph=False, dynamic=None, backend="inductor", mode=None, options=None,
    disable=False,
):  # fmt: skip
    """A function or module that runs as a graph in inference, and computes elementwise chains in
    single passes over memory elsewhere.

    - `model`: a function, a method or an :class:`rushlight.nn.Module`; without it, a decorator.
    - `backend`: ``"inductor"`` (this), or ``"eager"`` and ``"aot_eager"``, which return the model.
    - `mode`: None, ``"default"``, ``"reduce-overhead"``, ``"max-autotune"`` or
      ``"max-autotune-no-cudagraphs"``: all the same here.
    - `fullgraph`: in inference, raise ``_dynamo.exc.Unsupported`` with the line of the program that
      cannot be part of a graph, instead of running the function as it is.
    - `options`: ``{"freezing": True}`` promises that weights do not change any more, for this
      function (``_inductor.config.freezing``: for all): batch norms are then folded into
      convolutions. Writes by ops are still noticed; those through ``.data`` and NumPy are not.
      Other options are accepted.
    - `dynamic`: accepted; a graph is always made for the sizes at hand.
    - `disable`: return the model as it is.

    float32 results of at least 131,072 elements take part, on a GPU of any size; everything else
    runs as without it. So does a function whose first call with arguments of some shapes shows that
    its chains are too short or too small to pay; the results are the same.

    A module becomes an :class:`OptimizedModule`. Raises RuntimeError for an unknown `backend` or
    `mode`, NotImplementedError for a backend that is a function.

    >>> gelu = rushlight.compile(lambda x: 0.5 * x * (1 + rushlight.erf(x * 0.5 ** 0.5)))
    >>> gelu(rushlight.zeros(100, 100)).shape
    rushlight.Size([100, 100])
    """
    _check_choices(backend, mode, options)
    if model is None:
        return lambda found: compile(
            found, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
            options=options, disable=disable,
        )  # fmt: skip
    if not callable(model):
        raise TypeError(f"compile(): model must be callable, got {type(model).__name__}")
    if disable or backend in _PLAIN_BACKENDS:
        return model
    settings = fullgraph, (options or {}).get("freezing")
    return (
        OptimizedModule(model, *settings)
        if isinstance(model, Module)
        else compiled(model, *settings)
    )


def _check_choices(backend, mode, options):
    """Refuse what :func:`compile` does not take."""
    if callable(backend):
        raise NotImplementedError(
            "compile(): a backend of your own would receive a captured graph, and none is captured "
            "here; use backend='inductor'"
        )
    if backend not in ("inductor", *_PLAIN_BACKENDS):
        raise RuntimeError(
            f"compile(): backend must be 'inductor', 'eager' or 'aot_eager', got {backend!r}"
        )
    if mode not in _MODES:
        raise RuntimeError(f"compile(): mode must be one of {_MODES[1:]}, got {mode!r}")
    if mode is not None and options is not None:
        raise RuntimeError("compile(): either mode or options can be given, not both")


def compiled(function, fullgraph=False, freezing=None):
    """The function, run as a graph in inference, else with its elementwise chains deferred where
    that pays."""
    chain, graphs = chained(function), WholeGraphs(function, fullgraph, freezing)

    @functools.wraps(function)
    def run(*args, **kwargs):
        found = graphs.call(args, kwargs)
        return chain(*args, **kwargs) if found is NOT_TAKEN else found

    run._program = function  # what a compiled program that calls this follows
    return run


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
