"""What a call in the intermediate form calls: how it runs, and how it is written."""

from __future__ import annotations


class Target:
    """Something that is called. `python` runs it; `script` is its name in TorchScript source."""

    def __init__(self, python=None, script=""):
        self.python, self.script = python, script

    def emit(self, builder, call):
        """The Python expression of a call."""
        return builder.call(self.python, call.args, call.kwargs)

    def written(self, printer, call):
        """The text of a call in an archive."""
        return f"{self.script}({printer.arguments(call.args, call.kwargs)})"


class Compiled(Target):
    """A function or a method of the program itself."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def emit(self, builder, call):
        """Its code, without any checks."""
        return builder.call(self.function.code, call.args, call.kwargs)

    def written(self, printer, call):
        """``__torch__.name(...)``."""
        return f"{printer.function(self.function)}({printer.arguments(call.args, call.kwargs)})"


class Method(Compiled):
    """A method of a class that is known when the program is compiled."""

    def written(self, printer, call):
        """``(object).name(...)``."""
        owner, *args = call.args
        name = self.function.name.rpartition(".")[2]
        return f"({printer.expr(owner)}).{name}({printer.arguments(args, call.kwargs)})"


class Interface(Target):
    """A method of an interface: found when it runs."""

    def __init__(self, name):
        super().__init__()
        self.name = name

    def emit(self, builder, call):
        """By its name, on the class of the object."""
        import ast

        owner = builder.expr(call.args[0])
        found = ast.Attribute(value=owner, attr="_run_" + self.name, ctx=ast.Load())
        values = [builder.expr(a) for a in call.args[1:]]
        return ast.Call(func=found, args=values, keywords=[])

    def written(self, printer, call):
        """``(object).name(...)``."""
        owner, *args = call.args
        return f"({printer.expr(owner)}).{self.name}({printer.arguments(args, call.kwargs)})"


class Make(Target):
    """The making of an object of a class of the program."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def emit(self, builder, call):
        """The class of a named tuple, or an object and its compiled ``__init__``."""
        kind = self.kind
        if kind.kind == "tuple":
            return builder.call(kind.python, call.args, call.kwargs)
        initialize = kind.methods["__init__"] if "__init__" in kind.methods else None

        def make(*values):
            made = kind.python.__new__(kind.python)
            if initialize is not None:
                initialize.code(made, *values)
            return made

        return builder.call(make, call.args)

    def written(self, printer, call):
        """``__torch__.Name(...)``."""
        return f"{printer.type(self.kind)}({printer.arguments(call.args, call.kwargs)})"


class TypeTest(Target):
    """``isinstance(value, types)``."""

    def __init__(self, types):
        super().__init__()
        self.types = types

    def emit(self, builder, call):
        """A check of the value against the types."""
        from rushlight.jit.kinds import is_of

        types = self.types

        def test(value):
            return any(is_of(kind, value) for kind in types)

        return builder.call(test, call.args)

    def written(self, printer, call):
        """``isinstance(value, T)``."""
        names = [printer.type(t) for t in self.types]
        inner = names[0] if len(names) == 1 else f"({', '.join(names)})"
        return f"isinstance({printer.expr(call.args[0])}, {inner})"


class Ignored(Target):
    """A function of Python that is not compiled; archives cannot hold it."""

    def written(self, printer, call):
        """``^name(...)``, which no archive can hold."""
        if printer.exporting:
            raise printer.refused(
                f"Could not export Python function call '{self.script}'. Remove calls to Python "
                "functions before export: mark a function with @unused instead of @ignore, or "
                "write it so that it can be compiled, without functools"
            )
        return f"^{self.script}({printer.arguments(call.args, call.kwargs)})"
