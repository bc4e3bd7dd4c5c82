"""The code of an archive: every class and function that a module needs, by files."""

from __future__ import annotations

import re

from rushlight.jit import kinds, tree
from rushlight.jit.forms.rewrites import is_otherwise, rewritten
from rushlight.jit.frontend.calls import convert
from rushlight.jit.kinds import ClassType
from rushlight.jit.printer import Printer
from rushlight.jit.units import UNIT
from rushlight.nn.module import Module

_HEADS = {"module": "Module", "tuple": "NamedTuple", "enum": "Enum"}
_PLAIN = (bool, int, float, str)


class Exporter(Printer):
    """Writes the source of a program, and of what it uses, once each."""

    exporting = True

    def __init__(self):
        super().__init__()
        self.waiting: list = []
        self.seen: dict = {}  # qualified name -> what it names

    def knows(self, python) -> bool:
        """Whether objects of a class of Python are objects of a program."""
        return python in UNIT.classes

    def type_of(self, value) -> ClassType:
        """The class of an object."""
        own = getattr(type(value), "_script_type", None)
        return own if own is not None else UNIT.classes[type(value)]

    def type(self, kind) -> str:
        """A type, whose classes are written too."""
        for part in kind.args:
            self.type(part)
        if isinstance(kind, ClassType):
            self._need(kind.text, kind)
        if "?" in kind.text:
            raise self.refused(f"the type {kind} is not known well enough to be written: annotate "
                               "what it is of")  # fmt: skip
        return str(kind)

    def function(self, function) -> str:
        """The name of a function, which is written too."""
        self._need(function.name, function)
        return function.name

    def _need(self, name, what):
        known = self.seen.get(name)
        if known is None:
            self.seen[name] = what
            self.waiting.append((name, what))
        elif known is not what and isinstance(what, ClassType) and known != what:
            raise self.refused(f"two classes have the name {name}")

    # --------------------------------------------------------------------------------- values
    def form(self, target, call):
        """The call of a public function by one that is written with it; None where it is an op."""
        from rushlight.jit.forms import functional

        other = rewritten(target, call)
        if other is not None:
            return self.expr(other)
        python = functional.form_for(functional.giving(target.python, call))
        if python is None:
            if is_otherwise(target.script, target.python):
                raise self.refused(
                    f"the function {target.script} of nn.functional cannot be written into an "
                    "archive: write it with operators, or trace the module"
                )
            return None
        function = UNIT.function(python)
        wanted = {param.name: param.type for param in function.params}
        args = [
            self.fitting(target, name, value, wanted[name])
            for name, value in zip(wanted, call.args, strict=False)
        ]
        kwargs = {n: self.fitting(target, n, v, wanted[n]) for n, v in call.kwargs.items()}
        return f"{self.function(function)}({self.arguments(args, kwargs)})"

    def fitting(self, target, name, value, wanted):
        """An argument of a public function as PyTorch takes it: one number for all dimensions is a
        list of it."""
        last = target.script.removesuffix("_with_indices")[-2:]
        if value.type == kinds.INT and kinds.list_of(kinds.INT) in kinds.parts(wanted):
            if re.fullmatch("[123]d", last):
                items = [value] * int(last[0])
                return tree.Sequence("list", items, type=kinds.list_of(kinds.INT))
        if value.type == kinds.FLOAT and kinds.list_of(kinds.FLOAT) in kinds.parts(wanted):
            if re.fullmatch("[123]d", last):
                items = [value] * int(last[0])
                return tree.Sequence("list", items, type=kinds.list_of(kinds.FLOAT))
        if value.type == kinds.INT and kinds.FLOAT in kinds.parts(wanted):
            if kinds.INT not in kinds.parts(wanted):
                return convert("float", value, value.at)
        if not _may_be(value, wanted):
            raise self.refused(
                f"{target.script}: the argument '{name}' of type {value.type} cannot be "
                f"written into an archive, which needs {wanted}"
            )
        return value

    def of_comprehension(self, node):
        """A comprehension, which has no conditions in archives."""
        if node.test is not None:
            raise self.refused("comprehensions with conditions cannot be written into an archive: "
                               "write a loop")  # fmt: skip
        return super().of_comprehension(node)

    # ---------------------------------------------------------------------------- definitions
    def files(self) -> dict:
        """The text of every file by its path, after all that is needed was found."""
        texts: dict = {}
        while self.waiting:
            name, what = self.waiting.pop(0)
            path = name.rpartition(".")[0].replace(".", "/") + ".py"
            text = self.class_text(what) if isinstance(what, ClassType) else self.definition(what)
            texts[path] = texts.get(path, "") + text
        return texts

    def class_text(self, kind) -> str:
        """The definition of a class; all methods of a class of an archive."""
        owner, node, _ = kind.scope
        for method in owner.methods_of(node) if node is not None else ():
            owner.method(kind, method)
        head = _HEADS.get(kind.kind, "")
        if kind.kind == "interface":
            head = "ModuleInterface" if issubclass(kind.python, Module) else "Interface"
        name = kind.text.rpartition(".")[2]
        lines = [f"class {name}({head}):\n" if head else f"class {name}:\n"]
        if kind.kind == "enum":
            return lines[0] + "".join(
                f"  {n} = {self.value(v)}\n" for n, v in kind.constants.items()
            )
        if kind.kind == "module":
            for words in ("__parameters__", "__buffers__"):
                listed = "".join(f'"{n}", ' for n in kind.constants.get(words, ()))
                lines.append(f"  {words} = [{listed}]\n")
        lines += [self.attribute(kind, n, t) for n, t in kind.attributes.items()]
        if kind.kind == "module":
            lines += self.constants_of(kind)
        lines += [self.method(kind, n, f) for n, f in kind.methods.items()]
        return "".join(lines) if len(lines) > 1 else lines[0] + "  pass\n"

    def attribute(self, kind, name, found) -> str:
        """``name : Type``."""
        text = self.type(found)
        if not name.isidentifier():
            return f'  __annotations__["{name}"] = {text}\n'
        return f"  {name} : {text}\n"  # calls have all defaults filled in

    def constants_of(self, kind):
        """The plain constants of a module."""
        return [
            f"  {name} : Final[{kinds.of_value(value)}] = {self.value(value)}\n"
            for name, value in kind.constants.items()
            if isinstance(value, _PLAIN) and name.isidentifier()
        ]

    def method(self, kind, name, function) -> str:
        """A method; of a layer, what stands for it in archives."""
        if function.body is None:
            function = layer_form(kind, name)
        self.owner = kind
        try:
            return self.definition(function, "  ")
        finally:
            self.owner = None


def layer_form(kind, name) -> tree.Function:
    """A method of a layer in TorchScript."""
    from rushlight.jit.forms.layers import form_of

    python = kind.scope[0].python
    if "parametrizations" in kind.attributes:
        raise RuntimeError(
            f"the weights of {python.__name__} are computed by parametrizations, which jit.script "
            "cannot write into an archive: use jit.trace, or remove_parametrizations first"
        )
    form = form_of(python) if name == "forward" else None
    if form is None:
        raise RuntimeError(
            f"the layer {python.__name__} cannot be written into an archive: trace the module, or "
            "save its state dict with rushlight.save"
        )
    return UNIT.compiled(form, f"{kind}.{name}", kind)


def _may_be(value, wanted):
    """Whether PyTorch takes an argument for a parameter."""
    if kinds.fits(value.type, wanted):
        return True
    if value.type.name == "Tuple" and any(p.name == "List" for p in kinds.parts(wanted)):
        return len(set(value.type.args)) < 2
    return False
