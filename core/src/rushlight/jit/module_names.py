"""What the attributes of objects mean while Python is compiled: those of modules above all."""

from __future__ import annotations

import ast
import inspect

from rushlight.jit import kinds, tree
from rushlight.jit.frontend.values import Bound, Items, Static
from rushlight.jit.kinds import INT, STR, UNKNOWN, ClassType
from rushlight.jit.targets import Method
from rushlight.nn.containers import ModuleDict
from rushlight.nn.utils.rnn import PackedSequence

PACKED = "forward_packed"  # of recurrent layers, for packed sequences


class ModuleNames:
    """The part of the resolver that knows modules, classes, named tuples and enums."""

    def member(self, compiler, value, kind, name, at):
        """``value.name`` of an object; None where there is no such attribute."""
        if name in kind.attributes and kind.kind != "enum":
            return tree.Get(value, name, type=kind.attributes[name], at=at)
        if kind.kind == "enum":
            found = STR if name == "name" else kind.attributes.get("__value__", UNKNOWN)
            known = name in ("name", "value")
            return tree.Get(value, name, type=found, at=at) if known else None
        if kind.kind == "module":
            return self.of_module(compiler, value, kind, name, at)
        if kind.kind == "interface":
            return Bound(value, name) if name in kind.methods else None
        return self.of_class(value, kind.python, kind, name, at)

    def of_class(self, value, python, kind, name, at):
        """A method or a property of a class."""
        found = inspect.getattr_static(python, name, None)
        if isinstance(found, property):
            function = self.property_function(kind, name, found)
            return tree.Call(Method(function), [value], {}, type=function.returns, at=at)
        if found is None:
            return None
        if inspect.isfunction(found) or isinstance(found, staticmethod):
            return Bound(value, name)
        return self.wrapped(found, name, at)

    def property_function(self, kind, name, found):
        """The getter of a property, compiled."""
        if name not in kind.methods:
            full = f"{kind}.{name}"
            kind.methods[name] = self.unit.compiled(found.fget, full, kind)
        return kind.methods[name]

    def of_module(self, compiler, value, kind, name, at):
        """A constant, function or method of a module."""
        scope = kind.scope[0]
        if name in kind.constants:
            constant = kind.constants[name]
            constant = tuple(constant) if name == "__weights__" else constant
            if isinstance(constant, list | tuple):
                return self.of_constants(constant, at)
            return self.wrapped(constant, name, at)
        if name in scope.statics:
            return self.wrapped(scope.statics[name], name, at)
        if name in scope.failed:
            compiler.fault(None, f"Module '{kind.text.rpartition('.')[2]}' has no attribute "
                           f"'{name}' ({scope.failed[name]})")  # fmt: skip
        return self.of_class(value, scope.python, kind, name, at)

    def of_constants(self, values, at):
        """A constant list or tuple."""
        items = [self.wrapped(v, "constant", at) for v in values]
        if not all(isinstance(i, tree.Expr) for i in items):
            return Static(values)
        if isinstance(values, list):
            found = kinds.list_of(items[0].type if items else kinds.TENSOR)
            return tree.Sequence("list", items, type=found, at=at)
        found = kinds.Type("Tuple", *(i.type for i in items))
        return tree.Sequence("tuple", items, type=found, at=at)

    def has(self, compiler, value, name):
        """``hasattr``."""
        if isinstance(value, Static):
            return hasattr(value.value, name)
        kind = value.type
        if not isinstance(kind, ClassType):
            return False
        scope = kind.scope[0]
        inside = name in kind.attributes or name in kind.constants
        if kind.kind != "module":
            return inside or hasattr(kind.python, name)
        return inside or name in scope.statics or hasattr(scope.python, name)

    def method(self, compiler, kind, name, node):
        """A method of an object, compiled; for containers of modules and functions that stay in
        Python, a function that makes the value of the call."""
        owner = kind.python
        if kind.kind == "module":
            scope = kind.scope[0]
            owner, name = scope.python, self.overload(compiler, scope, name, node)
            found = self.uncompiled(compiler, kind, name, node)
            if found is not None:
                return found
        if name == PACKED:
            return kind.scope[0].method(kind, name)
        python, found = inspect.getattr_static(owner, name, None), None
        if python is not None:
            with self.called_from(compiler, python, node):
                found = kind.scope[0].method(kind, name)
        if found is None:
            compiler.fault(node, f"'{kind.text.rpartition('.')[2]}' object has no attribute or "
                           f"method '{name}'")  # fmt: skip
        if isinstance(python, staticmethod):
            return lambda owner: compiler.call_function(found, node)
        return found

    def uncompiled(self, compiler, kind, name, node):
        """What makes the value of a call of a module's method that is no method of a program; None
        for others."""
        found = self.container_method(compiler, kind, name)
        if found is not None:
            return found
        python = inspect.getattr_static(kind.scope[0].python, name, None)
        if getattr(python, "_jit_mark", None) == "ignored":
            return lambda owner: self.ignored(compiler, python, node, (owner,))
        if isinstance(python, staticmethod):
            return lambda owner: self.own_function(compiler, python.__func__, node)
        return None

    @staticmethod
    def overload(compiler, scope, name, node):
        """The name of the method that a call of one runs: recurrent layers have one for packed
        sequences."""
        if name != "forward" or not node.args or not scope.takes_packed():
            return name
        kind = compiler.expr(node.args[0]).type
        return PACKED if getattr(kind, "python", None) is PackedSequence else name

    def container_method(self, compiler, kind, name):
        """``keys``, ``values`` and ``items`` of a ModuleDict."""
        scope = kind.scope[0]
        if name not in ("keys", "values", "items") or not issubclass(scope.python, ModuleDict):
            return None

        def items(owner):
            children = self.children(owner)
            names = [tree.Const(n, type=STR, at=owner.at) for n in scope.children]
            pairs = zip(names, children, strict=True)
            return Static(Items({"keys": names, "values": children}.get(name) or pairs))

        return items

    @staticmethod
    def children(value):
        """The children of a module as expressions."""
        kind = value.type
        return [
            tree.Get(value, name, type=kind.attributes[name], at=value.at)
            for name in kind.scope[0].children
        ]

    def unrolled(self, compiler, value, node):
        """The items of a loop over modules or a tuple; None for loops that run."""
        if isinstance(value, Static) and isinstance(value.value, Items):
            return value.value.items
        if isinstance(value, Static) and isinstance(value.value, list | tuple):
            return [self.wrapped(v, "item", compiler.at(node)) for v in value.value]
        if not isinstance(value, tree.Expr):
            return None
        kind = value.type
        if isinstance(kind, ClassType) and kind.kind == "module":
            scope = kind.scope[0]
            if issubclass(scope.python, ModuleDict):
                return [tree.Const(n, type=STR, at=value.at) for n in scope.children]
            return self.children(value) if scope.is_container else None
        if kind.name == "Tuple" and isinstance(value, tree.Name | tree.Get | tree.Sequence):
            if isinstance(value, tree.Sequence):
                return value.items
            return [
                tree.Item(value, tree.Const(i, type=INT), type=k, at=value.at)
                for i, k in enumerate(kind.args)
            ]
        return None

    def item(self, compiler, value, node):
        """``object[index]`` of something known before the program runs."""
        index = compiler.index(node.slice)
        if isinstance(value, Static) and isinstance(index, tree.Const):
            try:
                found = value.value[index.value]
            except (TypeError, LookupError) as error:
                return compiler.fault(node, str(error))
            return self.wrapped(found, "item", compiler.at(node))
        return compiler.fault(node, f"{value} is not subscriptable")

    @staticmethod
    def constant_index(compiler, index, node):
        """An index of modules, which is known before the program runs."""
        if isinstance(index, tree.Unary) and isinstance(index.value, tree.Const):
            index = tree.Const(-index.value.value, type=INT)
        if not isinstance(index, tree.Const):
            compiler.fault(node, "Unable to extract module with a non-constant index: write a loop "
                           "over the modules")  # fmt: skip
        return index

    def object_item(self, compiler, value, node):
        """``modules[index]`` with a constant index, or ``__getitem__`` of a class."""
        kind = value.type
        scope = kind.scope[0]
        if kind.kind != "module" or not scope.is_container:
            call = ast.copy_location(ast.Call(func=node, args=[node.slice], keywords=[]), node)
            return compiler.call_object(Bound(value, "__getitem__"), call)
        index = compiler.index(node.slice)
        children = self.children(value)
        if isinstance(index, tree.Cut):
            ends = [
                None if part is None else self.constant_index(compiler, part, node).value
                for part in (index.start, index.stop, index.step)
            ]
            return Static(Items(children[slice(*ends)]))
        index = self.constant_index(compiler, index, node)
        if isinstance(index.value, str):
            return self.member(compiler, value, kind, index.value, compiler.at(node))
        try:
            return children[index.value]
        except IndexError:
            return compiler.fault(
                node, f"Index {index.value} out of range: {len(children)} modules"
            )
