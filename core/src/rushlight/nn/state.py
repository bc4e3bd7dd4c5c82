"""State dicts of modules: writing, loading, conversion of all tensors."""

from __future__ import annotations

from collections import OrderedDict, namedtuple

from rushlight.autograd.handle import add_hook
from rushlight.autograd.later import later
from rushlight.autograd.mode import no_grad
from rushlight.dtypes import FLOAT
from rushlight.tensor.dispatch import is_dispatching
from rushlight.tensor.tensor import Parameter, Tensor


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class _WithoutModule:
    """A hook that is called without the module; a class, so that it can be pickled."""

    def __init__(self, hook):
        self.hook = hook

    def __call__(self, module, *args):
        return self.hook(*args)


EXTRA_STATE = "_extra_state"  # the key of what `get_extra_state` gives


def _load(module, state, prefix, metadata, assign, missing, unexpected, errors):
    local = dict((metadata or {}).get(prefix[:-1], {}))
    if assign:
        local["assign_to_params_buffers"] = True
    module._load_from_state_dict(state, prefix, local, True, missing, unexpected, errors)
    for name, child in module._modules.items():
        if child is not None:
            _load(child, state, prefix + name + ".", metadata, assign, missing, unexpected, errors)


def _find_unexpected(module, state_dict, prefix, own, unexpected_keys):
    for key in state_dict:
        if key.startswith(prefix) and key != prefix + EXTRA_STATE:
            head = key[len(prefix) :].split(".", 1)
            if (len(head) > 1 and head[0] not in module._modules) or (
                len(head) == 1 and head[0] not in own
            ):
                unexpected_keys.append(key)


def _load_one(module, name, target, value, key, assign, error_msgs):
    if not isinstance(value, Tensor):
        error_msgs.append(
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
            f"object from checkpoint but received {type(value)}"
        )
        return
    if value.shape != target.shape and not (value.dim() == 1 and value.numel() == 1
                                            and target.dim() == 0):  # fmt: skip
        error_msgs.append(
            f"size mismatch for {key}: copying a param with shape {value.shape} from "
            f"checkpoint, the shape in current model is {target.shape}."
        )
        return
    if assign:
        if name in module._parameters and not isinstance(value, Parameter):
            value = Parameter(value, requires_grad=target.requires_grad)
        setattr(module, name, value)
        return
    target.copy_(value if value.shape == target.shape else value.reshape(target.shape))


def _cast(module, dtype_name):
    return module._apply(lambda t: getattr(t, dtype_name)() if t._dtype.category == FLOAT else t)


class StateMixin:
    """The half of Module that reads and writes its tensors."""

    _version = 1

    # ------------------------------------------------------------------ writing
    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """All parameters and persistent buffers by dotted name, detached unless `keep_vars`."""
        values = [*args, *(destination, prefix, keep_vars)[len(args) :]]
        destination, prefix, keep_vars = values
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        noted = {"version": self._version}  # hooks write to it too
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = noted
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, noted)
            if result is not None and getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = destination if result is None else result
        return destination

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, value in self._parameters.items():
            if value is not None:
                destination[prefix + name] = value if keep_vars else value.detach()
        for name, value in self._buffers.items():
            if value is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not StateMixin.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def get_extra_state(self):
        """Further state for the state dict; override together with `set_extra_state`."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called."
        )

    def set_extra_state(self, state):
        """Restore what `get_extra_state` gave; override together with it."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called."
        )

    def register_state_dict_post_hook(self, hook):
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after `state_dict`."""
        hook._from_public_api = True
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook):
        """The same for a hook whose result, unless it is None, replaces the state dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was "
                "previously registered via register_state_dict_post_hook"
            )
        return add_hook(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook):
        """Call ``hook(module, prefix, keep_vars)`` before `state_dict`."""
        return add_hook(self._state_dict_pre_hooks, hook)

    # ------------------------------------------------------------------ loading
    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copy tensors from a state dict; with `strict` its keys must match exactly.

        `assign` puts the given tensors in place of the module's instead of copying. Returns the
        missing and unexpected keys. A mismatch is one error that lists all of them.
        """
        if not hasattr(state_dict, "items"):
            raise TypeError(
                f"Expected state_dict to be dict-like, got {type(state_dict).__name__}."
            )
        missing, unexpected, errors = [], [], []
        metadata = getattr(state_dict, "_metadata", None)
        state = OrderedDict(state_dict)
        with no_grad():
            _load(self, state, "", metadata, assign, missing, unexpected, errors)
        incompatible = _IncompatibleKeys(missing, unexpected)
        for module in self.modules():
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, incompatible) is not None:
                    raise AssertionError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not "
                        "expected to return new values, if incompatible_keys need to be modified, "
                        "it should be done inplace."
                    )
        if strict:
            if unexpected:
                keys = ", ".join(f'"{k}"' for k in unexpected)
                errors.insert(0, f"Unexpected key(s) in state_dict: {keys}. ")
            if missing:
                keys = ", ".join(f'"{k}"' for k in missing)
                errors.insert(0, f"Missing key(s) in state_dict: {keys}. ")
        if errors:
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
                + "\n\t".join(errors)
            )
        return incompatible

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                error_msgs,
            )  # fmt: skip
        own = {n: v for n, v in self._parameters.items() if v is not None}
        for name, value in self._buffers.items():
            if value is not None and name not in self._non_persistent_buffers_set:
                own[name] = value
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, target in own.items():
            key = prefix + name
            if key not in state_dict:
                missing_keys.append(key)
                continue
            _load_one(self, name, target, state_dict[key], key, assign, error_msgs)
        extra = prefix + EXTRA_STATE
        if type(self).set_extra_state is not StateMixin.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            _find_unexpected(self, state_dict, prefix, own, unexpected_keys)

    def register_load_state_dict_pre_hook(self, hook):
        """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)`` before this module's tensors are loaded."""
        return add_hook(self._load_state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        call = hook if with_module else _WithoutModule(hook)
        return add_hook(self._load_state_dict_pre_hooks, call)

    def register_load_state_dict_post_hook(self, hook):
        """Call ``hook(module, incompatible_keys)`` after everything was loaded."""
        return add_hook(self._load_state_dict_post_hooks, hook)

    # ------------------------------------------------------------------ conversion
    def _apply(self, fn, recurse=True):
        for module in self.children() if recurse else ():
            module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            with no_grad():
                value = fn(parameter)
                if is_dispatching(value) or is_dispatching(parameter):
                    made = Parameter(value, parameter.requires_grad)
                    later("exchange").swap_tensors(parameter, made)
                elif value._device is parameter._device:
                    parameter.data = value
                else:
                    self._parameters[name] = Parameter(value, parameter.requires_grad)
                    parameter = self._parameters[name]
                if parameter.grad is not None:
                    parameter.grad = fn(parameter.grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args, **kwargs):
        """Move and/or cast all parameters and buffers, in place: ``to(device)``, ``to(dtype)``,
        ``to(tensor)``. Only floating-point and complex tensors change dtype, only those with four
        (or five) dimensions are laid out in a ``memory_format`` of channels last."""
        from rushlight.ops.creation.conversion import parse_to

        dtype, device, _, _, layout = parse_to(args, dict(kwargs))
        if dtype is not None and dtype.category < FLOAT:
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={dtype}"
            )

        def convert(tensor):
            wanted = dtype if tensor._dtype.category >= FLOAT else None
            fits = layout is not None and tensor.dim() in (4, 5)
            return tensor.to(device=device, dtype=wanted, memory_format=layout if fits else None)

        return self._apply(convert)

    def type(self, dst_type):
        """Cast all parameters and buffers."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self):
        """All floating-point parameters and buffers as float32."""
        return _cast(self, "float")

    def double(self):
        """All floating-point parameters and buffers as float64."""
        return _cast(self, "double")

    def half(self):
        """All floating-point parameters and buffers as float16."""
        return _cast(self, "half")

    def bfloat16(self):
        """All floating-point parameters and buffers as bfloat16."""
        return _cast(self, "bfloat16")

    def cpu(self):
        """All parameters and buffers on the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device=None):
        """All parameters and buffers on a GPU; raises where there is none."""
        return self._apply(lambda t: t.cuda(device))

    def to_empty(self, *, device, recurse=True):
        """Uninitialised memory on a device for all parameters and buffers."""
        from rushlight.ops.creation.tensors import empty_like

        return self._apply(lambda t: empty_like(t, device=device), recurse)

    def share_memory(self):
        """Move all tensors to memory that worker processes share."""
        return self._apply(lambda t: t.share_memory_())
