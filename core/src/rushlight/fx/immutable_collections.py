"""Lists and dicts that cannot be changed: what the arguments of a node are made of.

A graph keeps account of who uses which node. It could not if arguments changed in place, so that a
node's arguments are replaced as a whole: ``node.args = new_args``.
"""

from __future__ import annotations

from rushlight.utils import _pytree


def _refusing(name, kind):
    def refuse(self, *args, **kwargs):
        raise TypeError(
            f"'{kind}' object does not support mutation ({name}). To change the arguments of a "
            "Node, make a changed copy and assign that: node.args = new_args"
        )

    refuse.__name__ = name
    return refuse


_BOTH = "__delitem__ __ior__ __setitem__ clear pop".split()
_LIST = "__iadd__ __imul__ append extend insert remove reverse sort".split()
_DICT = "popitem setdefault update".split()


def _immutable(base, name, mutators):
    members = {method: _refusing(method, name) for method in mutators if hasattr(base, method)}
    members["__hash__"] = lambda self: hash(tuple(self.items() if base is dict else self))
    members["__reduce__"] = lambda self: (type(self), (base(self),))
    members["__doc__"] = f"A {base.__name__} that refuses to be changed."
    members["__module__"] = __name__
    return type(name, (base,), members)


immutable_list = _immutable(list, "immutable_list", _BOTH + _LIST)
immutable_dict = _immutable(dict, "immutable_dict", _BOTH + _DICT)

_pytree.register_pytree_node(
    immutable_list, lambda x: (list(x), None), lambda children, _: immutable_list(children)
)
_pytree.register_pytree_node(
    immutable_dict,
    lambda x: (list(x.values()), list(x)),
    lambda children, keys: immutable_dict(zip(keys, children, strict=True)),
)

__all__ = ["immutable_dict", "immutable_list"]
