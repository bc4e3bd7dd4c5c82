"""A small assembler for LLVM IR text: values, fields, loops and conditions of one function.

Mutable variables are stack slots; LLVM's ``mem2reg`` (part of the optimisation that modules written
with this class are given) turns them into registers. No compiler library is imported here.
"""

from __future__ import annotations

from contextlib import contextmanager


class Function:
    """Text of one function: ``Function("ptr", "name", "ptr %a, i64 %b")``, then instructions."""

    def __init__(self, result, name, parameters, attributes=""):
        self.head = f"define {result} @{name}({parameters}) {attributes} {{"
        self.slots, self.lines, self.count = [], [], 0

    def text(self) -> str:
        """The whole definition."""
        return "\n".join([self.head, "entry:", *self.slots, *self.lines, "}"])

    def name(self, stem="v") -> str:
        """A new name without its sigil."""
        self.count += 1
        return f"{stem}{self.count}"

    def do(self, text):
        """An instruction without a value."""
        self.lines.append("  " + text)

    def value(self, text) -> str:
        """An instruction with a value; gives its name."""
        name = "%" + self.name()
        self.do(f"{name} = {text}")
        return name

    # ---- arithmetic on i64
    def add(self, a, b):
        """a + b."""
        return self.value(f"add i64 {a}, {b}")

    def subtract(self, a, b):
        """a - b."""
        return self.value(f"sub i64 {a}, {b}")

    def multiply(self, a, b):
        """a * b."""
        return self.value(f"mul i64 {a}, {b}")

    def divide(self, a, b):
        """Quotient and remainder of unsigned numbers."""
        return self.value(f"udiv i64 {a}, {b}"), self.value(f"urem i64 {a}, {b}")

    def compare(self, word, a, b, kind="i64"):
        """A condition, for example ``compare("ult", a, b)``."""
        return self.value(f"icmp {word} {kind} {a}, {b}")

    def choose(self, condition, a, b):
        """`a` if the condition holds, else `b`."""
        return self.value(f"select i1 {condition}, i64 {a}, i64 {b}")

    # ---- memory
    def at(self, pointer, index, kind="i64"):
        """Address of element `index`."""
        return self.value(f"getelementptr {kind}, ptr {pointer}, i64 {index}")

    def load(self, pointer, index=0, kind="i64"):
        """Element `index` of an array."""
        return self.value(f"load {kind}, ptr {self.at(pointer, index, kind)}, align 1")

    def field(self, pointer, offset, kind="i64"):
        """The field at a byte offset."""
        return self.value(f"load {kind}, ptr {self.at(pointer, offset, 'i8')}, align 1")

    def store(self, value, pointer, index=0, kind="i64"):
        """Set element `index` of an array."""
        self.do(f"store {kind} {value}, ptr {self.at(pointer, index, kind)}, align 1")

    def slot(self, size=1, align=8):
        """Stack words, addressed for the whole function (`size` is a number)."""
        name = "%" + self.name("slot")
        self.slots.append(f"  {name} = alloca [{size} x i64], align {align}")
        return name

    def pointer(self, address):
        """An address as a pointer."""
        return self.value(f"inttoptr i64 {address} to ptr")

    def address(self, pointer):
        """A pointer as an address."""
        return self.value(f"ptrtoint ptr {pointer} to i64")

    def call(self, result, function, arguments):
        """Call; gives the value's name unless `result` is void."""
        text = f"call {result} {function}({arguments})"
        return self.do(text) if result == "void" else self.value(text)

    # ---- control
    def label(self, name):
        """Start a block, falling into it from the one before."""
        self.do(f"br label %{name}")
        self.lines.append(f"{name}:")

    def exit_if(self, condition, target):
        """Branch to a label if the condition holds, else go on."""
        rest = self.name("go")
        self.do(f"br i1 {condition}, label %{target}, label %{rest}")
        self.lines.append(f"{rest}:")

    def exit_unless(self, condition, target):
        """Branch to a label if the condition fails, else go on."""
        rest = self.name("go")
        self.do(f"br i1 {condition}, label %{rest}, label %{target}")
        self.lines.append(f"{rest}:")

    @contextmanager
    def when(self, condition):
        """A block that runs if the condition holds; it must not leave the function."""
        end = self.name("end")
        self.exit_unless(condition, end)
        yield
        self.label(end)

    @contextmanager
    def loop(self, stop, start=0, step=1):
        """A counted loop ``for i in range(start, stop, step)``; gives `i`."""
        head, body, done = self.name("head"), self.name("body"), self.name("done")
        counter = self.slot()
        self.store(start, counter)
        self.label(head)
        i = self.load(counter)
        more = self.compare("slt", i, stop)
        self.do(f"br i1 {more}, label %{body}, label %{done}")
        self.lines.append(f"{body}:")
        yield i
        self.store(self.add(i, step), counter)
        self.do(f"br label %{head}")
        self.lines.append(f"{done}:")
