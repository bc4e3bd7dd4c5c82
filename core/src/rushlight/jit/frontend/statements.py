"""Statements of a function."""

from __future__ import annotations

import ast

from rushlight.jit import kinds, tree
from rushlight.jit.frontend.operators import BINARY
from rushlight.jit.kinds import NONE, TENSOR, UNKNOWN
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

    def made_variables(self, node):
        """Known constants that a branch or loop may give another value become variables."""
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)
                 and isinstance(n.ctx, ast.Store)}  # fmt: skip
        made = []
        for name in sorted(names & self.statics.keys()):
            value = self.statics[name]
            if isinstance(value, tree.Const):
                target = ast.copy_location(ast.Name(id=name, ctx=ast.Store()), node)
                made += self.assign_name(target, value, node)
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
        if isinstance(target, ast.Name):
            kind = self.binary_type(op, place, value, node)
            self.scope.assign(target.id, kind)
        return tree.Augment(place, op, value, at=self.at(node))

    # ------------------------------------------------------------------------------ branches
    def st_if(self, node):
        """``if``; a condition whose value is known takes one branch."""
        test, facts = self.condition(node.test)
        if facts.value is not None:
            return self.taken(node.body if facts.value else node.orelse, facts)
        outer, statics = self.scope, dict(self.statics)
        self.scope = yes = outer.branch(facts.yes)
        body = self.block(node.body)
        after, self.statics = self.statics, dict(statics)
        self.scope = no = outer.branch(facts.no)
        rest = self.block(node.orelse)
        kept = after.keys() & self.statics.keys()
        self.statics = {name: value for name, value in statics.items() if name in kept}
        self.scope = outer

        def describe(name, first, second, found):
            if found is None and not self.resolver.rebinds:
                if name in self.scope.known or self.used_later(name, node):
                    self.fault(
                        node, f"Type mismatch: {name} is set to type {first} in the true branch "
                        f"and type {second} in the false branch"
                    )  # fmt: skip
            return UNKNOWN if found is None else found

        outer.merge(yes, no, describe)
        return tree.If(test, body, rest, at=self.at(node))

    def taken(self, nodes, facts):
        """The one branch that can be reached."""
        for name, kind in (facts.yes if facts.value else facts.no).items():
            if name in self.scope.known:
                self.scope.known[name] = kind
        return self.block(nodes)

    def used_later(self, name, node):
        """Whether a variable is read below a statement."""
        return any(
            isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
            and n.lineno > node.end_lineno for n in ast.walk(self.definition)
        )  # fmt: skip

    def st_while(self, node):
        """``while``."""
        if node.orelse:
            self.unsupported(node)
        self.forget_facts(node)
        test, facts = self.condition(node.test)
        if facts.value is False:
            return []
        body = self.loop(node, facts.yes)
        if facts.value is True and not any(isinstance(n, ast.Break) for n in ast.walk(node)):
            self.scope.ended = True
        return tree.While(test, body, at=self.at(node))

    def loop(self, node, facts, target=None, kind=None):
        """The body of a loop; variables that it makes may have no value behind it."""
        outer, before = self.scope, dict(self.scope.known)
        self.scope = outer.branch(facts)
        self.loops.append("loop")
        self.leaves.append([])
        aim = None
        if target is not None:
            aim = self.loop_target(target, kind)
        body = self.block(node.body)
        inner, leaves = self.scope, self.leaves.pop()
        self.loops.pop()
        self.scope = outer
        ends = [s for s in (inner, *leaves) if not s.ended or s is not inner]
        for name, was in before.items():
            for end in ends:
                found = kinds.joined(outer.known[name], end.known.get(name, was))
                outer.known[name] = found or outer.declared.get(name, UNKNOWN)
        for end in ends:
            for name in end.known:
                if name not in before:
                    outer.partial.setdefault(name, "loop")
                    if self.resolver.rebinds:
                        outer.known[name] = end.known[name]
        return body if target is None else (aim, body)

    def loop_target(self, target, kind):
        """The variables of a ``for``."""
        if isinstance(target, ast.Name):
            self.statics.pop(target.id, None)
            self.scope.declared.pop(target.id, None)
            self.scope.assign(target.id, kind)
            return tree.Name(target.id, type=kind, at=self.at(target))
        if isinstance(target, ast.Tuple):
            inner = self.item_types(kind, len(target.elts), target)
            pairs = zip(target.elts, inner, strict=True)
            names = [self.loop_target(t, k) for t, k in pairs]
            return tree.Sequence("tuple", names, type=kind, at=self.at(target))
        return self.unsupported(target)

    def forget_facts(self, node):
        """In a loop a variable that is assigned has its declared type from the start."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                declared = self.scope.declared.get(inner.id)
                if inner.id in self.scope.known and declared is not None:
                    known = self.scope.known[inner.id]
                    if known == NONE or inner.id in self.annotated:
                        self.scope.known[inner.id] = declared

    def st_for(self, node):
        """``for``: a loop, or one copy of the body for each of a module's children."""
        if node.orelse:
            self.unsupported(node)
        value, held = self.value(node.iter), []
        kind = getattr(value, "type", None)
        if isinstance(value, tree.Item | tree.Call) and kind.name == "Tuple":
            self.counter += 1
            name = tree.Name(f"_items{self.counter}", type=kind, at=value.at)
            held, value = [tree.Assign(name, value, at=self.at(node))], name
        items = self.unrolled(value, node.iter)
        if items is not None:
            return held + self.unroll(node, items)
        self.forget_facts(node)
        value = self.as_expr(value, node.iter)
        kind = self.element(value.type, node.iter)
        target, body = self.loop(node, {}, node.target, kind)
        return tree.For(target, value, body, at=self.at(node))

    def unroll(self, node, items):
        """The body once for each item."""
        made = []
        self.loops.append("unrolled")
        for item in items:
            made += self.assign_unrolled(node.target, item, node)
            made += self.block(node.body)
            if self.scope.ended:
                break
        self.loops.pop()
        return made

    def assign_unrolled(self, target, item, node):
        """The loop's variables for one item."""
        if isinstance(item, tuple):
            made = []
            for part, value in zip(target.elts, item, strict=True):
                made += self.assign_unrolled(part, value, node)
            return made
        if isinstance(target, ast.Tuple):
            return self.unpack(target, item, node)
        self.scope.declared.pop(target.id, None)
        if isinstance(item, tree.Const):  # known in the body, for getattr and indices
            self.scope.known.pop(target.id, None)
            self.statics[target.id] = item
            return []
        return self.assign_name(target, item, node)

    def st_with(self, node):
        """``with``."""
        made = []
        if len(node.items) != 1:
            outer = ast.With(items=node.items[:1], body=[ast.With(items=node.items[1:],
                             body=node.body)])  # fmt: skip
            for part in (outer, outer.body[0]):
                ast.copy_location(part, node)
            node = outer
        item = node.items[0]
        context = self.expr(item.context_expr)
        target = None
        if item.optional_vars is not None:
            target = self.loop_target(item.optional_vars, self.entered(context))
        body = self.block(node.body)
        made.append(tree.With(context, target, body, at=self.at(node)))
        return made

    def entered(self, context):
        """What the ``as`` of a ``with`` gets."""
        method = getattr(context.type, "methods", {}).get("__enter__")
        return UNKNOWN if method is None else method.returns
