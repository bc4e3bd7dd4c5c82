"""Running a program from its syntax tree, so that all it reads is guarded and all it does is known.

Python's own objects, and tensors without values (:class:`~rushlight.ops._transforms.capturing.
Captured`), go through expressions and statements as they would in the program. What is not listed
here ends the capture with the line: assignments to attributes, prints, exceptions, classes.
"""

from __future__ import annotations

import ast
from types import MethodType

from rushlight.capture.breaks import BreakError
from rushlight.capture.calls import TENSOR_NAMES, Calls, Made, is_op
from rushlight.capture.expressions import Comprehension, Expressions
from rushlight.capture.guards import MISSING
from rushlight.capture.kinds import is_container, is_value
from rushlight.capture.lookups import Lookups
from rushlight.capture.numbers import Number
from rushlight.capture.sources import assigned_names, node_of
from rushlight.capture.statements import Returned, Statements
from rushlight.ops._transforms.capturing import Captured

_DEEPEST = 200  # calls in calls
_LAZY = 0x20 | 0x80 | 0x200  # flags of generators and coroutines


class Frame:
    """A call in progress: its variables, and where other names are looked for."""

    __slots__ = ("around", "function", "locals", "node", "own")

    def __init__(self, node, function, around=None):
        self.node, self.function, self.around = node, function, around
        self.locals: dict = {}
        self.own = assigned_names(node)

    @property
    def name(self):
        """What the function is called."""
        return getattr(self.node, "name", "<lambda>")


class Interpreter(Calls, Expressions, Statements):
    """Runs one call of a program; `constant(tensor)` gives the program's tensor for one from
    outside."""

    def __init__(self, constant):
        self.frames: list = []
        self.line, self.steps = None, 0
        self.end: Returned | None = None  # the last return statement
        self.iterators, self.made = {}, {}  # by id, kept so that ids stay theirs
        self.lookups = Lookups(self.refuse, constant, lambda f, args: self.call(f, args, {}))

    def refuse(self, why):
        """End the capture, at the line that is being run."""
        if not self.frames:
            raise BreakError(why)
        frame = self.frames[-1]
        file = frame.function.__code__.co_filename
        raise BreakError(why, file, self.line or frame.node.lineno, frame.name)

    def is_external(self, value):
        """Whether a container is not the program's own."""
        return id(value) in self.lookups.externals

    # ------------------------------------------------------------------------------------ functions
    def run(self, function, args, kwargs):
        """Follow a call of a Python function."""
        reason = vars(function).get("_disabled")
        if reason is not None:
            name = function.__qualname__
            self.refuse(f"it calls {name}(), which is disabled{reason and f': {reason}'}")
        node = node_of(function.__code__)
        if function.__code__.co_flags & _LAZY:
            self.refuse(f"{function.__qualname__}() is a generator or a coroutine")
        if node is None:
            self.refuse(f"the source of {function.__qualname__}() cannot be found")
        self.lookups.guards.function(function)
        program = self.lookups.entry(function.__dict__, function.__dict__, "_program", "a function")
        if program is not MISSING:  # of a compiled function
            return self.call(program, args, kwargs)
        title = f"a default of {function.__name__}"
        defaults = [self.lookups.loaded(v, title) for v in function.__defaults__ or ()]
        keywords = {
            k: self.lookups.loaded(v, title) for k, v in (function.__kwdefaults__ or {}).items()
        }
        return self._entered(Frame(node, function), defaults, keywords, args, kwargs)

    def comprehension(self, node):
        """The scope of a comprehension."""
        frame = self.frames[-1]
        return Frame(Comprehension(node), frame.function, frame)

    def run_made(self, made, args, kwargs):
        """Follow a call of a function that the program made."""
        frame = Frame(made.node, made.frame.function, made.frame)
        return self._entered(frame, made.defaults, made.keywords, args, kwargs)

    def _entered(self, frame, defaults, keywords, args, kwargs):
        self._bind(frame, defaults, keywords, args, kwargs)
        if len(self.frames) >= _DEEPEST:
            self.refuse("its calls are nested too deep")
        line = self.line
        self.frames.append(frame)
        try:
            if isinstance(frame.node, ast.Lambda):
                return self.value(frame.node.body)
            self.execute(frame.node.body)
        except Returned as found:
            self.end = found
            return found.value
        finally:
            self.frames.pop()
            self.line = line

    def _bind(self, frame, defaults, keywords, args, kwargs):
        """Arguments into the variables of a call."""
        given, rest, space = frame.node.args, dict(kwargs), frame.locals
        names = [a.arg for a in (*given.posonlyargs, *given.args)]
        name = frame.name
        for key, value in zip(names, args, strict=False):
            space[key] = value
        if given.vararg is not None:
            space[given.vararg.arg] = tuple(args[len(names) :])
        elif len(args) > len(names):
            self.refuse(f"{name}() takes {len(names)} arguments and gets {len(args)}")
        filled = {**dict(zip(names[::-1], defaults[::-1], strict=False)), **keywords}
        for key in (*names, *[a.arg for a in given.kwonlyargs]):
            if key in rest and key not in names[: len(given.posonlyargs)]:
                if key in space:
                    self.refuse(f"{name}() gets the argument {key} twice")
                space[key] = rest.pop(key)
            elif key not in space:
                if key not in filled:
                    self.refuse(f"{name}() misses the argument {key}")
                space[key] = filled[key]
        if given.kwarg is not None:
            space[given.kwarg.arg] = rest
        elif rest:
            self.refuse(f"{name}() gets unexpected arguments: {', '.join(rest)}")

    # ------------------------------------------------------------------------------------ variables
    def variable(self, name):
        """The value of a name."""
        self.check_name(name)
        frame = self.frames[-1]
        while frame is not None:
            if name in frame.locals:
                return frame.locals[name]
            if name in frame.own:
                self.refuse(f"{name} has no value yet")
            function, frame = frame.function, frame.around
        if name in function.__code__.co_freevars:
            return self.lookups.cell(function, name)
        return self.lookups.variable(function, name)

    def check_name(self, name):
        """Names of a class's own are changed by it, and the class is not known."""
        if name[:2] == "__" and name[-2:] != "__":
            self.refuse(f"it has the name {name}, of a class's own")

    def attribute(self, value, name):
        """``value.name``, or MISSING."""
        if type(value) is Number:
            self.refuse(f"it reads {name} of a number that differs from call to call")
        if isinstance(value, Captured):
            return self._of_tensor(value, name)
        if type(value) is Parent:
            return self._of_parent(value, name)
        if is_value(value) or is_container(value):
            return getattr(value, name, MISSING)
        if type(value) is Made or id(value) in self.iterators:
            self.refuse(f"it reads {name} of a {type(value).__name__}")
        return self.lookups.attribute(value, name)

    def _of_tensor(self, tensor, name):
        held = getattr(type(tensor), name, MISSING)
        if held is MISSING:
            if name in tensor.__dict__:
                self.refuse(f"it reads the attribute {name} of a tensor")
            return MISSING
        if name not in TENSOR_NAMES and not is_op(held):
            self.refuse(f"it reads {name} of a tensor, which is no matter of a graph")
        return getattr(tensor, name)

    def _of_parent(self, parent, name):
        found = self.lookups.method(parent.value, name, parent.kind)
        if not isinstance(found, MethodType):
            self.refuse(f"it reads {name} of super()")
        return found

    def parent(self, args):
        """``super()``."""
        if not args:
            frame = self.frames[-1]
            while frame.around is not None:
                frame = frame.around
            given = frame.node.args
            first = (*given.posonlyargs, *given.args)[0].arg
            if "__class__" not in frame.function.__code__.co_freevars:
                self.refuse("it calls super() outside of a class")
            args = self.lookups.cell(frame.function, "__class__"), frame.locals[first]
        if isinstance(args[1], type) or not isinstance(args[1], args[0]):
            self.refuse("it calls super() of a class")
        return Parent(*args)


class Parent:
    """What ``super()`` gives."""

    __slots__ = ("kind", "value")

    def __init__(self, kind, value):
        self.kind, self.value = kind, value
