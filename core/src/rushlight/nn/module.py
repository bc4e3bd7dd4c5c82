"""Module: a tree of parameters, buffers and sub-modules with a forward computation."""

from __future__ import annotations

import importlib
import warnings
from collections import OrderedDict

from rushlight.autograd.handle import add_hook
from rushlight.autograd.later import later
from rushlight.nn.parameter import Parameter
from rushlight.nn.state import StateMixin
from rushlight.tensor.tensor import Tensor

_global_forward_pre_hooks: dict = OrderedDict()
_global_forward_hooks: dict = OrderedDict()
_global_forward_hooks_with_kwargs: dict = OrderedDict()
_global_forward_hooks_always_called: dict = OrderedDict()
_global_backward_hooks: dict = OrderedDict()
_global_backward_pre_hooks: dict = OrderedDict()
# Called when something is registered; their results replace it.
_global_parameter_registration_hooks: dict = OrderedDict()
_global_buffer_registration_hooks: dict = OrderedDict()
_global_module_registration_hooks: dict = OrderedDict()


_MORE_HOOKS = (
    "_backward_pre_hooks", "_forward_hooks_with_kwargs", "_forward_pre_hooks_with_kwargs",
    "_forward_hooks_always_called", "_state_dict_hooks", "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
)  # fmt: skip


class _FormerKind:
    globally: bool | None = None  # whether the backward hooks of all modules are of it


_former_kind = _FormerKind()


class _Progress:
    """How far the forward hooks of a call came: what to go on with after an error."""

    __slots__ = ("called", "output")

    def __init__(self):
        self.called, self.output = set(), None


def _replaced(hooks, module, name, value):
    """A value after the registration hooks have seen it."""
    for hook in tuple(hooks.values()):
        result = hook(module, name, value)
        value = value if result is None else result
    return value


def has_hooks(module):
    """Whether a call meets any hook, of this module or of all."""
    own = (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks,
           module._backward_pre_hooks)  # fmt: skip
    everywhere = (_global_forward_hooks, _global_forward_pre_hooks, _global_backward_hooks,
                  _global_backward_pre_hooks)  # fmt: skip
    return any(own) or any(everywhere)


def _forward_hooks_now(module):
    """``(number, hook, takes keywords, always called)`` of the forward hooks, in order."""
    everywhere = (_global_forward_hooks, _global_forward_hooks_with_kwargs,
                  _global_forward_hooks_always_called)  # fmt: skip
    own = (module._forward_hooks, module._forward_hooks_with_kwargs,
           module._forward_hooks_always_called)  # fmt: skip
    return [
        (key, hook, key in keywords, key in always)
        for hooks, keywords, always in (everywhere, own)
        for key, hook in hooks.items()
    ]


def _call_always(module, args, kwargs, progress):
    """After an error: the forward hooks that are always called and were not yet."""
    for key, hook, keywords, always in _forward_hooks_now(module):
        if not always or key in progress.called:
            continue
        try:
            values = (args, kwargs) if keywords else (args,)
            result = hook(module, *values, progress.output)
            progress.output = progress.output if result is None else result
        except Exception as error:  # noqa: BLE001 - the first error is the one to report
            warnings.warn(
                "module forward hook with ``always_call=True`` raised an exception that was "
                f"silenced as another error was raised in forward: {error}",
                stacklevel=3,
            )


def _call_with_hooks(module, args, kwargs, progress):
    args, kwargs = _call_pre_hooks(module, args, kwargs)
    full, former, before = _backward_hooks_now(module)
    record = None
    if full or before:
        record = importlib.import_module("rushlight.nn.backward_hooks").BackwardHook(
            module, full, before
        )
        args = record.setup_input_hook(args)
    progress.output = module.forward(*args, **kwargs)
    for key, hook, keywords, always in _forward_hooks_now(module):
        if always:
            progress.called.add(key)
        values = (args, kwargs) if keywords else (args,)
        result = hook(module, *values, progress.output)
        progress.output = progress.output if result is None else result
    if record is not None:
        progress.output = record.setup_output_hook(progress.output)
    if former:
        importlib.import_module("rushlight.nn.backward_hooks").hook_result(
            args, progress.output, module, former
        )
    return progress.output


def _call_pre_hooks(module, args, kwargs):
    for key, hook in (*_global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()):
        if key not in module._forward_pre_hooks_with_kwargs:
            result = hook(module, args)
            if result is not None:
                args = result if isinstance(result, tuple) else (result,)
            continue
        result = hook(module, args, kwargs)
        if result is not None:
            if not (isinstance(result, tuple) and len(result) == 2):
                raise RuntimeError(
                    "forward pre-hook must return None or a tuple of (new_args, "
                    f"new_kwargs), but got {result}."
                )
            args, kwargs = result
    return args, kwargs


def _backward_hooks_now(module):
    """The full backward hooks, those of the former kind, and the backward pre-hooks."""
    full, former = module._get_backward_hooks()
    return full, former, module._get_backward_pre_hooks()


def _set_hook_kind(module, full):
    if module._is_full_backward_hook is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks on a single "
            "Module. Please use only one of them."
        )
    module._is_full_backward_hook = full


def _check_name(module, name, kind, table):
    if "_parameters" not in module.__dict__:
        raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain "."')
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')
    if hasattr(module, name) and name not in table:
        raise KeyError(f"attribute '{name}' already exists")


def _set_registered(module, name, value):
    """Assign into the module or buffer tables where the name (or the value) belongs there."""
    modules, buffers = module.__dict__.get("_modules"), module.__dict__.get("_buffers")
    if modules is not None and name in modules:
        if value is not None:
            raise TypeError(
                f"cannot assign '{type(value).__name__}' as child module '{name}' "
                "(nn.Module or None expected)"
            )
        modules[name] = None
        return True
    if isinstance(value, Tensor) and value.__dict__.get("_is_buffer", False):  # a `Buffer`
        _forget(module, name, "_buffers")
        module.register_buffer(name, value, value.persistent)
        return True
    if buffers is not None and name in buffers:
        stands_for_one = hasattr(type(value), "__torch_function__")  # as proxies do
        if value is not None and not isinstance(value, Tensor) and not stands_for_one:
            raise TypeError(
                f"cannot assign '{type(value).__name__}' as buffer '{name}' (torch.Tensor or "
                "None expected)"
            )
        buffers[name] = value
        return True
    return False


def _forget(module, name, keep):
    """Remove a name from wherever it was, so that it lives in one table only."""
    state = module.__dict__
    state.pop(name, None)
    for table in ("_parameters", "_buffers", "_modules"):
        if table != keep and table in state:
            state[table].pop(name, None)
    if keep != "_buffers" and "_non_persistent_buffers_set" in state:
        state["_non_persistent_buffers_set"].discard(name)


class Module(StateMixin):
    """Base of all network parts. Subclasses call ``super().__init__()``, assign parameters and
    sub-modules as attributes, and define ``forward``.

    >>> class Double(rushlight.nn.Module):
    ...     def forward(self, x):
    ...         return x * 2
    >>> Double()(rushlight.ones(2))
    tensor([2., 2.])
    """

    training: bool
    dump_patches = call_super_init = False  # read by former programs; both are of no consequence
    _is_full_backward_hook: bool | None = None  # False: hooks are of the former kind

    def __init__(self):
        state = self.__dict__
        state["training"] = True
        state["_parameters"], state["_buffers"], state["_modules"] = {}, {}, {}
        state["_non_persistent_buffers_set"] = set()
        state["_forward_hooks"], state["_forward_pre_hooks"] = OrderedDict(), OrderedDict()
        state["_backward_hooks"] = OrderedDict()
        for name in _MORE_HOOKS:
            state[name] = OrderedDict()

    def forward(self, *input):
        """The computation; every subclass defines its own."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    # ------------------------------------------------------------------ calling
    def __call__(self, *args, **kwargs):
        """Run `forward`, between the hooks if there are any."""
        own = self.__dict__  # sooner than attribute by attribute
        try:
            hooked = (
                own["_forward_hooks"]
                or own["_forward_pre_hooks"]
                or own["_backward_hooks"]
                or own["_backward_pre_hooks"]
                or _global_forward_hooks
                or _global_forward_pre_hooks
                or _global_backward_hooks
                or _global_backward_pre_hooks
            )
        except KeyError:
            hooked = has_hooks(self)  # which says what is missing
        if not hooked:
            return self.forward(*args, **kwargs) if kwargs else self.forward(*args)
        if not self._forward_hooks_always_called and not _global_forward_hooks_always_called:
            return _call_with_hooks(self, args, kwargs, _Progress())
        progress = _Progress()
        try:
            return _call_with_hooks(self, args, kwargs, progress)
        except Exception:
            _call_always(self, args, kwargs, progress)
            raise

    _call_impl = _wrapped_call_impl = __call__

    def _get_backward_hooks(self):
        full, former = [], []
        everywhere = _global_backward_hooks.values()
        (full if _former_kind.globally is not True else former).extend(everywhere)
        (full if self._is_full_backward_hook is not False else former).extend(
            self._backward_hooks.values()
        )
        return full, former

    def _get_backward_pre_hooks(self):
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Call ``hook(module, args)`` before forward, or ``hook(module, args, kwargs)`` with
        `with_kwargs`; a result replaces the arguments."""
        marks = [self._forward_pre_hooks_with_kwargs] if with_kwargs else []
        return add_hook(self._forward_pre_hooks, hook, prepend=prepend, marks=marks)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Call ``hook(module, args, output)`` after forward, or ``hook(module, args, kwargs,
        output)`` with `with_kwargs`; a result replaces the output. With `always_call` also where
        forward or another hook raises."""
        marks = [self._forward_hooks_with_kwargs] if with_kwargs else []
        marks += [self._forward_hooks_always_called] if always_call else []
        return add_hook(self._forward_hooks, hook, prepend=prepend, marks=marks)

    def register_full_backward_hook(self, hook, prepend=False):
        """Call ``hook(module, grad_input, grad_output)`` in backward; a result replaces
        `grad_input`."""
        _set_hook_kind(self, True)
        return add_hook(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook):
        """Call ``hook(module, grad_input, grad_output)`` in the backward of the last operation of
        forward alone; use :meth:`register_full_backward_hook`."""
        _set_hook_kind(self, False)
        return add_hook(self._backward_hooks, hook)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Call ``hook(module, grad_output)`` in backward; a result replaces `grad_output`."""
        return add_hook(self._backward_pre_hooks, hook, prepend=prepend)

    # ------------------------------------------------------------------ registration
    def register_parameter(self, name, param) -> None:
        """Add a parameter (or None, as a placeholder) under a name."""
        _check_name(self, name, "parameter", self._parameters)
        if param is None:
            self._parameters[name] = None
        elif not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type(param).__name__}' object to parameter '{name}' "
                "(nn.Parameter or None required)"
            )
        elif param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                "created explicitly."
            )
        else:
            if _global_parameter_registration_hooks:
                param = _replaced(_global_parameter_registration_hooks, self, name, param)
            self._parameters[name] = param

    def register_buffer(self, name, tensor, persistent=True) -> None:
        """Add a tensor that is state but no parameter; a persistent one is in the state dict."""
        _check_name(self, name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (torch Tensor "
                "or None required)"
            )
        if _global_buffer_registration_hooks:
            tensor = _replaced(_global_buffer_registration_hooks, self, name, tensor)
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name, module) -> None:
        """Add a sub-module (or None) under a name."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        _check_name(self, name, "module", self._modules)
        if _global_module_registration_hooks:
            module = _replaced(_global_module_registration_hooks, self, name, module)
        self._modules[name] = module

    register_module = add_module

    def __getattr__(self, name):
        state = self.__dict__
        if "_parameters" in state:  # the tables are made together, by __init__
            if name in (parameters := state["_parameters"]):
                return parameters[name]
            if name in (buffers := state["_buffers"]):
                return buffers[name]
            if name in (modules := state["_modules"]):
                return modules[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        if isinstance(value, Parameter):
            _forget(self, name, "_parameters")
            self.register_parameter(name, value)
            return
        state = self.__dict__
        parameters = state.get("_parameters")
        if parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' as parameter '{name}' "
                    "(nn.Parameter or None expected)"
                )
            parameters[name] = None
            return
        if isinstance(value, Module):
            if "_modules" not in state:
                raise AttributeError("cannot assign module before Module.__init__() call")
            _forget(self, name, "_modules")
            if _global_module_registration_hooks:
                value = _replaced(_global_module_registration_hooks, self, name, value)
            state["_modules"][name] = value
            return
        if not _set_registered(self, name, value):
            object.__setattr__(self, name, value)

    def __delattr__(self, name):
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self):
        names = [*dir(type(self)), *self.__dict__]
        return sorted({*names, *self._parameters, *self._buffers, *self._modules})

    # ------------------------------------------------------------------ the tree
    def children(self):
        """The direct sub-modules, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self):
        """The direct sub-modules with their names, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self):
        """This module and all below it, each once."""
        for _, module in self.named_modules():
            yield module

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """This module and all below it with their dotted names."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                inner = prefix + ("." if prefix else "") + name
                yield from module.named_modules(memo, inner, remove_duplicate)

    def _named_members(self, members, prefix, recurse, remove_duplicate):
        memo = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for module_prefix, module in modules:
            for name, value in members(module):
                if value is None or value in memo:
                    continue
                if remove_duplicate:
                    memo.add(value)
                yield module_prefix + ("." if module_prefix else "") + name, value

    def parameters(self, recurse=True):
        """The parameters of this module and (with `recurse`) all below it."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """The parameters with their dotted names."""
        yield from self._named_members(
            lambda m: m._parameters.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse=True):
        """The buffers of this module and (with `recurse`) all below it."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """The buffers with their dotted names."""
        yield from self._named_members(
            lambda m: m._buffers.items(), prefix, recurse, remove_duplicate
        )

    def get_submodule(self, target):
        """The module at a dotted name."""
        module = self
        for part in target.split(".") if target else ():
            found = getattr(module, part, None)
            if found is None:
                raise AttributeError(f"{type(module).__name__} has no attribute `{part}`")
            if not isinstance(found, Module):
                raise AttributeError(f"`{part}` is not an nn.Module")
            module = found
        return module

    def set_submodule(self, target, module, strict=False):
        """Put a module at a dotted name; with `strict` there must be one already."""
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target):
        """The parameter at a dotted name."""
        path, _, name = target.rpartition(".")
        found = getattr(self.get_submodule(path), name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target):
        """The buffer at a dotted name."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return module._buffers[name]

    def compile(self, *args, **kwargs):
        """Run `forward` compiled from now on; arguments as for :func:`rushlight.compile`."""
        found = later("compiling").compile(self, *args, **kwargs)
        if found is not self:
            self.__dict__["forward"] = found.compiled_forward()

    def apply(self, fn):
        """Call ``fn(module)`` on every module, children first; returns self."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # ------------------------------------------------------------------ modes and gradients
    def train(self, mode=True):
        """Training mode (dropout on, batch statistics) or not, for the whole tree."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """Evaluation mode: ``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Turn gradients of all parameters on or off."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True) -> None:
        """Forget the gradients of all parameters."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                parameter.grad.detach_().zero_()

    # ------------------------------------------------------------------ printing
    def extra_repr(self) -> str:
        """What the printed form says of this module besides its children."""
        return ""

    def _get_name(self):
        return type(self).__name__

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = []
        for name, module in self._modules.items():
            children.append(f"({name}): " + _indented(repr(module), 2))
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        body = "\n  ".join(lines + children)
        return f"{self._get_name()}(\n  {body}\n)"

    def __setstate__(self, state):
        self.__dict__.update(state)
        for name in _MORE_HOOKS:  # which modules that were saved long ago do not have
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())


def _indented(text, spaces):
    """A text with spaces before its lines, the first excepted."""
    return text.replace("\n", "\n" + " " * spaces)
