"""Branches, loops and contexts."""

from __future__ import annotations

import ast

from rushlight.jit import kinds, tree
from rushlight.jit.kinds import NONE, UNKNOWN


class Blocks:
    """What a function's compiler knows of branches and loops."""

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
