"""`AdditionalInputs`: sizes that may differ, by further arguments of the same program."""

from __future__ import annotations

from rushlight.export.dynamic.dims import Dim, in_lists
from rushlight.export.tracing import _positional
from rushlight.export.unlifting import InputGuard
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree


class AdditionalInputs:
    """Goes where `dynamic_shapes` goes: sizes in which one of the added arguments differs from
    those of the export may differ from call to call; the others are fixed.

    >>> import rushlight
    >>> further = rushlight.export.dynamic_shapes.AdditionalInputs()
    >>> further.add((rushlight.ones(5, 3),))
    >>> layer = rushlight.nn.Linear(3, 2)
    >>> program = rushlight.export.export(layer, (rushlight.ones(4, 3),), dynamic_shapes=further)
    >>> program.module()(rushlight.ones(9, 3)).shape
    rushlight.Size([9, 2])
    """

    def __init__(self):
        self._examples = []

    def add(self, args, kwargs=None):
        """Add arguments: a tuple, and a dict or None. AssertionError for other kinds."""
        if type(args) is not tuple:
            raise AssertionError(f"add(): args must be a tuple, got {type(args).__name__}")
        if kwargs is not None and type(kwargs) is not dict:
            raise AssertionError(
                f"add(): kwargs must be None or a dict, got {type(kwargs).__name__}"
            )
        self._examples.append((args, kwargs))

    def dynamic_shapes(self, m, args, kwargs=None):
        """The structure beside the arguments, by the module's names of them.

        Raises ValueError where something other than sizes differs.
        """
        given = [_named(m, *each) for each in ((args, kwargs), *self._examples)]
        flat = [pytree.tree_flatten(each) for each in given]
        if any(spec != flat[0][1] for _, spec in flat):
            raise ValueError("AdditionalInputs: the added arguments have another structure")
        leaves = [_sizes(*values) for values in zip(*[each for each, _ in flat], strict=True)]
        return pytree.tree_unflatten(leaves, in_lists(flat[0][1]))

    def verify(self, ep):
        """Raise what a call of the program would raise for arguments that it does not take."""
        guard = InputGuard(ep)
        for args, kwargs in self._examples:
            guard(None, args, kwargs or {})


def _named(module, args, kwargs):
    return dict(_positional(getattr(module, "forward", module), args)) | (kwargs or {})


def _sizes(first, *others):
    """What is said of one leaf: for a tensor a tuple of hints."""
    if not all(type(each) is type(first) for each in others):
        raise ValueError(f"AdditionalInputs: inputs of differing types: {(first, *others)}")
    if not isinstance(first, Tensor):
        if type(first) is int and any(each != first for each in others):
            return Dim.DYNAMIC
        if any(each != first for each in others):
            raise ValueError(f"AdditionalInputs: values that differ: {(first, *others)}")
        return None
    if any(each.dim() != first.dim() for each in others):
        raise ValueError("AdditionalInputs: tensors of differing numbers of dimensions")
    shapes = zip(first.shape, *[each.shape for each in others], strict=True)
    return tuple([Dim.DYNAMIC if len(set(sizes)) > 1 else None for sizes in shapes])
