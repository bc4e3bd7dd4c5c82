"""Formulas of the kernel language as CUDA C++ text.

A formula is a function of numbers without loops or memory: assignments, arithmetic, selections
(``a if c else b``), an ``if`` on what is known when it is printed, and a ``return`` of one or
several numbers. On the CPU the same function is expanded into the loops of a kernel
(:mod:`rushlight.machine.language.lowering`), so an update is written down once for both. A formula
may also be a plain function of Python's floats (with ``**``, ``math.sqrt`` and ``max``).
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import textwrap
import types

from rushlight.machine.language.functions import Builtin, NativeFunction, Parameter

_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_COMPARISONS = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
# Functions of common.cuh; NaN wins in `larger` and `smaller`, as in the language.
_CALLS = {"square_root": "root", "absolute": "fabs", "maximum": "larger", "minimum": "smaller"}

_PLAIN_CALLS = {math.sqrt: "root", max: "larger", min: "smaller"}


class FormulaError(TypeError):
    """A function holds what a formula cannot hold."""


def _definition(function):
    return function.definition if isinstance(function, NativeFunction) else function


def argument_names(function) -> list[str]:
    """The names of a formula's arguments."""
    return list(inspect.signature(_definition(function)).parameters)


def device_function(function, scalar: str, parameters: dict) -> str:
    """The text of a formula as a device function that computes in the type named `scalar`.

    Its arguments are the formula's. One number is what it returns; for several it takes
    references. `parameters` are the values of the language's parameters (``real`` is `scalar`).
    What it calls stands before it.
    """
    return _Formula(function, scalar, parameters).text()


class _Formula:
    def __init__(self, function, scalar, parameters):
        self.function, self.scalar, self.parameters = function, scalar, parameters
        self.definition = _definition(function)
        self.names = set(argument_names(function))  # what is declared
        self.lines, self.results, self.called = [], None, {}

    def text(self):
        source = textwrap.dedent(inspect.getsource(self.definition))
        self.statements(ast.parse(source).body[0].body)
        if self.results is None:
            raise FormulaError(f"the formula {self.function.__name__} returns nothing")
        arguments = [f"{self.scalar} {name}_" for name in argument_names(self.function)]
        lines, result = self.lines, "void"
        if len(self.results) == 1:
            lines, result = [*lines, f"  return {self.results[0]};"], self.scalar
        else:
            arguments += [f"{self.scalar}& result_{i}" for i in range(len(self.results))]
            lines = [*lines, *(f"  result_{i} = {v};" for i, v in enumerate(self.results))]
        head = f"static __device__ __forceinline__ {result} {self.function.__name__}"
        own = "\n".join((f"{head}({', '.join(arguments)}) {{", *lines, "}\n"))
        return "".join((*self.called.values(), own))

    def fail(self, node, reason):
        code = self.definition.__code__
        line = code.co_firstlineno + getattr(node, "lineno", 1) - 1
        raise FormulaError(f"{code.co_filename}:{line}: {reason}")

    # ---- statements

    def statements(self, body):
        for node in body:
            if self.results is not None:
                return
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue  # the docstring
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                self.assign(node.targets[0], node.value)
            elif isinstance(node, ast.If):
                self.statements(node.body if self.known(node.test) else node.orelse)
            elif isinstance(node, ast.Return) and node.value is not None:
                values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
                self.results = [self.value(v) for v in values]
            else:
                self.fail(node, f"{type(node).__name__} is not part of a formula")

    def assign(self, target, value):
        if isinstance(target, ast.Tuple):
            if not isinstance(value, ast.Tuple) or len(value.elts) != len(target.elts):
                self.fail(target, "the right side does not have that many values")
            if {n.id for n in target.elts} & {
                n.id for n in ast.walk(value) if isinstance(n, ast.Name)
            }:
                self.fail(target, "names are assigned together that depend on each other")
            for part, item in zip(target.elts, value.elts, strict=True):
                self.assign(part, item)
            return
        if not isinstance(target, ast.Name):
            self.fail(target, "only names can be assigned in a formula")
        declared = "" if target.id in self.names else f"{self.scalar} "
        self.lines.append(f"  {declared}{target.id}_ = {self.value(value)};")
        self.names.add(target.id)

    def known(self, node):
        """The truth of a comparison of a parameter with a number."""
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and len(node.ops) == 1:
            left = self.definition.__globals__.get(node.left.id)
            right = node.comparators[0]
            if isinstance(left, Parameter) and isinstance(right, ast.Constant):
                if isinstance(node.ops[0], ast.Eq):
                    return self.parameters[left.name] == right.value
                if isinstance(node.ops[0], ast.NotEq):
                    return self.parameters[left.name] != right.value
        return self.fail(node, "an if of a formula compares a parameter with a number")

    # ---- values

    def value(self, node):
        handler = getattr(self, "value_" + type(node).__name__, None)
        if handler is None:
            self.fail(node, f"{type(node).__name__} is not part of a formula")
        return handler(node)

    def value_Constant(self, node):
        if not isinstance(node.value, (int, float)):
            self.fail(node, f"{node.value!r} is not a number")
        return f"({self.scalar}){float(node.value)!r}"

    def value_Name(self, node):
        if node.id not in self.names:
            self.fail(node, f"{node.id} has no value")
        return node.id + "_"  # may be a word of C++

    def value_BinOp(self, node):
        operator = _OPERATORS.get(type(node.op))
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Pow):
            return f"pow({left}, {right})"
        if operator is None:
            self.fail(node, f"{type(node.op).__name__} of floating values")
        return f"({left} {operator} {right})"

    def value_UnaryOp(self, node):
        if not isinstance(node.op, ast.USub):
            self.fail(node, "only unary minus")
        return f"(-{self.value(node.operand)})"

    def value_Compare(self, node):
        if len(node.ops) != 1 or type(node.ops[0]) not in _COMPARISONS:
            self.fail(node, "one comparison at a time")
        left, right = self.value(node.left), self.value(node.comparators[0])
        return f"({left} {_COMPARISONS[type(node.ops[0])]} {right})"

    def value_IfExp(self, node):
        if not isinstance(node.test, ast.Compare):
            self.fail(node, "a selection is made by a comparison")
        test, first = self.value(node.test), self.value(node.body)
        return f"({test} ? {first} : {self.value(node.orelse)})"

    def value_Call(self, node):
        target = self.called_object(node.func)
        arguments = ", ".join(map(self.value, node.args))
        if isinstance(target, Parameter) and target.name == "real":
            return f"({self.scalar})({arguments})"
        name = None
        if isinstance(target, Builtin):
            name = _CALLS.get(target.name)
        elif target in _PLAIN_CALLS:
            name = _PLAIN_CALLS[target]
        elif isinstance(target, (NativeFunction, types.FunctionType)):
            name = target.__name__
            inner = _Formula(target, self.scalar, self.parameters)
            self.called[name] = inner.text()
            if len(inner.results) != 1:
                self.fail(node, "a formula that is called gives one number")
        if name is None:
            self.fail(node, "this cannot be called in a formula")
        return f"{name}({arguments})"

    def called_object(self, node):
        """What a name or an attribute of a module means, or None."""
        if isinstance(node, ast.Name):
            return self.definition.__globals__.get(node.id, getattr(builtins, node.id, None))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return getattr(self.definition.__globals__.get(node.value.id), node.attr, None)
        return None
