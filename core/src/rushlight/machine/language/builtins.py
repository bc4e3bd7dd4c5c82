"""Built-in operations of the kernel language: how each becomes LLVM IR."""

from __future__ import annotations

from llvmlite import ir

from rushlight.machine.language.functions import Pointer, i64
from rushlight.machine.language.values import IR_TYPES, Value, ir_type


class Builtins:
    """The ``_builtin_*`` methods of the lowering: ``b`` is the IR builder, ``node`` the call."""

    def _intrinsic(self, name, kind, arguments, node=None):
        values = [self.convert(a, kind, node).ir for a in arguments]
        full = f"llvm.{name}.{kind.name}"
        function = self.module.globals.get(full)
        if function is None:
            signature = ir.FunctionType(ir_type(kind), [ir_type(kind)] * len(values))
            function = ir.Function(self.module, signature, full)
        return Value(kind, self.b.call(function, values))

    def _typed(self, arguments):
        return next(a.type for a in arguments if isinstance(a, Value))

    def _builtin_array(self, node, kind, address):
        address = self.convert(address, i64, node)
        pointer = Pointer(kind)
        return Value(pointer, self.b.inttoptr(address.ir, ir_type(pointer)))

    def _builtin_bitcast(self, node, kind, value):
        return Value(kind, self.b.bitcast(value.ir, ir_type(kind)))

    def _builtin_stack(self, node, words):
        with self.b.goto_entry_block():
            memory = self.b.alloca(ir.ArrayType(IR_TYPES["i64"], words))
            memory.align = 64
        return Value(i64, self.b.ptrtoint(memory, IR_TYPES["i64"]))

    def _builtin_square_root(self, node, value):
        return self._intrinsic("sqrt", value.type, [value])

    def _builtin_absolute(self, node, value):
        if value.type.kind == "float":
            return self._intrinsic("fabs", value.type, [value])
        negative = self.b.icmp_signed("<", value.ir, ir.Constant(value.ir.type, 0))
        return Value(value.type, self.b.select(negative, self.b.neg(value.ir), value.ir))

    def _builtin_floor(self, node, value):
        return self._intrinsic("floor", value.type, [value])

    def _builtin_fused_multiply_add(self, node, *arguments):
        return self._intrinsic("fma", self._typed(arguments), arguments, node)

    def _builtin_maximum(self, node, *arguments):
        return self._intrinsic("maximum", self._typed(arguments), arguments, node)

    def _builtin_minimum(self, node, *arguments):
        return self._intrinsic("minimum", self._typed(arguments), arguments, node)

    def _builtin_infinity(self, node, kind):
        return Value(kind, ir.Constant(ir_type(kind), float("inf")))

    def _builtin_quiet_nan(self, node, kind):
        return Value(kind, ir.Constant(ir_type(kind), float("nan")))

    def _builtin_call_address(self, node, address, *arguments):
        signature = ir.FunctionType(ir.VoidType(), [IR_TYPES["i64"]] * len(arguments))
        function = self.b.inttoptr(address.ir, signature.as_pointer())
        self.b.call(function, [self.convert(a, i64, node).ir for a in arguments])

    def _word_pointer(self, address, node):
        return self.b.inttoptr(self.convert(address, i64, node).ir, IR_TYPES["i64"].as_pointer())

    def _builtin_load_acquire(self, node, address):
        return Value(i64, self.b.load_atomic(self._word_pointer(address, node), "acquire", 8))

    def _builtin_store_release(self, node, address, value):
        pointer = self._word_pointer(address, node)
        self.b.store_atomic(self.convert(value, i64, node).ir, pointer, "release", 8)

    def _atomic(self, operation, node, address, value):
        pointer = self._word_pointer(address, node)
        value = self.convert(value, i64, node).ir
        return Value(i64, self.b.atomic_rmw(operation, pointer, value, "seq_cst"))

    def _builtin_atomic_swap(self, node, address, value):
        return self._atomic("xchg", node, address, value)

    def _builtin_atomic_add(self, node, address, value):
        return self._atomic("add", node, address, value)

    def _builtin_atomic_subtract(self, node, address, value):
        return self._atomic("sub", node, address, value)

    def _builtin_spin_pause(self, node):
        x86 = "x86" in _triple() or "i686" in _triple()
        name, kinds = (
            ("llvm.x86.sse2.pause", []) if x86 else ("llvm.aarch64.hint", [IR_TYPES["i32"]])
        )
        function = self.module.globals.get(name)
        if function is None:
            function = ir.Function(self.module, ir.FunctionType(ir.VoidType(), kinds), name)
        self.b.call(function, [] if x86 else [ir.Constant(IR_TYPES["i32"], 1)])


def _triple():
    import llvmlite.binding as llvm

    return llvm.get_process_triple()
