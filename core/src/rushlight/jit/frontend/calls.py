"""Calls: arguments, methods of values, functions of the program."""

from __future__ import annotations

import ast

from rushlight.jit import elements, kinds, scalars, tensors, tree
from rushlight.jit.frontend import scope
from rushlight.jit.frontend.values import Bound
from rushlight.jit.futures import WAIT
from rushlight.jit.kinds import BOOL, INT, STR, TENSOR, UNKNOWN, ClassType, Type
from rushlight.jit.source import NotSupportedError
from rushlight.jit.targets import Compiled, Interface, Make, Method, TypeTest

_CONVERSIONS = {"List": list, "Dict": dict}


class Calls:
    """What a function's compiler knows of calls."""

    def ex_call(self, node, hint):
        """``callee(...)``."""
        asked = self.asked(node)
        if asked is not None:
            return asked[0]
        callee = self.value(node.func)
        if isinstance(callee, Bound):
            return self.call_method(callee, node, hint)
        if isinstance(callee, tree.Expr):
            if isinstance(callee.type, ClassType) and callee.type.kind in ("module", "class"):
                name = "forward" if callee.type.kind == "module" else "__call__"
                return self.call_method(Bound(callee, name), node)
            self.fault(node, f"a value of type '{callee.type}' cannot be called")
        return self.resolver.call(self, callee, node, hint)

    def arguments(self, node, hints=()):
        """The arguments of a call as expressions."""
        args: list = []
        for part in node.args:
            if isinstance(part, ast.Starred):
                args += self.spread(part)
            else:
                args.append(self.expr(part, hints[len(args)] if len(args) < len(hints) else None))
        kwargs = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                self.fault(node, "keyword-arg expansion is not supported", NotSupportedError)
            kwargs[keyword.arg] = self.expr(keyword.value)
        return args, kwargs

    def call_method(self, bound, node, hint=None):
        """``value.name(...)``."""
        kind = bound.object.type
        if isinstance(kind, ClassType) and kind.kind != "tuple":
            return self.call_object(bound, node)
        args, kwargs = self.arguments(node)
        if kind == TENSOR and bound.name == "tolist" and hint not in (None, UNKNOWN):
            return elements.listed(self, bound.object, hint, node)
        if kind == TENSOR:
            return self.resolver.tensor_method(self, bound, args, kwargs, node)
        return self.scalar_method(bound, args, kwargs, node)

    def scalar_method(self, bound, args, kwargs, node):
        """A method of a string, list, dict or number."""
        owner, name = bound.object, bound.name
        function = scalars.language_function(name, owner.type)
        if owner.type in (UNKNOWN, kinds.ANY) or function is None:
            if owner.type.name == "Future" and name == "wait":
                return tree.Call(WAIT, [owner], {}, type=owner.type.args[0], at=self.at(node))
            self.fault(node, f"'{owner.type}' object has no attribute or method '{name}'")
        if owner.type.name == "List" and name in ("append", "insert") and args:
            args[-1] = self.coerced(args[-1], owner.type.args[0], node, "list element")
        if owner.type.name == "List" and name == "append" and UNKNOWN in owner.type.args:
            owner.type = kinds.list_of(args[0].type)
        found = scalars.result(name, [owner.type, *(a.type for a in args)])
        if name in ("get", "pop") and owner.type.name == "Dict" and len(args) > 1:
            found = owner.type.args[1]
        target = scalars.Scalar(name, function, "method")
        return tree.Call(target, [owner, *args], kwargs, type=found, at=self.at(node))

    def call_object(self, bound, node):
        """A method of an object of the program."""
        owner, name = bound.object, bound.name
        kind = owner.type
        if kind.kind == "interface":
            function = kind.methods[name]
            args = self.bound_arguments(function.params[1:], node, name)
            target = Interface(name)
            return tree.Call(
                target, [owner, *args], {}, type=function.returns, at=self.at(node)
            )  # fmt: skip
        function = self.resolver.method(self, kind, name, node)
        if not isinstance(function, tree.Function):
            return function(owner)
        args = self.bound_arguments(function.params[1:], node, name)
        target = Method(function)
        return tree.Call(target, [owner, *args], {}, type=function.returns, at=self.at(node))

    def call_function(self, function, node, target=None):
        """A compiled function."""
        args = self.bound_arguments(function.params, node, function.name.rpartition(".")[2])
        target = target or Compiled(function)
        return tree.Call(target, args, {}, type=function.returns, at=self.at(node))

    def make(self, kind, node):
        """An object of a class, or a named tuple."""
        if kind.kind == "tuple":
            pairs = kind.attributes.items()
            params = [
                tree.Param(n, t, kind.constants.get(n), n in kind.constants) for n, t in pairs
            ]
        else:
            found = kind.scope[0].method(kind, "__init__")
            params = found.params[1:] if found is not None else []
        args = self.bound_arguments(params, node, kind.text.rpartition(".")[2])
        return tree.Call(Make(kind), args, {}, type=kind, at=self.at(node))

    def bound_arguments(self, params, node, name):
        """The arguments of a call in the order of the parameters, defaults filled in."""
        args, kwargs = self.arguments(node, [p.type for p in params])
        positional = [p for p in params if not p.keyword_only]
        if len(args) > len(positional):
            self.fault(node, f"{name}() expected at most {len(positional)} argument(s) but "
                       f"received {len(args)} argument(s)")  # fmt: skip
        values = []
        for at, param in enumerate(params):
            if at < len(args):
                value = args[at]
            elif param.name in kwargs:
                value = kwargs.pop(param.name)
            elif param.has_default:
                value = self.default(param, node)
            else:
                self.fault(node, f"{name}() is missing value for argument '{param.name}'")
            values.append(self.coerced(value, param.type, node, f"argument '{param.name}'"))
        if kwargs:
            self.fault(node, f"{name}() Unknown keyword argument '{next(iter(kwargs))}'")
        return values

    def default(self, param, node):
        """The value of an argument that was left out."""
        value = param.default
        if isinstance(value, list) and param.type.name == "List":
            items = [tree.Const(v, type=kinds.of_value(v)) for v in value]
            return tree.Sequence("list", items, type=param.type, at=self.at(node))
        return tree.Const(value, type=kinds.of_value(value), at=self.at(node))

    # ----------------------------------------------------------------------------- conversions
    def convertible(self, value, wanted):
        """Whether a value becomes one of the type wanted without being told."""
        kind = value.type
        if kinds.fits(kind, wanted):
            return True
        if value.type.name == "List" and isinstance(value, tree.Sequence) and not value.items:
            return any(p.name == "List" for p in kinds.parts(wanted))
        if isinstance(value, tree.Mapping) and not value.keys:
            return any(p.name == "Dict" for p in kinds.parts(wanted))
        targets = {p.text for p in kinds.parts(wanted)}
        if kind == INT and "float" in targets:
            return isinstance(value, tree.Const)
        if kind == TENSOR and targets & {"int", "float", "number", "complex"}:
            return self.implicit
        return False

    def coerced(self, value, wanted, node, what):
        """A value as one of the type wanted; an error where it is of another."""
        kind = value.type
        if kind == wanted or wanted == UNKNOWN:
            return value
        if kind == INT and wanted == kinds.FLOAT and isinstance(value, tree.Const):
            return tree.Const(float(value.value), type=wanted, at=value.at)
        if kinds.fits(kind, wanted):
            return value
        if self.literal_of(value, wanted):
            value.type = next(p for p in kinds.parts(wanted) if p.name == kind.name)
            return value
        if kind.name == "Tuple" and isinstance(value, tree.Sequence):
            part = next((p for p in kinds.parts(wanted) if p.name == "List"), None)
            if part is not None and all(self.convertible(i, part.args[0]) for i in value.items):
                items = [self.coerced(i, part.args[0], node, what) for i in value.items]
                return tree.Sequence("list", items, type=part, at=value.at)
        if kind == TENSOR and self.implicit and not self.resolver.rebinds:
            number = next((p for p in kinds.parts(wanted) if p in (INT, kinds.FLOAT)), None)
            if number is not None:
                return convert(str(number), value, value.at)
        if self.resolver.rebinds or self.convertible(value, wanted):
            return value
        return self.fault(
            node, f"Expected a value of type '{self.shown(wanted)}' for {what} but instead found "
            f"type '{self.shown(kind)}'"
        )  # fmt: skip

    def literal_of(self, value, wanted):
        """Whether a list, dict or tuple that is written out may have a type."""
        if not isinstance(value, tree.Sequence | tree.Mapping):
            return False
        part = next((p for p in kinds.parts(wanted) if p.name == value.type.name), None)
        return part is not None and self.items_fit(value, part)

    def items_fit(self, value, wanted):
        """Whether the items of a literal fit a type."""
        if isinstance(value, tree.Mapping):
            key, item = wanted.args
            fit = all(self.convertible(k, key) for k in value.keys)
            return fit and all(self.convertible(v, item) for v in value.values)
        if wanted.name == "List":
            return all(self.convertible(i, wanted.args[0]) for i in value.items)
        if len(wanted.args) != len(value.items):
            return False
        return all(map(self.convertible, value.items, wanted.args))

    @staticmethod
    def shown(kind):
        """A type as messages write it."""
        return "Tensor" if kind == TENSOR else str(kind)

    # ------------------------------------------------------------------ questions about types
    def asked(self, node):
        """``isinstance(...)`` and ``hasattr(...)``: what they say; None for other calls."""
        if not isinstance(node.func, ast.Name | ast.Attribute):
            return None
        callee = self.resolver.question(self, node)
        if callee == "isinstance" and len(node.args) == 2:
            return self.instance_test(node)
        if callee == "hasattr" and len(node.args) == 2:
            value = self.value(node.args[0])
            known = self.resolver.has(self, value, node.args[1].value)
            return tree.Const(known, type=BOOL, at=self.at(node)), scope.Facts(value=known)
        return None

    def instance_test(self, node):
        """``isinstance(value, types)``."""
        value = self.expr(node.args[0])
        names = node.args[1]
        wanted = [
            self.resolver.tested_type(self, n)
            for n in (names.elts if isinstance(names, ast.Tuple) else [names])
        ]
        name = value.name if isinstance(value, tree.Name) else None
        facts = scope.type_test(name, value.type, wanted)
        if self.resolver.rebinds:
            facts = scope.Facts(facts.yes, facts.no)  # archives hold both branches
        if facts.value is not None:
            return tree.Const(facts.value, type=BOOL, at=self.at(node)), facts
        made = tree.Call(TypeTest(wanted), [value], {}, type=BOOL, at=self.at(node))
        return made, facts


def convert(name, value, at):
    """``int(value)``, ``float(value)``, ``bool(value)``, ``str(value)``."""
    python = {"int": int, "float": float, "bool": bool, "str": str, "complex": complex}[name]
    kind = kinds.SIMPLE[name]
    return tree.Call(scalars.Scalar(name, python), [value], {}, type=kind, at=at)


def listed(value, compiler, node):
    """``list(value)``."""
    kind = STR if value.type == STR else compiler.element(value.type, node)
    target = scalars.Scalar("list", list)
    return tree.Call(target, [value], {}, type=kinds.list_of(kind), at=compiler.at(node))


def counted(args, at):
    """``range(...)``."""
    target = scalars.Scalar("range", range)
    return tree.Call(target, args, {}, type=kinds.list_of(INT), at=at)


def has_length(kind):
    """Whether values of a type have a length."""
    return kind in (STR, TENSOR, UNKNOWN, kinds.ANY) or kind.name in ("List", "Dict", "Tuple")


def length(value, at):
    """``len(value)``; of a tensor, the size of its first dimension."""
    return tree.Call(scalars.Scalar("len", len), [value], {}, type=INT, at=at)


def enumerated(value, compiler, node):
    """``enumerate(value)``."""
    pair = Type("Tuple", INT, compiler.element(value.type, node))
    target = scalars.Scalar("enumerate", enumerate)
    return tree.Call(target, [value], {}, type=kinds.list_of(pair), at=compiler.at(node))


def zipped(values, compiler, node):
    """``zip(...)``."""
    inner = Type("Tuple", *(compiler.element(v.type, node) for v in values))
    target = scalars.Scalar("zip", zip)
    return tree.Call(target, values, {}, type=kinds.list_of(inner), at=compiler.at(node))


def aten(name, args, kwargs, at, function=None):
    """A call of an op."""
    kind = tensors.result(name, args, kwargs)
    return tree.Call(tensors.Aten(name, function), args, kwargs, type=kind, at=at)
