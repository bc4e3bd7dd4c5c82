"""The table of native functions: which names machine code takes over, and from whom.

A caller on the fast path looks a name up in its owner, a module or an object, at each call. In the
beginning that is a Python function, the twin. Once machine code is there, :func:`take_over`
replaces it by the native function; nothing else does. A twin that is a mere refusal answers
NotImplemented, and the caller goes on in Python.

With ``RUSHLIGHT_FAST_PATH=off``, and where the interpreter's objects have another layout, the twins
stay. The machine code of ``rl_NAME`` stands in the file that is named beside its owner.
"""

from __future__ import annotations

__all__ = ["TABLE", "native_names", "replaced", "take_over"]

# Owner below `rushlight`: name -> what it does. A dash marks names whose twin is a refusal.
TABLE = {
    # kernels of machine/worker_pool.py
    "machine.threads": {
        "run": "run a prepared job on the pool",
        "launch": "run a kernel over a range on the pool",
        "gather": "the addresses of lists of arrays, by blocks",
    },
    # machine/native_functions.py
    "machine.memory": {"room": "- a new array that starts on a cache line"},
    "kernels.launch.prepared.fast": {  # fastpath/results.py and known_layouts.py
        "several": "- a function that makes the results of a kernel as well",
        "described": "- what such a function takes and gives",
        "known_calls": "- a function over a table of layouts that calls have had",
    },
    # kernels/reduction/small_native.py
    "kernels.reduction.small_reduction.small": dict.fromkeys(
        ("sum", "mean", "max", "min", "argmax", "argmin", "max_at", "min_at"),
        "- this reduction of a small row-major array",
    ),
    "tensor.tensor": {"sized": "the shape of a tensor"},  # fastpath/shapes.py
    "tensor.construction": {
        # fastpath/tensors.py
        "made": "a tensor around an array",
        "result": "a tensor around an array that was computed from a tensor",
        "view": "a tensor around an array that shares the memory of a tensor",
        # fastpath/views.py: array and tensor of a view
        "indexed": "- by ints, slices, None and Ellipsis",
        "reshaped": "- of row-major memory",
        "permuted": "- with its dimensions in another order",
        "swapped": "- with two dimensions exchanged",
        "expanded": "- broadcast to sizes",
        "windowed": "- of given sizes, strides and offset",
        "parts": "- all parts along a dimension",
        # fastpath/recording.py: nodes, edges, saved values
        "recorded": "- of a call of one or two tensors",
        "viewed": "- of a view",
        "noted": "- of a call of any tensors",
        # fastpath/backward.py
        "below": "- the nodes below a node, and how many gradients each leaf will get",
        "fits": "- whether gradients have the shapes and dtypes of their tensors",
        "handed": "- hand the gradients of a node on",
        # fastpath/lists.py: lists of tensors in an optimizer's step
        "arrays": "- their arrays",
        "written": "- raise their versions",
        "counted": "- add one to their numbers of steps",
        # fastpath/shapes.py
        "dense": "- the tensor itself, where it is row-major",
        "cleared": "- zeros into a small row-major array",
        # fastpath/results.py
        "results": "- tensors around a tuple of arrays",
        "plain": "- whether all are plain tensors with NumPy's arrays",
        # fastpath/creation.py
        "shared": "- a tensor around a view of an array",
        "fresh": "- a new tensor of given sizes",
        "alike": "- a new tensor of another's sizes",
    },
}  # fmt: skip
_twins: dict[tuple[str, str], object] = {}


def native_names(owner: str) -> tuple[str, ...]:
    """The names of an owner that machine code takes over."""
    return tuple(TABLE[owner])


def take_over(owner: str, holder, natives: dict) -> None:
    """Replace the twins of these names by native functions in `holder`, the module or object that
    the table calls `owner`. Raises KeyError for a name that the table lacks."""
    for name, native in natives.items():
        if name not in TABLE[owner]:
            raise KeyError(f"the table of native functions has no {name!r} of {owner}")
        _twins.setdefault((owner, name), getattr(holder, name))
        setattr(holder, name, native)


def replaced() -> dict:
    """The Python functions that machine code has replaced so far, by owner and name."""
    return dict(_twins)
