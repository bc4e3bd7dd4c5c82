"""Parameters, buffers and submodules of a module, read and replaced by their dotted names."""

from __future__ import annotations

from rushlight.nn.module import Module
from rushlight.tensor.tensor import Tensor

__all__ = ["NamedMemberAccessor", "set_tensor", "swap_submodule", "swap_tensor"]

_MISSING = object()


def _check_owner(module, name: str, kind: str) -> None:
    if not isinstance(module, Module):
        raise TypeError(f"{module!r} is not an instance of rushlight.nn.Module")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain "."')
    if not name:
        raise KeyError(f'{kind} name can\'t be empty string ""')


def _check_tensor(value, subject: str) -> None:
    if value is not None and value is not _MISSING and not isinstance(value, Tensor):
        raise TypeError(f"{subject} is not an instance of rushlight.Tensor")


def _table(module, name: str) -> dict | None:
    """The module's table that holds a tensor of this name."""
    return next((t for t in (module._parameters, module._buffers) if name in t), None)


def set_tensor(module, name: str, tensor) -> None:
    """Set a tensor of a module: in its parameters or buffers where `name` is one, so that a plain
    tensor may stand for a parameter, and as an attribute elsewhere."""
    _check_owner(module, name, "tensor")
    _check_tensor(tensor, repr(tensor))
    table = _table(module, name)
    if table is None:
        setattr(module, name, tensor)
    else:
        table[name] = tensor


def swap_tensor(module, name: str, tensor, allow_missing: bool = False):
    """Set a tensor of a module and return the one that was there.

    allow_missing: where there was none, return a mark of that instead of raising; given as `tensor`
        to a later call, the mark deletes the tensor again.

    Raises AttributeError where the module has no such tensor, TypeError where something else has
    the name or `tensor` is none, and KeyError where `name` is empty or has dots.

    Example:
        >>> import rushlight
        >>> from rushlight.nn.utils.member_access import swap_tensor
        >>> layer = rushlight.nn.Linear(2, 1)
        >>> own = swap_tensor(layer, "weight", rushlight.ones(1, 2))
        >>> layer.weight
        tensor([[1., 1.]])
    """
    _check_owner(module, name, "tensor")
    _check_tensor(tensor, repr(tensor))
    table = _table(module, name)
    before = getattr(module, name, _MISSING) if table is None else table[name]
    if before is _MISSING and not allow_missing:
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
    _check_tensor(before, f"attribute `{name}`: {before!r}")
    if tensor is not _MISSING:
        set_tensor(module, name, tensor)
    elif table is not None:
        del table[name]
    elif before is not _MISSING:
        delattr(module, name)
    return before


def swap_submodule(module, name: str, submodule):
    """Set a submodule of a module and return the one that was there.

    Raises KeyError where there was none, and TypeError where `submodule` is no module.
    """
    _check_owner(module, name, "submodule")
    if not isinstance(submodule, Module):
        raise TypeError(f"{submodule!r} is not an instance of rushlight.nn.Module")
    if name not in module._modules:
        raise KeyError(f"{type(module).__name__} has no submodule `{name}`")
    before, module._modules[name] = module._modules[name], submodule
    return before


class NamedMemberAccessor:
    """The tensors and submodules of `module` by dotted names, such as ``"0.weight"``.

    Raises AttributeError for names that are not there.

    Example:
        >>> import rushlight
        >>> from rushlight.nn.utils.member_access import NamedMemberAccessor
        >>> members = NamedMemberAccessor(rushlight.nn.Sequential(rushlight.nn.Linear(2, 1)))
        >>> members.get_tensor("0.weight").shape
        rushlight.Size([1, 2])
    """

    def __init__(self, module):
        self.module = module

    def _owner(self, name: str):
        """The module that holds a member, and the member's own name."""
        path, _, leaf = name.rpartition(".")
        return self.get_submodule(path), leaf

    def get_submodule(self, name: str):
        """The submodule of a name; the module itself for an empty one."""
        return self.module.get_submodule(name)

    def swap_submodule(self, path: str, value):
        """Set a submodule; return the one that was there."""
        owner, leaf = self._owner(path)
        return swap_submodule(owner, leaf, value)

    def get_tensor(self, name: str):
        """The tensor of a name."""
        owner, leaf = self._owner(name)
        value = getattr(owner, leaf, _MISSING)
        if value is _MISSING:
            raise AttributeError(f"{type(owner).__name__} has no attribute `{leaf}`")
        _check_tensor(value, f"attribute `{leaf}`: {value!r}")
        return value

    def set_tensor(self, name: str, value) -> None:
        """Set the tensor of a name."""
        owner, leaf = self._owner(name)
        set_tensor(owner, leaf, value)

    def del_tensor(self, name: str) -> None:
        """Delete the tensor of a name."""
        owner, leaf = self._owner(name)
        swap_tensor(owner, leaf, _MISSING)

    def swap_tensor(self, name: str, value, allow_missing: bool = False):
        """Set the tensor of a name; return the one that was there, see :func:`swap_tensor`."""
        owner, leaf = self._owner(name)
        return swap_tensor(owner, leaf, value, allow_missing)

    def get_tensors(self, names) -> list:
        """The tensors of several names."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names, values) -> None:
        """Set the tensors of several names. Raises ValueError where there are more or fewer."""
        self.set_tensors_dict(_paired(names, values))

    def set_tensors_dict(self, named_tensors) -> None:
        """Set tensors by name."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names) -> None:
        """Delete the tensors of several names."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(self, names, values, allow_missing: bool = False) -> list:
        """Set the tensors of several names; return those that were there."""
        pairs = _paired(names, values)
        return [self.swap_tensor(name, value, allow_missing) for name, value in pairs.items()]

    def swap_tensors_dict(self, named_tensors, allow_missing: bool = False):
        """Set tensors by name; return those that were there by name, and the names of which there
        were none. Where one cannot be set, those that were are put back."""
        before: dict = {}
        try:
            for name, value in named_tensors.items():
                before[name] = self.swap_tensor(name, value, allow_missing=True)
                if before[name] is _MISSING and not allow_missing:
                    raise RuntimeError(f"Missing key(s): {name!r}.")
        except Exception:
            for name, value in before.items():
                self.swap_tensor(name, value, allow_missing=True)
            raise
        return before, [name for name, value in before.items() if value is _MISSING]

    def check_keys(self, keys):
        """Of names: the module's tensors that are not among them, and those of no tensor."""
        own, given = {name for name, _ in self.named_tensors()}, set(keys)
        return sorted(own - given), sorted(given - own)

    def named_parameters(self, remove_duplicate: bool = True):
        """The module's parameters with their names."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True):
        """The module's buffers with their names."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True):
        """The module's parameters and buffers with their names."""
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True):
        """The module and its submodules with their names."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)


def _paired(names, values) -> dict:
    names, values = list(names), list(values)
    if len(names) != len(values):
        raise ValueError(f"names are {len(names)} and values {len(values)}; expected as many")
    return dict(zip(names, values, strict=True))
