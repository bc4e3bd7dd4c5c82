"""``rushlight.compile``: elementwise chains of Python functions as single kernels.

Nothing is captured and nothing is guarded: the function runs as Python at every call, with its
control flow, prints and prunings, so there are no graph breaks and no recompilation when a shape or
a branch changes. What is compiled are the chains of elementwise operations it happens to compute:
each runs as one pass over memory, forward and backward. Values inside of a chain are not kept, so
a chain also saves memory; backward computes them again.
"""

from __future__ import annotations

import functools

from rushlight.nn.module import Module

__all__ = ["OptimizedModule", "compile"]

_MODES = (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
_PLAIN_BACKENDS = ("eager", "aot_eager")


def compile(
    model=None, *, fullgraph=False, dynamic=None, backend="inductor", mode=None, options=None,
    disable=False,
):  # fmt: skip
    """A function or module that computes elementwise chains in single passes over memory.

    - `model`: a function, a method or an :class:`rushlight.nn.Module`; without it, a decorator.
    - `backend`: ``"inductor"`` (this), or ``"eager"`` and ``"aot_eager"``, which return the model.
    - `mode`: None, ``"default"``, ``"reduce-overhead"``, ``"max-autotune"`` or
      ``"max-autotune-no-cudagraphs"``: all the same here.
    - `fullgraph`, `dynamic`, `options`: accepted. There is no graph that could break, and shapes
      are free.
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
    if model is None:
        return lambda found: compile(
            found, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
            options=options, disable=disable,
        )  # fmt: skip
    if not callable(model):
        raise TypeError(f"compile(): model must be callable, got {type(model).__name__}")
    if disable or backend in _PLAIN_BACKENDS:
        return model
    return OptimizedModule(model) if isinstance(model, Module) else compiled(model)


class _Worth:
    """For which arguments of a function deferring pays; its first call with their shapes tells."""

    LIMIT = 1024  # kinds of calls that are remembered

    def __init__(self, function):
        self.function, self.plain = function, set()

    def kind(self, args, kwargs):
        """What the work of a call depends on, or None for arguments on a GPU."""
        from rushlight.autograd.mode import mode
        from rushlight.devices import cpu
        from rushlight.tensor.tensor import EXACT

        shapes = []
        for value in (*args, *kwargs.values()):
            if type(value) in EXACT:
                if value._device is not cpu:
                    return None  # a kernel less is a launch less, whatever its size
                shapes.append(value._array.shape)
            elif isinstance(value, Module):
                shapes.append(value.training)
        return mode.recording, getattr(self.function, "training", None), *shapes

    def note(self, kind, chains):
        """Remember what a call has shown."""
        if kind is not None and not chains.pays():
            if len(self.plain) >= self.LIMIT:
                self.plain.clear()
            self.plain.add(kind)


def compiled(function):
    """The function, run with its elementwise chains deferred where that pays."""
    worth = _Worth(function)

    @functools.wraps(function)
    def run(*args, **kwargs):
        from rushlight.chains.deferred import Chains
        from rushlight.settings import kernels_mode
        from rushlight.tensor.dispatch import stack

        if stack.interpreters or stack.levels or kernels_mode() == "reference":
            return function(*args, **kwargs)  # autocast, a profiler or a transform sees every op
        kind = worth.kind(args, kwargs)
        if kind in worth.plain:
            return function(*args, **kwargs)
        with Chains() as chains:
            result = function(*args, **kwargs)
        worth.note(kind, chains)
        return result

    return run


class CompiledForward:
    """What ``module.compile()`` puts in the place of the module's `forward`."""

    def __init__(self, module):
        self.module = module
        self.run = compiled(type(module).forward)

    def __getstate__(self):
        return {"module": self.module}  # the rest cannot be pickled and is made again

    def __setstate__(self, state):
        self.module = state["module"]
        self.run = compiled(type(self.module).forward)

    def __call__(self, *args, **kwargs):
        """The forward of the module's class, its chains deferred."""
        return self.run(self.module, *args, **kwargs)


def compile_forward(module, *args, **kwargs):
    """Make a module compute the chains of its `forward` in single passes; arguments as for
    :func:`compile`."""
    if isinstance(compile(module, *args, **kwargs), OptimizedModule):
        module.__dict__["forward"] = CompiledForward(module)


class OptimizedModule(Module):
    """What ``compile(module)`` returns: the module itself lies under ``_orig_mod``.

    Attributes are those of the module; its parameters have the prefix ``_orig_mod.`` in the state
    dict, as in PyTorch.
    """

    def __init__(self, mod):
        super().__init__()
        self._orig_mod = mod
        object.__setattr__(self, "_run", compiled(mod))
        self.training = mod.training

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
        return OptimizedModule, (self._orig_mod,)
