"""Statements of a function."""

from __future__ import annotations

import ast

from rushlight.jit import kinds, tree
from rushlight.jit.frontend.operators import BINARY
from rushlight.jit.kinds import TENSOR, UNKNOWN
from rushlight.jit.source import NotSupportedError


class Statements:
    """What a function's compiler knows of statements."""

    narrow: dict  # annotated values whose type is known better

    def block(self, nodes):
        """Statements in order; what is not reached is left out."""
        made: list = []
        for node in nodes:
            if self.scope.ended:
                break
            step = getattr(self, "st_" + type(node).__name__.lower(), None)
            if step is None:
                self.unsupported(node)
            if isinstance(node, ast.If | ast.While | ast.For):
                made.extend(self.made_variables(node))
            found = step(node)
            made.extend(found if isinstance(found, list) else [found])
        return made

    def st_pass(self, node):
        """``pass``."""
        return []

    def st_expr(self, node):
        """An expression for its effect; texts are documentation."""
        if isinstance(node.value, ast.Constant):
            return []
        return tree.Run(self.expr(node.value), at=self.at(node))

    def st_return(self, node):
        """``return``."""
        value = self.expr(node.value, self.returns) if node.value else tree.nothing(self.at(node))
        self.note_return(value, node)
        if self.returns is not None:
            value = self.coerced(value, self.returns, node, "the result")
        self.scope.ended = True
        return tree.Return(value, at=self.at(node))

    def st_functiondef(self, node):
        """A function inside of an archive's, which is forked next: it runs where it stands, and
        its name is its result."""
        *body, last = node.body
        if not self.resolver.rebinds or node.args.args or not isinstance(last, ast.Return):
            return self.unsupported(node)
        made = self.block(body)
        value = self.expr(last.value)
        name = ast.copy_location(ast.Name(id=node.name, ctx=ast.Store()), node)
        return [*made, *self.assign_name(name, value, node)]

    def st_raise(self, node):
        """``raise Kind(message)``."""
        self.scope.ended = True
        return self.raised(node)

    def st_assert(self, node):
        """``assert``: what it says holds afterwards."""
        test, facts = self.condition(node.test)
        message = None
        if node.msg is not None:
            message = self.expr(node.msg)
        for name, kind in facts.yes.items():
            if name in self.scope.known:
                self.scope.known[name] = kind
        if facts.value is False:
            self.scope.ended = True
        return tree.Assert(test, message, at=self.at(node))

    def st_break(self, node):
        """``break``."""
        self.inside_loop(node)
        return tree.Break(at=self.at(node))

    def st_continue(self, node):
        """``continue``."""
        self.inside_loop(node)
        return tree.Continue(at=self.at(node))

    def inside_loop(self, node):
        """Refuse ``break`` and ``continue`` in loops that are unrolled and outside of loops."""
        if not self.loops:
            self.fault(node, "break and continue need a loop around them")
        if self.loops[-1] == "unrolled":
            self.fault(node, "break and continue are not possible in a loop over modules, which "
                       "is unrolled", NotSupportedError)  # fmt: skip
        self.leaves[-1].append(self.scope.branch())
        self.scope.ended = True

    def st_delete(self, node):
        """``del``."""
        made = []
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.expr(target)
                self.scope.known.pop(target.id)
            made.append(tree.Delete(self.renamed_target(target), at=self.at(node)))
        return made

    def renamed_target(self, target):
        """A target as an expression, which need not have a value."""
        if isinstance(target, ast.Name):
            return tree.Name(target.id, at=self.at(target))
        return self.expr(target)

    # ---------------------------------------------------------------------------- assignment
    def st_assign(self, node):
        """``a = b = value``."""
        hint = self.hint_of(node.targets[0])
        value = self.value(node.value, hint)
        made = []
        if len(node.targets) > 1 and not isinstance(value, tree.Name | tree.Const):
            self.counter += 1
            held = f"_held{self.counter}"
            value = self.as_expr(value, node.value)
            made.append(tree.Assign(tree.Name(held), value, at=self.at(node)))
            value = tree.Name(held, type=value.type, at=value.at)
        for target in node.targets:
            made += self.assign(target, value, node)
        return made

    def hint_of(self, target):
        """The type a value for a target should have."""
        if isinstance(target, ast.Name):
            return self.scope.declared.get(target.id) if target.id in self.annotated else None
        if isinstance(target, ast.Attribute):
            return self.attribute_type(target)
        if isinstance(target, ast.Subscript):
            kind = getattr(self.value(target.value), "type", None)
            if kind is not None and kind.name in ("List", "Dict"):
                return kind.args[-1]
        return None

    def st_annassign(self, node):
        """``name: Kind = value``."""
        kind = self.annotation(node.annotation)
        if isinstance(node.target, ast.Name):
            self.annotated.add(node.target.id)
            self.scope.declared[node.target.id] = kind
            self.scope.own.add(node.target.id)
        if isinstance(node.target, ast.Attribute):
            owner = self.expr(node.target.value).type
            if isinstance(owner, kinds.ClassType) and owner.kind == "class":
                owner.attributes.setdefault(node.target.attr, kind)
        if node.value is None:
            return []
        value = self.coerced(self.expr(node.value, kind), kind, node, "variable")
        if value.type != kind and not isinstance(value, tree.Cast):
            value = self.told(value, kind)
        return self.assign(node.target, value, node)

    def told(self, value, kind):
        """A value whose variable has a wider type: what is written says so."""
        made = tree.Cast("annotate", value, type=kind, at=value.at)
        self.narrow[id(made)] = value.type
        return made

    def assign(self, target, value, node):
        """Statements that give a target a value."""
        if isinstance(target, ast.Name):
            return self.assign_name(target, value, node)
        if isinstance(target, ast.Tuple | ast.List):
            return self.unpack(target, self.as_expr(value, node), node)
        value = self.as_expr(value, node)
        if isinstance(target, ast.Attribute):
            wanted = self.attribute_type(target)
            if wanted is not None:
                value = self.coerced(value, wanted, node, f"attribute '{target.attr}'")
            else:
                self.declare(target, value)
            return [tree.Assign(self.expr(target), value, at=self.at(node))]
        if isinstance(target, ast.Subscript):
            return [tree.Assign(self.expr(target), value, at=self.at(node))]
        return self.unsupported(target)

    def declare(self, target, value):
        """An attribute that ``__init__`` gives an object."""
        owner = self.expr(target.value).type
        if isinstance(owner, kinds.ClassType):
            owner.attributes.setdefault(target.attr, value.type)

    def assign_name(self, target, value, node):
        """``name = value``."""
        if not isinstance(value, tree.Expr):
            self.statics[target.id] = value
            self.scope.known.pop(target.id, None)
            return []
        self.statics.pop(target.id, None)
        declared = self.scope.declared.get(target.id)
        known = self.narrow.get(id(value), value.type)
        if declared is not None and not self.resolver.rebinds:
            if not kinds.fits(known, declared):
                value = self.reassigned(target, value, declared, node)
                known = value.type
            known = declared if known == UNKNOWN else known
        elif self.resolver.rebinds:
            self.scope.declared.pop(target.id, None)
        self.scope.assign(target.id, known)
        name = tree.Name(target.id, type=known, at=self.at(target))
        return [tree.Assign(name, value, at=self.at(node))]

    def reassigned(self, target, value, declared, node):
        """A value of another type than a variable had: at the level where the variable began it
        may change; further in, tensors become numbers, and literals are of the type."""
        if target.id in self.scope.own:
            self.scope.declared[target.id] = value.type
            return value
        if value.type == TENSOR or self.literal_of(value, declared):
            return self.coerced(value, declared, node, "variable")
        return self.fault(
            node, f"Variable '{target.id}' previously had type {declared} but is now being "
            f"assigned to a value of type {value.type}"
        )  # fmt: skip

    def unpack(self, target, value, node):
        """``a, b = value``."""
        inner = self.item_types(value.type, len(target.elts), node)
        if all(isinstance(t, ast.Name) for t in target.elts):
            names = []
            for part, kind in zip(target.elts, inner, strict=True):
                self.statics.pop(part.id, None)
                if self.resolver.rebinds:
                    self.scope.declared.pop(part.id, None)
                self.scope.assign(part.id, kind)
                names.append(tree.Name(part.id, type=kind, at=self.at(part)))
            made = tree.Sequence("tuple", names, type=value.type, at=self.at(target))
            return [tree.Assign(made, value, at=self.at(node))]
        held, made = [], []
        for kind in inner:
            self.counter += 1
            held.append(tree.Name(f"_part{self.counter}", type=kind, at=self.at(target)))
        first = tree.Sequence("tuple", held, type=value.type, at=self.at(target))
        made.append(tree.Assign(first, value, at=self.at(node)))
        for part, name in zip(target.elts, held, strict=True):
            if isinstance(part, ast.Starred):
                self.unsupported(part)
            made += self.assign(part, name, node)
        return made

    def item_types(self, kind, count, node):
        """The types of the items a value is taken apart into."""
        fields = kind.attributes.values() if isinstance(kind, kinds.ClassType) else kind.args
        if kind.name == "Tuple" or getattr(kind, "kind", "") == "tuple":
            if len(fields) != count:
                self.fault(
                    node,
                    f"need {count} values to unpack but found only {len(fields)}"
                    if len(fields) < count
                    else f"too many values to unpack: need {count} but found {len(fields)}",
                )
            return list(fields)
        return [self.element(kind)] * count

    def st_augassign(self, node):
        """``a += value``."""
        target, op = node.target, BINARY[type(node.op)]
        value = self.expr(node.value)
        place = self.expr(target)
        if place.type.name == "List":
            place, value = self.lists_added(op, place, value)
        if isinstance(target, ast.Name):
            kind = self.binary_type(op, place, value, node)
            self.scope.assign(target.id, kind)
        return tree.Augment(place, op, value, at=self.at(node))

    # ------------------------------------------------------------------------------ branches
