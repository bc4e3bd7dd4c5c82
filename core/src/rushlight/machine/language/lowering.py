"""Lowering of the kernel language (:mod:`rushlight.machine.language.functions`) to LLVM IR.

One walk over the syntax tree emits the code. Local variables are stack slots in the entry block;
LLVM turns them into registers. Calls of inline functions are expanded in place, so types and
constants flow through them and no signature needs to be inferred beforehand.
"""

from __future__ import annotations

import ast
import functools
import inspect
import operator
import textwrap

from llvmlite import ir

from rushlight.machine.language.builtins import Builtins
from rushlight.machine.language.functions import (
    Builtin,
    Chosen,
    Emitted,
    External,
    NativeFunction,
    NativeType,
    Parameter,
    Pointer,
    boolean,
    i64,
)
from rushlight.machine.language.loops import Loops
from rushlight.machine.language.values import IR_TYPES, KernelError, Value, ir_type

_FOLD = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.Pow: operator.pow,
}
_COMPARE = {
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
}


class _Scope:
    """Names of one function being expanded: locals, parameters, and where `return` goes."""

    def __init__(self, function, exit_block):
        self.function, self.exit = function, exit_block
        self.locals = {}  # name -> (stack slot, type), Value tuple, or constant
        self.result = None
        self.loops = []  # (continue block, break block)


@functools.cache
def _read(definition):
    """The syntax tree of a function and the names it assigns; many kernels share functions."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(definition))).body[0]
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return tree, {node.id for node in names if isinstance(node.ctx, ast.Store)}


def lower_module(function, parameters, symbol):
    """An ``ir.Module`` with one exported function named ``symbol``."""
    module = ir.Module(name=symbol)
    argument_types = [ir_type(kind) for kind in function.arguments]
    signature = ir.FunctionType(ir_type(function.result), argument_types)
    target = ir.Function(module, signature, symbol)
    target.attributes.add("nounwind")
    target.attributes.add("noinline")
    if function.wide:  # llvmlite's own `add` knows no attributes that are strings
        set.add(target.attributes, '"prefer-vector-width"="512"')
    builder = ir.IRBuilder(target.append_basic_block("entry"))
    lowering = _Lowering(module, builder, parameters)
    values = [Value(k, v) for k, v in zip(function.arguments, target.args, strict=True)]
    result = lowering.expand(function, values)
    if function.result is None:
        builder.ret_void()
    else:
        builder.ret(lowering.convert(result, function.result).ir)
    return module


class _Lowering(Builtins, Loops):
    def __init__(self, module, builder, parameters):
        self.module, self.b, self.parameters = module, builder, parameters
        self.scope, self.emitted, self.group = None, {}, None

    # ---- functions

    def expand(self, function, arguments):
        """The body of a function in place of its call; returns its value (or None)."""
        tree, stored = _read(function.definition)
        outer = self.scope
        exit_block = self.b.append_basic_block("after_" + function.__name__)
        self.scope = scope = _Scope(function, exit_block)
        names = [argument.arg for argument in tree.args.args]
        if len(names) != len(arguments):
            raise KernelError(f"{function.__name__} takes {len(names)} arguments")
        for name, value in zip(names, arguments, strict=True):
            if isinstance(value, Value) or name in stored:
                self.assign_name(name, value)
            else:
                scope.locals[name] = value
        self.statements(tree.body)
        if not self.b.block.is_terminated:
            self.b.branch(exit_block)
        self.b.position_at_end(exit_block)
        self.scope = outer
        if scope.result is None:
            return None
        values = tuple(Value(kind, self.b.load(slot)) for slot, kind in scope.result)
        return values if len(values) > 1 else values[0]

    def fail(self, node, reason):
        definition = self.scope.function.definition
        line = definition.__code__.co_firstlineno + getattr(node, "lineno", 1) - 1
        raise KernelError(f"{definition.__code__.co_filename}:{line}: {reason}")

    def slot(self, kind):
        """A stack slot in the entry block, whatever block is being written."""
        with self.b.goto_entry_block():
            return self.b.alloca(ir_type(kind))

    # ---- statements

    def statements(self, body):
        for node in body:
            if self.b.block.is_terminated:
                return
            handler = getattr(self, "statement_" + type(node).__name__, None)
            if handler is None:
                self.fail(node, f"{type(node).__name__} is not part of the kernel language")
            handler(node)

    def statement_Expr(self, node):
        if not isinstance(node.value, ast.Constant):
            self.expression(node.value)

    def statement_Assign(self, node):
        if len(node.targets) != 1:
            self.fail(node, "one target per assignment")
        self.assign(node.targets[0], self.expression(node.value), node)

    def statement_AugAssign(self, node):
        target = node.target
        if isinstance(target, ast.Subscript):
            pointer = self.element_pointer(target)
            old = self.load_element(pointer)
            new = self.binary(type(node.op), old, self.expression(node.value), node)
            self.store_element(new, pointer, node)
            return
        old = self.expression(ast.Name(target.id, ast.Load(), lineno=node.lineno))
        new = self.binary(type(node.op), old, self.expression(node.value), node)
        self.assign(target, new, node)

    def assign(self, target, value, node):
        if isinstance(target, ast.Tuple):
            if not isinstance(value, tuple) or len(value) != len(target.elts):
                self.fail(node, "the right side does not have that many values")
            held = [self.materialize(v) for v in value]
            for part, item in zip(target.elts, held, strict=True):
                self.assign(part, item, node)
        elif isinstance(target, ast.Subscript):
            self.store_element(value, self.element_pointer(target), node)
        elif isinstance(target, ast.Name):
            self.assign_name(target.id, value, node)
        else:
            self.fail(node, "cannot assign to this")

    def assign_name(self, name, value, node=None):
        known = self.scope.locals.get(name)
        if isinstance(known, tuple) and isinstance(known[1], NativeType | Pointer):
            slot, kind = known
            self.b.store(self.convert(value, kind, node).ir, slot)
            return
        if isinstance(value, tuple):
            self.fail(node, "unpack the values of a tuple at once")
        value = self.materialize(value, node)
        slot = self.slot(value.type)
        self.scope.locals[name] = (slot, value.type)
        self.b.store(value.ir, slot)

    def statement_Return(self, node):
        value = None if node.value is None else self.expression(node.value)
        if value is not None:
            values = value if isinstance(value, tuple) else (value,)
            scope = self.scope
            if scope.result is None:
                values = [self.materialize(v, node) for v in values]
                scope.result = [(self.slot(v.type), v.type) for v in values]
            for item, (slot, kind) in zip(values, scope.result, strict=True):
                self.b.store(self.convert(item, kind, node).ir, slot)
        self.b.branch(self.scope.exit)

    def statement_If(self, node):
        condition = self.expression(node.test)
        if not isinstance(condition, Value):  # known when compiled: only one branch exists
            self.statements(node.body if condition else node.orelse)
            return
        condition = self.truth(condition)
        then, after = self.b.append_basic_block("then"), self.b.append_basic_block("after")
        other = self.b.append_basic_block("else") if node.orelse else after
        self.b.cbranch(condition, then, other)
        for block, body in ((then, node.body), (other, node.orelse)):
            if block is after:
                continue
            self.b.position_at_end(block)
            self.statements(body)
            if not self.b.block.is_terminated:
                self.b.branch(after)
        self.b.position_at_end(after)

    # ---- values

    def materialize(self, value, node=None):
        """A constant as a typed value: integers are i64, floats need a type."""
        if isinstance(value, Value):
            return value
        if isinstance(value, bool):
            return Value(boolean, ir.Constant(IR_TYPES["boolean"], int(value)))
        if isinstance(value, int):
            return Value(i64, ir.Constant(IR_TYPES["i64"], value))
        self.fail(node, f"{value!r} needs a type, as in real({value!r})")

    def convert(self, value, kind, node=None):
        """The value as ``kind``; only constants and booleans convert by themselves."""
        if isinstance(value, Value):
            if value.type == kind:
                return value
            if value.type is boolean and kind.kind == "int":
                return self.cast(kind, value)
            self.fail(node, f"a value of type {value.type} where {kind} is expected")
        return self.cast(kind, value, node)

    def cast(self, kind, value, node=None):
        """Explicit conversion, ``f32(x)``."""
        if not isinstance(value, Value):
            if kind.kind == "float":
                value = float(value)
            elif isinstance(value, float):
                self.fail(node, f"{value!r} where {kind} is expected")
            else:
                value = int(value)
            return Value(kind, ir.Constant(ir_type(kind), value))
        source, b, target = value.type, self.b, ir_type(kind)
        if source == kind:
            return value
        if kind is boolean:
            return Value(kind, self.truth(value))
        if source.kind == "float":
            if kind.kind == "float":
                change = b.fptrunc if kind.bits < source.bits else b.fpext
            else:
                change = b.fptosi
        elif kind.kind == "float":
            change = b.sitofp if source.kind == "int" else b.uitofp
        elif kind.bits < source.bits:
            change = b.trunc
        elif kind.bits == source.bits:
            return Value(kind, value.ir)
        else:
            change = b.sext if source.kind == "int" else b.zext
        return Value(kind, change(value.ir, target))

    def truth(self, value):
        if value.type is boolean:
            return value.ir
        if value.type.kind == "float":
            return self.b.fcmp_unordered("!=", value.ir, ir.Constant(value.ir.type, 0.0))
        return self.b.icmp_signed("!=", value.ir, ir.Constant(value.ir.type, 0))

    def unify(self, left, right, node):
        if isinstance(left, Value):
            return left, self.convert(right, left.type, node)
        return self.convert(left, right.type, node), right

    # ---- expressions

    def expression(self, node):
        handler = getattr(self, "expression_" + type(node).__name__, None)
        if handler is None:
            self.fail(node, f"{type(node).__name__} is not part of the kernel language")
        return handler(node)

    def expression_Constant(self, node):
        return node.value

    def expression_Tuple(self, node):
        return tuple(self.expression(item) for item in node.elts)

    def expression_Name(self, node):
        name = node.id
        if name in self.scope.locals:
            known = self.scope.locals[name]
            if isinstance(known, tuple):
                return Value(known[1], self.b.load(known[0]))
            return known
        scope = self.scope.function.definition.__globals__
        if name not in scope:
            if name in ("min", "max", "abs"):
                return name
            self.fail(node, f"{name} has no value")
        return self.resolve(scope[name], node)

    def resolve(self, value, node):
        if isinstance(value, Parameter):
            if value.name not in self.parameters:
                self.fail(node, f"the kernel parameter {value.name} was not given")
            return self.parameters[value.name]
        if isinstance(value, Chosen):
            chosen = self.resolve(value.parameter, node)
            if chosen not in value.members:
                self.fail(node, f"nothing to call where {value.parameter.name} is {chosen}")
            return value.members[chosen]
        return value

    def expression_Attribute(self, node):
        return self.resolve(getattr(self.expression(node.value), node.attr), node)

    def expression_Subscript(self, node):
        return self.load_element(self.element_pointer(node))

    def element_pointer(self, node):
        base = self.expression(node.value)
        if not isinstance(base, Value) or not isinstance(base.type, Pointer):
            self.fail(node, "only array(type, address) can be indexed")
        index = self.convert(self.expression(node.slice), i64, node)
        return Value(base.type, self.b.gep(base.ir, [index.ir], inbounds=True))

    def expression_IfExp(self, node):
        condition = self.expression(node.test)
        if not isinstance(condition, Value):
            return self.expression(node.body if condition else node.orelse)
        left, right = self.expression(node.body), self.expression(node.orelse)
        if not isinstance(left, Value) and not isinstance(right, Value):
            left = self.materialize(left, node)
        left, right = self.unify(left, right, node)
        return Value(left.type, self.b.select(self.truth(condition), left.ir, right.ir))

    def expression_BoolOp(self, node):
        """Later operands are evaluated only where the earlier ones leave the answer open."""
        stop_at = isinstance(node.op, ast.Or)
        pending = []
        for operand in node.values:
            value = self.expression(operand) if not pending else operand
            if isinstance(value, ast.AST | Value):
                pending.append(value)
            elif bool(value) == stop_at:
                return stop_at
        if not pending:
            return not stop_at
        result = self.slot(boolean)
        done = self.b.append_basic_block("known")
        for position, operand in enumerate(pending):
            value = self.expression(operand) if isinstance(operand, ast.AST) else operand
            bit = self.truth(self.materialize(value, node))
            self.b.store(bit, result)
            if position + 1 < len(pending):
                following = self.b.append_basic_block("operand")
                self.b.cbranch(bit, *((done, following) if stop_at else (following, done)))
                self.b.position_at_end(following)
        self.b.branch(done)
        self.b.position_at_end(done)
        return Value(boolean, self.b.load(result))

    def expression_UnaryOp(self, node):
        value = self.expression(node.operand)
        if isinstance(node.op, ast.Not):
            if not isinstance(value, Value):
                return not value
            return Value(boolean, self.b.not_(self.truth(value)))
        if isinstance(node.op, ast.USub):
            if not isinstance(value, Value):
                return -value
            negate = self.b.fneg if value.type.kind == "float" else self.b.neg
            return Value(value.type, negate(value.ir))
        self.fail(node, "only `not` and unary minus")

    def expression_Compare(self, node):
        result, left = None, self.expression(node.left)
        for comparison, operand in zip(node.ops, node.comparators, strict=True):
            if isinstance(comparison, ast.Is | ast.IsNot):
                right = self.expression(operand)
                return (left is right) == isinstance(comparison, ast.Is)
            right = self.expression(operand)
            text, fold = _COMPARE[type(comparison)]
            if isinstance(left, Value) or isinstance(right, Value):
                one = self.compare(text, left, right, node)
            else:
                one = fold(left, right)
            if result is None or not isinstance(result, Value) and result:
                result = one
            elif isinstance(one, Value):
                result = Value(boolean, self.b.and_(result.ir, one.ir)) if result else False
            elif not one:
                result = False
            left = right
        return result

    def compare(self, text, left, right, node):
        a, c = self.unify(left, right, node)
        if a.type.kind == "float":
            kind = self.b.fcmp_unordered if text == "!=" else self.b.fcmp_ordered
        elif a.type.kind == "unsigned":
            kind = self.b.icmp_unsigned
        else:
            kind = self.b.icmp_signed
        return Value(boolean, kind(text, a.ir, c.ir))

    def expression_BinOp(self, node):
        left, right = self.expression(node.left), self.expression(node.right)
        return self.binary(type(node.op), left, right, node)

    def binary(self, kind, left, right, node):
        if not isinstance(left, Value) and not isinstance(right, Value):
            return _FOLD[kind](left, right)
        a, c = self.unify(left, right, node)
        b, flags = self.b, self.scope.function.flags
        if a.type.kind == "float":
            table = {ast.Add: b.fadd, ast.Sub: b.fsub, ast.Mult: b.fmul, ast.Div: b.fdiv}
            if kind not in table:
                self.fail(node, f"{kind.__name__} of floating values")
            return Value(a.type, table[kind](a.ir, c.ir, flags=flags))
        if kind in (ast.FloorDiv, ast.Mod):
            return Value(a.type, self.floor_division(kind, a, c, right))
        table = {
            ast.Add: b.add,
            ast.Sub: b.sub,
            ast.Mult: b.mul,
            ast.LShift: b.shl,
            ast.RShift: b.lshr if a.type.kind == "unsigned" else b.ashr,
            ast.BitAnd: b.and_,
            ast.BitOr: b.or_,
            ast.BitXor: b.xor,
        }
        if kind not in table:
            self.fail(node, f"{kind.__name__} of integers")
        if kind in (ast.Add, ast.Sub, ast.Mult) and a.type is i64:
            return Value(a.type, table[kind](a.ir, c.ir, flags=("nsw",)))
        return Value(a.type, table[kind](a.ir, c.ir))

    def floor_division(self, kind, left, right, original):
        """Python's rule: the quotient rounds down, the remainder has the divisor's sign."""
        b = self.b
        if isinstance(original, int) and original > 0 and original & (original - 1) == 0:
            if kind is ast.Mod:
                return b.and_(left.ir, ir.Constant(left.ir.type, original - 1))
            return b.ashr(left.ir, ir.Constant(left.ir.type, original.bit_length() - 1))
        quotient, rest = b.sdiv(left.ir, right.ir), b.srem(left.ir, right.ir)
        zero = ir.Constant(left.ir.type, 0)
        signs = b.icmp_signed("<", b.xor(rest, right.ir), zero)
        adjust = b.and_(signs, b.icmp_signed("!=", rest, zero))
        if kind is ast.Mod:
            return b.add(rest, b.select(adjust, right.ir, zero))
        return b.sub(quotient, b.zext(adjust, left.ir.type))

    # ---- calls

    def expression_Call(self, node):
        target = self.expression(node.func)
        arguments = [self.expression(argument) for argument in node.args]
        if isinstance(target, NativeType):
            return self.cast(target, arguments[0], node)
        if isinstance(target, Builtin):
            return getattr(self, "_builtin_" + target.name)(node, *arguments)
        if isinstance(target, str):
            return self.smaller_or_larger(target, arguments, node)
        return self.call(target, arguments, node)

    def call(self, target, arguments, node=None):
        """A call of what has a text or an address of its own."""
        if isinstance(target, NativeFunction):
            if target.kind == "inline":
                return self.expand(target, arguments)
            return self.call_symbol(target.symbol({}), target, arguments, node)
        if isinstance(target, External):
            return self.call_symbol(target.name, target, arguments, node)
        if isinstance(target, Emitted):
            return self.call_emitted(target, arguments, node)
        self.fail(node, f"{target!r} cannot be called inside a kernel")

    def call_symbol(self, symbol, target, arguments, node):
        kinds = target.arguments
        known = self.module.globals.get(symbol)
        if known is None:
            signature = ir.FunctionType(ir_type(target.result), [ir_type(k) for k in kinds])
            known = ir.Function(self.module, signature, symbol)
        values = [self.convert(v, k, node).ir for v, k in zip(arguments, kinds, strict=True)]
        return Value(target.result, self.b.call(known, values))

    def call_emitted(self, target, arguments, node):
        function = self.emitted.get(target.name)
        if function is None:
            signature = ir.FunctionType(
                ir_type(target.result), [ir_type(kind) for kind in target.arguments]
            )
            function = ir.Function(self.module, signature, target.name)
            function.linkage = "internal"
            builder = ir.IRBuilder(function.append_basic_block("entry"))
            result = target.emit(builder, list(function.args))
            builder.ret_void() if target.result is None else builder.ret(result)
            self.emitted[target.name] = function
        values = [
            self.convert(v, k, node).ir for v, k in zip(arguments, target.arguments, strict=True)
        ]
        return Value(target.result, self.b.call(function, values))

    def smaller_or_larger(self, name, arguments, node):
        if name == "abs":
            return self._builtin_absolute(node, *arguments)
        if not any(isinstance(a, Value) for a in arguments):
            return (min if name == "min" else max)(arguments)
        result = arguments[0]
        for other in arguments[1:]:
            if not isinstance(result, Value) and not isinstance(other, Value):
                result = (min if name == "min" else max)(result, other)
                continue
            a, c = self.unify(result, other, node)
            keep = self.compare("<" if name == "min" else ">", a, c, node)
            result = Value(a.type, self.b.select(keep.ir, a.ir, c.ir))
        return result
