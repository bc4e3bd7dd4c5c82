"""Programs to LLVM IR text, without type inference and without LLVM's IR optimiser.

The graph is already minimal (shared, hoisted, explicitly vectorised), so parsing and code
generation are all that is left to pay. A module exports one function::

    void SYMBOL(ptr pointers, i64 n, ptr params, i64 rows, ptr steps)

which processes rows of `n` elements, at least a block of :attr:`Emitter.lanes` of them: the last
block ends with the row and may compute some elements twice. Pointers are the outputs, then the
inputs; an operand in `scalars` is one element used for all of a row. From row to row the pointers
move by `steps`, in bytes; they are not read for one row. Ranges, tails, shorter rows and strides
are the business of the drivers (`drivers.py`), which are compiled once for all kernels.
"""

from __future__ import annotations

from rushlight.compiler.cpu.instructions import MEMORY, REPAIRS, SCALAR, Instructions, literal
from rushlight.compiler.cpu.lowering import lower
from rushlight.compiler.graph import node, topological
from rushlight.compiler.storage import SIZE

LONG = 110  # nodes after lowering
LEAVES = ("const", "param")


class Emitter(Instructions):
    """Text of one kernel.

    Values that are the same for all elements (scalars, literals and what follows from them) are
    computed once, in the entry block; scalar operands and what follows from them once for a row.
    """

    def __init__(self, program, scalars, vector_bits, scalef, streaming=False, most=None):
        super().__init__()
        self.program, self.scalars, self.streaming = program, scalars, streaming
        self.scalef = scalef
        self.roots = lower([e for e, _ in program.outputs])
        self.order = topological(self.roots)
        self.divides = any(e.op == "divide" for e in self.order)
        self.uniform = {}
        for e in self.order:
            self.uniform[e] = self.is_uniform_leaf(e) or (
                bool(e.args) and all(self.uniform[a] for a in e.args)
            )
        self.by_row = set()  # uniform values that follow from scalar operands
        for e in self.order:
            own = e.op == "load" or any(a in self.by_row for a in e.args)
            if self.uniform[e] and own:
                self.by_row.add(e)
        self.lanes = self.choose_lanes(vector_bits)
        if most is not None:
            self.lanes = min(self.lanes, most)
        self.entry, self.row, self.loop = [], [], []
        self.scalar_names, self.vector_names, self.block = {}, {}, "loop"

    def is_uniform_leaf(self, e):
        """A literal, a run-time scalar, or an operand of stride 0."""
        return e.op in LEAVES or e.op == "load" and e.value[0] in self.scalars

    def choose_lanes(self, vector_bits):
        """Two registers per value hide latency; a long chain needs four.

        One iteration of a long chain fills the reorder buffer (measured: 246 us with two registers,
        184 with four), at about twice the code generation time.
        """
        dtypes = {e.dtype for e in self.order if not self.uniform[e]}
        size = 64 if dtypes & {"i64", "f64"} else 32 if dtypes - {"bool"} else 16
        return vector_bits // size * (4 if len(self.order) > LONG else 2)

    # ---- one node
    def emit(self, e):
        """Emit into the entry block, that of a row (uniform) or the loop."""
        if self.uniform[e]:
            self.out, self.width = self.before(e), 1
            self.scalar_names[e] = self.instruction(e, [self.scalar_names[a] for a in e.args])
        else:
            self.out, self.width = self.loop, self.lanes
            self.vector_names[e] = self.instruction(e, [self.vector(a) for a in e.args])

    def before(self, e):
        """The block of a uniform value."""
        return self.row if e in self.by_row else self.entry

    def vector(self, e):
        """Vector of a value; a uniform one is broadcast once, before the loop."""
        name = self.vector_names.get(e)
        if name is None:
            name = self.vector_names[e] = self.broadcast(e)
        return name

    def broadcast(self, e):
        """All lanes equal to a scalar value."""
        t = SCALAR[e.dtype]
        if e.op == "const":
            return f"splat ({t} {self.scalar_names[e]})"
        v, a, b = f"<{self.lanes} x {t}>", self.fresh(), self.fresh()
        out = self.before(e)
        out.append(f"  {a} = insertelement {v} poison, {t} {self.scalar_names[e]}, i32 0")
        out.append(
            f"  {b} = shufflevector {v} {a}, {v} poison, <{self.lanes} x i32> zeroinitializer"
        )
        return b

    def emit_param(self, e, a):
        """A run-time scalar."""
        address = self.put(f"getelementptr i64, ptr %params, i64 {e.value}")
        return self.put(f"load {SCALAR[e.dtype]}, ptr {address}, align 8")

    def emit_load(self, e, a):
        """An element, or a vector of neighbours, of an input."""
        index, storage = e.value
        pointer = f"%in{index}"
        if self.width > 1:
            pointer = self.put(f"getelementptr {MEMORY[storage]}, ptr {pointer}, i64 %at")
        raw = f"load {self.vector_type(MEMORY[storage])}, ptr {pointer}, align {SIZE[storage]}"
        return self.decode(self.put(raw), storage)

    def emit_vectors(self, e, a):
        """A graph of its own for the last operand, through a function emitted once."""
        t = self.type(e.dtype)
        name = f"@{e.value}_{self.width}"
        if name not in self.functions:
            inner = Instructions()
            inner.width, inner.lanes, inner.scalef = self.width, self.lanes, self.scalef
            inner.block, names = "entry", {}
            argument = node("argument", (), e.dtype)
            (root,) = lower([REPAIRS[e.value](argument)])
            for part in topological([root]):
                names[part] = (
                    "%x" if part is argument
                    else inner.splat(literal(part.value, part.dtype), part.dtype)
                    if part.op == "const"
                    else inner.instruction(part, [names[x] for x in part.args])
                )  # fmt: skip
            self.declared |= inner.declared
            body = "\n".join(inner.out)
            self.functions |= inner.functions | {
                name: f"define internal {t} {name}({t} %x) noinline {{\nentry:\n{body}\n"
                f"  ret {t} {names[root]}\n}}"
            }
        return self.put(f"call {t} {name}({t} {a[-1]})")

    # ---- the module
    def module(self, symbol):
        """The module's text; the function is named `symbol`."""
        for e in self.order:
            self.emit(e)
        self.out, self.width = self.loop, self.lanes
        for j, (root, (_, storage)) in enumerate(
            zip(self.roots, self.program.outputs, strict=True)
        ):
            self.store(j, self.encode(self.vector(root), storage), storage)
        lines = [
            f"define void @{symbol}(ptr %pointers, i64 %n, ptr %params, i64 %rows, ptr %steps) "
            '"stackrealign" {',
            "entry:",
            *self.pointers(),
            *self.entry,
            f"  %last = sub i64 %n, {self.lanes}",
            "  br label %row",
            "row:",
            "  %left = phi i64 [ %rows, %entry ], [ %fewer, %again ]",
            *self.moving(),
            *self.row,
            "  br label %loop",
            "loop:",
            f"  %i = phi i64 [ 0, %row ], [ %next, %{self.block} ]",
            "  %whole = icmp ult i64 %i, %last",
            "  %at = select i1 %whole, i64 %i, i64 %last",
            *self.loop,
            f"  %next = add i64 %i, {self.lanes}",
            "  %more = icmp ult i64 %next, %n",
            "  br i1 %more, label %loop, label %end",
            "end:",
            "  %fewer = sub i64 %left, 1",
            "  %others = icmp ne i64 %fewer, 0",
            "  br i1 %others, label %again, label %done",
            "again:",
            *self.moves(),
            "  br label %row",
            "done:",
            "  ret void",
            "}",
        ]
        parts = [*sorted(self.declared), *self.functions.values(), *lines]
        return "\n".join([*parts, "!0 = !{i32 1}"])

    def operands(self):
        """Names of the operands' addresses."""
        outputs, inputs = len(self.program.outputs), len(self.program.inputs)
        return [*(f"%out{j}" for j in range(outputs)), *(f"%in{j}" for j in range(inputs))]

    def pointers(self):
        """Fetch the operands' addresses from the table."""
        for j, name in enumerate(self.operands()):
            yield f"  {name}.a = getelementptr i64, ptr %pointers, i64 {j}"
            yield f"  {name}.first = load ptr, ptr {name}.a, align 8"

    def moving(self):
        """The operands' addresses in a row."""
        for name in self.operands():
            yield f"  {name} = phi ptr [ {name}.first, %entry ], [ {name}.next, %again ]"

    def moves(self):
        """Those in the row after it."""
        for j, name in enumerate(self.operands()):
            yield f"  {name}.b = getelementptr i64, ptr %steps, i64 {j}"
            yield f"  {name}.step = load i64, ptr {name}.b, align 8"
            yield f"  {name}.next = getelementptr i8, ptr {name}, i64 {name}.step"

    def store(self, j, raw, storage):
        """Write a vector of output `j`."""
        memory = MEMORY[storage]
        pointer = self.put(f"getelementptr {memory}, ptr %out{j}, i64 %at")
        how = f"{SIZE[storage]}"
        if self.streaming:  # blocks start on a cache line then
            how = f"{min(64, self.lanes * SIZE[storage])}, !nontemporal !0"
        self.out.append(f"  store <{self.lanes} x {memory}> {raw}, ptr {pointer}, align {how}")
