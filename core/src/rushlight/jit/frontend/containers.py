"""Lists, tuples and dicts, their items, and comprehensions."""

from __future__ import annotations

import ast

from rushlight.jit import kinds, tree
from rushlight.jit.kinds import (
    ANY,
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NONE,
    STR,
    TENSOR,
    UNKNOWN,
    ClassType,
    Type,
)

_CONSTANTS = {bool: BOOL, int: INT, float: FLOAT, complex: COMPLEX, str: STR, type(None): NONE}


class Containers:
    """What a function's compiler knows of lists, tuples, dicts and their items."""

    def ex_tuple(self, node, hint):
        """A tuple."""
        hints = hint.args if hint is not None and hint.name == "Tuple" else ()
        return self.sequence("tuple", node, [*hints, *[None] * len(node.elts)])

    def ex_list(self, node, hint):
        """A list; an empty one has tensors unless it is told otherwise."""
        wanted = None if hint is None else next((p for p in kinds.parts(hint)
                                                 if p.name == "List"), None)  # fmt: skip
        inner = None if wanted is None else wanted.args[0]
        if any(self.is_list(part) for part in node.elts):
            return self.joined_lists(node, hint)
        made = self.sequence("list", node, [inner] * len(node.elts))
        if wanted is None:
            made.type = kinds.list_of(self.common([i.type for i in made.items], node, mixed=True))
        else:
            made.type = wanted
            made.items = [self.coerced(i, inner, node, "list element") for i in made.items]
        return made

    def is_list(self, node):
        """Whether an item is ``*value`` of a list."""
        return isinstance(node, ast.Starred) and self.expr(node.value).type.name == "List"

    def joined_lists(self, node, hint):
        """``[a, *items, b]``: ``[a] + items + [b]``."""
        pieces, plain = [], []
        for part in [*node.elts, None]:
            if part is None or self.is_list(part):
                if plain:
                    made = ast.copy_location(ast.List(elts=plain, ctx=ast.Load()), node)
                    pieces.append(self.expr(made, hint))
                pieces += [] if part is None else [self.expr(part.value)]
                plain = []
            else:
                plain.append(part)
        found = pieces[0]
        for piece in pieces[1:]:
            kind = self.binary_type("+", found, piece, node)
            found = tree.Binary("+", found, piece, type=kind, at=self.at(node))
        return found

    def sequence(self, kind, node, hints):
        """The items of a list or tuple."""
        items: list = []
        for part, hint in zip(node.elts, hints, strict=False):
            if isinstance(part, ast.Starred):
                items += self.spread(part)
            else:
                items.append(self.expr(part, hint))
        made = Type("Tuple", *(i.type for i in items))
        return tree.Sequence(kind, items, type=made, at=self.at(node))

    def spread(self, node):
        """The items of ``*value``, which must be a tuple."""
        value = self.expr(node.value)
        if value.type.name != "Tuple":
            self.fault(node, f"only tuples can be spread with '*', got {value.type}")
        if isinstance(value, tree.Sequence):
            return value.items
        return [
            tree.Item(value, tree.Const(i, type=INT), type=kind, at=self.at(node))
            for i, kind in enumerate(value.type.args)
        ]

    def common(self, found, node, mixed=False):
        """The one type of the items of a list: a union of several where these may be `mixed`."""
        if not found:
            return TENSOR
        kind = found[0]
        for other in found[1:]:
            joined = kinds.joined(kind, other)
            if joined is None and {kind, other} <= {INT, FLOAT, BOOL}:
                joined = FLOAT
            if joined is None:
                if self.resolver.rebinds:
                    return UNKNOWN
                if mixed:
                    return kinds.union(found)
                self.fault(node, f"all elements of a list must have one type, got {kind} and "
                           f"{other}")  # fmt: skip
            kind = joined
        return kind

    def ex_dict(self, node, hint):
        """A dict."""
        wanted = None if hint is None else next((p for p in kinds.parts(hint)
                                                 if p.name == "Dict"), None)  # fmt: skip
        hints = (None, None) if wanted is None else wanted.args
        if None in node.keys:
            self.unsupported(node)
        keys = [self.expr(k, hints[0]) for k in node.keys]
        values = [self.expr(v, hints[1]) for v in node.values]
        if wanted is None:
            key = self.common([k.type for k in keys], node) if keys else STR
            wanted = Type("Dict", key, self.common([v.type for v in values], node, mixed=True))
        return tree.Mapping(keys, values, type=wanted, at=self.at(node))

    def ex_subscript(self, node, hint):
        """``value[index]``."""
        value = self.value(node.value)
        if not isinstance(value, tree.Expr):
            return self.resolver.item(self, value, node)
        if isinstance(value.type, ClassType) and value.type.kind != "tuple":
            return self.object_item(value, node)
        index = self.index(node.slice)
        kind = self.item_type(value, index, node)
        return tree.Item(value, index, type=kind, at=self.at(node))

    def index(self, node):
        """What stands between brackets."""
        if isinstance(node, ast.Slice):
            parts = [None if p is None else self.expr(p) for p in (node.lower, node.upper,
                                                                   node.step)]  # fmt: skip
            return tree.Cut(*parts, at=self.at(node))
        if isinstance(node, ast.Tuple):
            items = [self.index(part) for part in node.elts]
            return tree.Sequence("tuple", items, type=UNKNOWN, at=self.at(node))
        return self.expr(node)

    def item_type(self, value, index, node):
        """The type of an item."""
        kind = value.type
        if kind in (TENSOR, UNKNOWN, ANY):
            return kind if kind == TENSOR else UNKNOWN
        if kind == STR or (isinstance(index, tree.Cut) and kind.name == "List"):
            return kind
        if kind.name == "List":
            return kind.args[0]
        if kind.name == "Dict":
            return kind.args[1]
        fields = kind.args
        if isinstance(kind, ClassType) and kind.kind == "tuple":
            fields = tuple(kind.attributes.values())
        elif kind.name != "Tuple":
            self.fault(node, f"'{kind}' object is not subscriptable")
        return self.field_type(fields, index, node)

    def field_type(self, fields, index, node):
        """The type of an item of a tuple."""
        if isinstance(index, tree.Cut):
            ends = [None if p is None else p.value for p in (index.start, index.stop, index.step)]
            return Type("Tuple", *fields[slice(*ends)])
        if not isinstance(index, tree.Const):
            kind = self.common(list(fields), node)
            return kind
        if not -len(fields) <= index.value < len(fields):
            self.fault(
                node,
                f"Tuple index out of range. Tuple is length {len(fields)} and "
                f"index is {index.value}",
            )
        return fields[index.value]

    def element(self, kind, node=None):
        """The type of the items that a loop over a value gives."""
        if kind.name in ("List", "Dict", "Iterator"):
            return kind.args[0]
        if kind == STR or kind == TENSOR:
            return kind
        if kind.name == "Tuple" and kind.args:
            return self.common(list(kind.args), node)
        if kind in (UNKNOWN, ANY):
            return UNKNOWN
        return self.fault(node, f"'{kind}' object is not iterable")

    def ex_listcomp(self, node, hint):
        """A list made in a loop."""
        return self.comprehension(node, "list", hint)

    ex_generatorexp = ex_listcomp  # any(...), all(...), sum(...): the whole list is made

    def ex_dictcomp(self, node, hint):
        """A dict made in a loop."""
        return self.comprehension(node, "dict", hint)

    def comprehension(self, node, kind, hint):
        """One loop, and at most one condition."""
        if len(node.generators) != 1 or len(node.generators[0].ifs) > 1:
            self.fault(node, "Only a single generator with at most one condition is supported")
        loop = node.generators[0]
        iterable = self.value(loop.iter)
        items = self.unrolled(iterable, loop.iter)
        if items is not None:
            return self.unrolled_list(node, loop, items)
        iterable = self.as_expr(iterable, loop.iter)
        outer, self.scope = self.scope, self.scope.branch()
        target = self.loop_target(loop.target, self.element(iterable.type, loop.iter))
        test = self.condition(loop.ifs[0])[0] if loop.ifs else None
        key = self.expr(node.key) if kind == "dict" else None
        value = self.expr(node.value if kind == "dict" else node.elt)
        self.scope = outer
        made = kinds.list_of(value.type) if key is None else Type("Dict", key.type, value.type)
        return tree.Comprehension(
            kind, key, value, target, iterable, test, type=made, at=self.at(node)
        )

    def unrolled_list(self, node, loop, items):
        """A list made in a loop over modules."""
        outer, statics, made = self.scope, dict(self.statics), []
        for item in items:
            self.scope = outer.branch()
            self.name_items(loop.target, item)
            made.append(self.expr(node.elt))
        self.scope, self.statics = outer, statics
        kind = kinds.list_of(self.common([m.type for m in made], node))
        return tree.Sequence("list", made, type=kind, at=self.at(node))

    def name_items(self, target, item):
        """Names for one item of a loop whose items are known."""
        if isinstance(target, ast.Tuple):
            parts = item if isinstance(item, tuple) else self.parts_of(item, target)
            for name, part in zip(target.elts, parts, strict=True):
                self.name_items(name, part)
        elif isinstance(target, ast.Name):
            self.statics[target.id] = item
            self.scope.known.pop(target.id, None)
        else:
            self.unsupported(target)

    def parts_of(self, value, target):
        """The items of a tuple as expressions."""
        inner = self.item_types(value.type, len(target.elts), target)
        return [
            tree.Item(value, tree.Const(i, type=INT), type=kind, at=value.at)
            for i, kind in enumerate(inner)
        ]
