"""Reading what stands outside of a captured program: attributes, globals, variables of closures.

Python's rules are followed step by step, and every step is guarded: that an object has no such
entry of its own matters as much as that its class has one. Where reading would run code that cannot
be followed, the capture breaks.
"""

from __future__ import annotations

import builtins
import enum
import functools
from collections import OrderedDict
from types import FunctionType, GetSetDescriptorType, MethodType, ModuleType

from rushlight.capture.guards import MISSING, Guards, contents_of
from rushlight.capture.kinds import is_container, is_iterator, is_value
from rushlight.library.operators import Namespace, Packet
from rushlight.nn import module as modules
from rushlight.nn.module import Module
from rushlight.tensor.tensor import EXACT, Tensor

_TABLES = ("_parameters", "_buffers", "_modules")
# Classes of Python and of Rushlight's lower layers, which nobody changes between two calls.
_FIXED = (object, type, Tensor, *Tensor.__mro__)


class Own:
    """The ``__dict__`` of an object: its items are read, and nothing else is done with it."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Lookups:
    """Guarded reads; `refuse(why)` breaks the capture, `constant(tensor)` gives the tensor of the
    program for one from outside, and `run(function, args)` follows a property."""

    def __init__(self, refuse, constant, run):
        self.refuse, self.constant, self.run = refuse, constant, run
        self.guards = Guards()
        self.copies: dict = {}  # id -> (container, the program's copy of it)
        self.externals: set = set()  # ids of those copies, which must not be changed

    # ------------------------------------------------------------------------- values from outside
    def loaded(self, value, title):
        """What the program gets for a value from outside."""
        if is_value(value):
            return value
        if isinstance(value, Tensor):
            if type(value) not in EXACT or value._device.type != "cpu":
                self.refuse(f"it reads {title}, a {type(value).__name__} on {value._device}")
            return self.constant(value)
        if is_container(value):
            return self._copied(value, title)
        if is_iterator(value):
            self.refuse(f"it reads {title}, which is used up by looking at it")
        return value

    def _copied(self, value, title):
        """Containers are copied, guarded, and must not be changed."""
        known = self.copies.get(id(value))
        if known is not None:
            return known[1]
        self.guards.contents(value, title)
        found = self._converted(value, title)
        self.copies[id(value)] = value, found
        self.externals.add(id(found))
        return found

    def _converted(self, value, title):
        kind = type(value)
        if isinstance(value, dict):
            items = {k: self.loaded(v, f"{title}[{k!r}]") for k, v in value.items()}
            return OrderedDict(items) if kind is OrderedDict else items
        items = [self.loaded(v, f"{title}[...]") for v in value]
        return kind(*items) if hasattr(kind, "_fields") else kind(items)

    # -------------------------------------------------------------------------------------- entries
    def entry(self, owner, mapping, key, title):
        """The guarded value of a key of a dictionary, or MISSING."""
        value = mapping.get(key, MISSING)
        self.guards.entry(owner, key, value, title)
        return value

    def variable(self, function, name):
        """The value of a global variable, or of a builtin."""
        space = function.__globals__
        title = space.get("__name__", "globals")
        value = self.entry(space, space, name, title)
        if value is MISSING:
            space = vars(builtins)
            value = self.entry(space, space, name, "builtins")
        if value is MISSING:
            self.refuse(f"there is no variable {name}")
        return self.loaded(value, f"{title}.{name}")

    def cell(self, function, name):
        """The value of a variable of the function around one."""
        cell = function.__closure__[function.__code__.co_freevars.index(name)]
        value = contents_of(cell)
        if value is MISSING:
            self.refuse(f"{name} has no value yet")
        self.guards.cells[id(cell)] = cell, value, name
        return self.loaded(value, name)

    # ----------------------------------------------------------------------------------- attributes
    def attribute(self, value, name):
        """``value.name`` of an object from outside, or MISSING."""
        if isinstance(value, ModuleType):
            return self._of_module(value, name)
        if isinstance(value, enum.Enum):
            return self._of_member(value, name)
        if isinstance(value, type):
            return self._of_class(value, name)
        if isinstance(value, FunctionType):
            return self._of_function(value, name)
        if isinstance(value, MethodType | functools.partial):
            self.refuse(f"it reads the attribute {name} of a {type(value).__name__}")
        if isinstance(value, Namespace | Packet):
            space = value._packets if isinstance(value, Namespace) else value._overloads
            if name in space:
                return self.entry(space, space, name, str(value))
        return self._of_object(value, name)

    def _of_module(self, module, name):
        if type(module) is not ModuleType and not module.__name__.startswith("rushlight"):
            self.refuse(f"it reads {module.__name__}.{name}, of a module of a class of its own")
        space = vars(module)
        value = self.entry(space, space, name, module.__name__)
        if value is not MISSING:
            return self.loaded(value, f"{module.__name__}.{name}")
        if "__getattr__" not in space:
            return MISSING
        if module.__name__.partition(".")[0] != "rushlight":
            self.refuse(f"it reads {module.__name__}.{name}, which is made on demand")
        value = getattr(module, name, MISSING)
        if name in space:  # loaded now, and kept
            self.guards.tables[id(space)][2][name] = value
        return value if value is MISSING else self.loaded(value, f"{module.__name__}.{name}")

    def _of_member(self, member, name):
        if name not in ("name", "value") or "__getattribute__" in vars(type(member)):
            self.refuse(f"it reads {name} of a member of {type(member).__name__}")
        return self.loaded(getattr(member, name), f"{member}.{name}")

    def _of_class(self, kind, name):
        if isinstance(kind, enum.EnumMeta) and name in kind.__members__:
            return kind.__members__[name]
        if type(kind).__getattribute__ is not type.__getattribute__ or self._metas(kind, name):
            self.refuse(f"it reads {kind.__name__}.{name}, which its metaclass makes")
        _, held = self._in_classes(kind, name)
        if isinstance(held, classmethod):
            return MethodType(held.__func__, kind)
        if isinstance(held, staticmethod):
            return held.__func__
        if held is MISSING or isinstance(held, FunctionType):
            return held
        if hasattr(type(held), "__get__"):
            self.refuse(f"it reads {kind.__name__}.{name}, a {type(held).__name__}")
        return self.loaded(held, f"{kind.__name__}.{name}")

    @staticmethod
    def _metas(kind, name):
        return type(kind) is not type and any(
            name in vars(meta) for meta in type(kind).__mro__ if meta not in (type, object)
        )

    def _of_function(self, function, name):
        space = function.__dict__
        if name not in space and hasattr(type(function), name):
            self.refuse(f"it reads {name} of a function")
        value = self.entry(space, space, name, function.__name__)
        return value if value is MISSING else self.loaded(value, f"{function.__name__}.{name}")

    def _in_classes(self, kind, name, after=None):
        """``(class, entry)`` of a name in the classes of an object, behind `after` of them."""
        kinds = kind.__mro__
        if after is not None:
            kinds = kinds[kinds.index(after) + 1 :]
        for each in kinds:
            if each in _FIXED:
                held = vars(each).get(name, MISSING)
            else:
                held = self.entry(each, vars(each), name, each.__name__)
            if held is not MISSING:
                return each, held
        return None, MISSING

    def _of_object(self, value, name):
        kind = type(value)
        title = f"{kind.__name__}.{name}"
        if kind.__getattribute__ is not object.__getattribute__:
            self.refuse(f"it reads {title}, and {kind.__name__} has a __getattribute__")
        self.guards.types[id(value)] = value, kind
        _, held = self._in_classes(kind, name)
        if isinstance(held, property) and type(held) is property:
            return self.run(held.fget, (value,))
        if name == "__dict__" and type(held) is GetSetDescriptorType:
            return Own(value)
        if hasattr(type(held), "__set__"):
            self.refuse(f"it reads {title}, a {type(held).__name__}")
        found = self._of_its_own(value, name)
        if found is not MISSING:
            return self.loaded(found, title)
        if held is not MISSING:
            return self.bound(held, value, kind, title)
        if isinstance(value, Module) and kind.__getattr__ is Module.__getattr__:
            return self._of_tables(value, name, title)
        if hasattr(kind, "__getattr__"):
            self.refuse(f"it reads {title}, which __getattr__ makes")
        return MISSING

    def _of_its_own(self, value, name):
        try:
            own = object.__getattribute__(value, "__dict__")
        except AttributeError:
            self.refuse(f"it reads {name} of a {type(value).__name__}, which has no __dict__")
        return self.entry(own, own, name, type(value).__name__)

    def item_of_own(self, own, key):
        """``value.__dict__[key]``."""
        title = f"{type(own.value).__name__}.__dict__"
        found = self._of_its_own(own.value, key) if isinstance(key, str) else MISSING
        if found is MISSING:
            self.refuse(f"there is no {key!r} in {title}")
        return self.loaded(found, f"{title}[{key!r}]")

    def _of_tables(self, module, name, title):
        own = object.__getattribute__(module, "__dict__")
        for table in _TABLES:
            held = self.entry(own, own, table, type(module).__name__)
            if type(held) not in (dict, OrderedDict):
                self.refuse(f"{type(module).__name__} has no table {table}")
            value = self.entry(held, held, name, type(module).__name__)
            if value is not MISSING:
                return self.loaded(value, title)
        return MISSING

    def bound(self, held, value, kind, title):
        """An entry of a class as an object gives it."""
        if isinstance(held, FunctionType):
            return MethodType(held, value)
        if isinstance(held, staticmethod):
            return held.__func__
        if isinstance(held, classmethod):
            return MethodType(held.__func__, kind)
        if hasattr(type(held), "__get__"):
            self.refuse(f"it reads {title}, a {type(held).__name__}")
        return self.loaded(held, title)

    def method(self, value, name, after=None):
        """The function of a special method of an object's class, bound; or MISSING."""
        kind = type(value)
        self.guards.types[id(value)] = value, kind
        _, held = self._in_classes(kind, name, after)
        if held is MISSING:
            return MISSING
        return self.bound(held, value, kind, f"{kind.__name__}.{name}")

    def no_hooks(self, module):
        """Guard that a module has no hooks; whether it has none now."""
        own = object.__getattribute__(module, "__dict__")
        for name in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks",
                     "_backward_pre_hooks"):  # fmt: skip
            hooks = self.entry(own, own, name, type(module).__name__)
            if hooks is MISSING or hooks:
                return False
            self.guards.empty[id(hooks)] = hooks
        for name in ("_global_forward_hooks", "_global_forward_pre_hooks",
                     "_global_backward_hooks", "_global_backward_pre_hooks"):  # fmt: skip
            hooks = getattr(modules, name)
            if hooks:
                return False
            self.guards.empty[id(hooks)] = hooks
        return True
