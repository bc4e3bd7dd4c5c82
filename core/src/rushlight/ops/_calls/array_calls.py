"""Generated native calls: the short way into ops that take arrays, one per form of call.

A native call is a function written for one op and one form (so many positional arguments, these
keywords). It checks that every tensor argument is a plain tensor with an ordinary array of a dtype
that needs no cast, calls the kernel and wraps its result; anything else makes it answer
NotImplemented, and the general path takes the call. It is written once a form has been seen.
"""

from __future__ import annotations

from rushlight.autograd.mode import mode
from rushlight.dtypes import ALL, dtype
from rushlight.machine import np
from rushlight.machine.arrays import BY_ARRAY_DTYPE
from rushlight.machine.generated_python import function_of
from rushlight.ops._table import arrays as _arrays
from rushlight.ops._table.attributes import DTYPE, TRUTH
from rushlight.ops._table.limited import first_refused
from rushlight.ops._table.op import OPTIONAL, REQUIRED, TENSOR, TENSORS
from rushlight.ops._table.recording import note, record, record_view
from rushlight.tensor import construction as make
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.memory_format import memory_format
from rushlight.tensor.shape import Size
from rushlight.tensor.tensor import Parameter, Tensor

# Attribute values that cannot carry ``__torch_function__`` and need no look inside.
_ATTRIBUTES = frozenset(
    {int, float, bool, str, type(None), complex, slice, Size, dtype, type(Ellipsis), memory_format}
)
_INT, _SEQUENCES = {int}, frozenset({tuple, list, Size})
_SHORT = 8  # sequences up to this long are looked into, for tensors among their items
# Families of ops add their own kinds of constants.
PLAIN_ITEMS = {int, float, bool, slice, type(None), type(Ellipsis)}


def make_door(op, form):
    """The native call for a form, or None where the op or the form does not allow one."""
    if op.kind not in ("op", "view") or op.list_position >= 0 and len(op.tensor_positions) > 1:
        return None
    found = texts_of(op, form)
    source = _Source(op)
    if found is None or not source.read_arguments(*found):
        return None
    text = source.view() if op.kind == "view" else source.arrays()
    space = {**_SPACE, "op": op, "kernel": op.body if op.kind == "view" else op.cpu_kernel,
             **source.values}  # fmt: skip
    return built(op, "forward call", form, text, space)


def built(op, kind, form, text, space):
    """The function ``door`` of a text, a prepared call of this kind for a form."""
    count, *keywords = (form,) if type(form) is int else form
    title = f"{op.name} {kind}, form {' '.join([str(count), *keywords])}"
    return function_of(text, "door", title, space)


def texts_of(op, form):
    """The arguments of a form: names of the native call's parameters, and for each declared
    position that is given the text of its value; None where the form does not fit."""
    given, keywords = (form, ()) if type(form) is int else (form[0], form[1:])
    head = [f"p{i}" for i in range(given)]
    texts = dict(enumerate(head))
    if given > op.positional:  # sizes one by one: x.permute(1, 0)
        at = op.spread_position
        if at != op.positional - 1:
            return None
        texts = {**{i: f"p{i}" for i in range(at)}, at: f"({', '.join(head[at:])})"}
    for name in keywords:
        position = op.index.get(name, op.index.get(op.keywords.get(name)))
        if position is None or position in texts or name[1:].isdigit():
            return None  # x1 and the like are names of the native call's own
        texts[position] = name
        head.append(name)
    required = (i for i, value in enumerate(op.defaults) if value is REQUIRED)
    return (head, texts) if all(i in texts for i in required) else None


def is_plain(value):
    """Whether an attribute is a value without tensors in it."""
    kind = type(value)
    if kind in _ATTRIBUTES:
        return True
    if kind is tuple or kind is list:
        return len(value) <= _SHORT and PLAIN_ITEMS.issuperset(map(type, value))
    return False


def _is_whole(value):
    """Whether a value is a short sequence of plain ints."""
    kind = type(value)
    if kind in _SEQUENCES:
        return len(value) <= _SHORT and _INT.issuperset(map(type, value))
    return kind is dtype  # x.view(float32)


def _same_codes(op):
    """The dtype codes that the op's rule leaves alone."""
    codes, refused = set(), first_refused(op)
    for found in ALL:
        if refused is not None and found.code >= refused:
            continue
        try:
            operand, _ = op.rule(found)
        except (NotImplementedError, RuntimeError, TypeError):
            continue
        if operand is found:
            codes.add(found.code)
    return frozenset(codes)


class _Source:
    """The text of one native call."""

    def __init__(self, op):
        self.op, self.values = op, {}
        self.head, self.checks, self.reads = [], [], []
        self.bound, self.tensors, self.optional = [], [], []
        self.attributes, self.listed, self.given = False, None, ()

    def read_arguments(self, head, texts):
        """Bind the form's arguments to the declared ones; False where none is a tensor."""
        op, self.head, self.given = self.op, head, texts
        for position, kind in enumerate(op.kinds):
            text = texts.get(position)
            if text is None:
                if kind in (TENSOR, OPTIONAL):
                    self.tensors.append("None")
                self.bound.append(("None", "None"))
                if kind not in (TENSOR, OPTIONAL):
                    self.values[f"d{position}"] = op.defaults[position]
                    self.bound[-1] = (f"d{position}",) * 2
            elif kind == TENSORS:
                self._list(position, text)
            elif kind in (TENSOR, OPTIONAL):
                self._tensor(position, text, kind)
            else:
                self._attribute(position, text)
        return bool(self.reads)

    def _attribute(self, position, text):
        self.attributes = True
        if text[0] == "(":  # sizes one by one
            sizes = [name for name in self.head if f"({name}," in text or f" {name}" in text]
            self.checks += [f"if type({name}) is not int: return NO" for name in sizes]
            self.reads.append(f"s{position} = {text}")
            self.bound.append((f"s{position}",) * 2)
            return
        self.checks.append(f"if {self._unusual(position, text)}: return NO")
        if position == self.op.sizes_position:
            self.reads.append(
                f"s{position} = {text} if type({text}) in sequences or {text} is None "
                f"else ({text},)"
            )
            text = f"s{position}"
        self.bound.append((text, text))

    def _unusual(self, position, text):
        """The text of a test for values that are not as plain as their argument asks for."""
        for at, _, kind, optional in self.op.attributes:
            if at == position and kind == TRUTH:
                return f"type({text}) is not bool"
            if at == position and kind == DTYPE:
                return f"type({text}) is not Dtype and {text} is not None"
            if at == position:
                other = f" and {text} is not None" if optional else ""
                return f"type({text}) is not int{other} and not is_whole({text})"
        return f"type({text}) not in attributes and not is_plain({text})"

    def _tensor(self, position, text, kind):
        array = f"x{position}"
        test = f"k = type({text})"
        refuse = "if k is not Tensor and k is not Parameter: return NO"
        if kind == OPTIONAL:
            self.optional.append(text)
            self.checks.append(
                f"{array} = None\n    if {text} is not None:\n        {test}\n        {refuse}\n"
                f"        {array} = {text}._array\n"
                f"        if type({array}) is not ndarray: return NO{self._cast(position, text, 8)}"
            )
        else:
            self.checks += [test, refuse]
            self.reads.append(f"{array} = {text}._array")
            self.reads.append(f"if type({array}) is not ndarray: return NO")
            cast = self._cast(position, text, 4)
            if cast:
                self.reads.append(cast.strip())
        self.tensors.append(text)
        self.bound.append((array, "None"))

    def _list(self, position, text):
        """A sequence of tensors, the only tensor argument."""
        lines = [
            f"if type({text}) not in sequences or not {text}: return NO",
            f"x{position} = []",
            "d = None",
            f"for v in {text}:",
            "    k = type(v)",
            "    if k is not Tensor and k is not Parameter: return NO",
            "    a = v._array",
            "    if type(a) is not ndarray: return NO",
        ]
        if self.op.rule is not None:
            self.values["codes"] = _same_codes(self.op)
            lines += [
                "    if v._dtype is not d:",
                "        if d is not None or v._dtype.code not in codes: return NO",
                "        d = v._dtype",
            ]
        self.reads += [*lines, f"    x{position}.append(a)"]
        self.tensors, self.listed = [f"*{text}"], text
        self.bound.append((f"x{position}", "None"))

    def _cast(self, position, text, indent):
        if self.op.rule is None:
            refused = first_refused(self.op)
            if refused is None:
                return ""
            return f"\n{' ' * indent}if {text}._dtype.code >= {refused}: return NO"
        if position in self.op.options.get("aside", ()):
            return ""
        first = next((t for t in self.tensors if t != "None"), None)
        space = "\n" + " " * indent
        if first is None or first in self.optional:
            self.values["codes"] = _same_codes(self.op)
            return f"{space}if {text}._dtype.code not in codes: return NO"
        return f"{space}if {text}._dtype is not {first}._dtype: return NO"

    # ------------------------------------------------------------------ whole native calls
    def _start(self):
        return [f"def door({', '.join(self.head)}):", *self.checks, *self.reads]

    def _recording(self, out):
        """Lines that record the call if one of its tensors asks for it."""
        op = self.op
        if op.options.get("differentiable", True) is False:
            return []
        live = [t for t in self.tensors if t != "None"]
        if self.listed is not None:
            return self._recording_list(out)
        asks = [
            f"{t} is not None and {t}._node is not None" if t in self.optional
            else f"{t}._node is not None"
            for t in live
        ]  # fmt: skip
        values = f"[{', '.join(b for _, b in self.bound)}]" if self.attributes else "None"
        if not op.formulas and op.joint is None and op.kind != "view":
            action = f"refuse(op, ({', '.join(self.tensors)},), [], None)"
        else:
            action = f"note(op, ({', '.join(self.tensors)},), {values}, {out})"
        return [f"if ({' or '.join(asks)}) and mode.recording:", f"    {action}"]

    def _recording_list(self, out):
        values = f"[{', '.join(b for _, b in self.bound)}]" if self.attributes else "None"
        return [
            "if mode.recording:",
            f"    for v in {self.listed}:",
            "        if v._node is not None:",
            f"            note(op, tuple({self.listed}), {values}, {out})",
            "            break",
        ]

    def _short(self):
        """Lines that ask machine code for the result of a call whose like it has seen."""
        short = getattr(self.op.cpu_kernel, "short", None)
        if short is None or self.optional or len(self.tensors) != short.tensors:
            return []
        count = len(self.op.names) if short.count is None else short.count
        if not short.others and any(position >= count for position in self.given):
            return []
        if short.whole and len(self.given) != count:
            return []
        kinds = (TENSOR, TENSORS)
        first = [self.listed] if short.listed else self.tensors
        rest = [
            b for kind, (_, b) in zip(self.op.kinds, self.bound, strict=True) if kind not in kinds
        ]
        texts = [*first, *rest[: count - len(first)]]
        if not all(text is not None and text.isidentifier() and text[0] != "s" for text in texts):
            return []
        self.values["short"] = short
        return [
            f"out = short.call({', '.join(texts)})",
            "if out is not NO:",
            "    if type(out) is tuple:",
            f"        return finished(op, ({', '.join(self.tensors)},), "
            f"[{', '.join(b for _, b in self.bound)}], out)",
            "    if STATE.inference and mode.inference: out._inference = True",
            *("    " + line for line in self._recording("(out,)")),
            "    return out",
        ]

    def arrays(self, machine=True):
        """Source for an op whose kernel gives arrays; `machine` code may be asked for them."""
        op = self.op
        call = [a for a, _ in self.bound[: op.positional]]
        call += [
            f"{name}={a}"
            for name, (a, _) in zip(
                op.names[op.positional :], self.bound[op.positional :], strict=True
            )
        ]
        head, *rest = self._start()
        lines = [head, *(self._short() if machine else ()), *rest]
        # A tensor that is always there tells the result's dtype sooner than a table does.
        source = next((t for t in self.tensors if t.isidentifier() and t not in self.optional), "")
        source = "" if source == "None" else source
        lines += [
            f"r = kernel({', '.join(call)})",
            "if type(r) is not ndarray:",
            f"    return several(op, ({', '.join(self.tensors)},), "
            f"[{', '.join(b for _, b in self.bound)}], r)",
            f"out = make.result(r, {source})"
            if source
            else "out = make.made(r, by_dtype[r.dtype])",
            "if STATE.inference and mode.inference: out._inference = True",
            *self._recording("(out,)"),
            "return out",
        ]
        return "\n    ".join(lines)

    def view(self, whole=True):
        """Source for a view of the first argument; the `whole` of it made by machine code."""
        first = self.tensors[0]
        call = ", ".join(a for a, _ in self.bound[: self.op.positional])
        rest = ", ".join(b for _, b in self.bound[1:])
        values = f"[{first}, {rest}]" if rest else f"[{first}]"
        copied = f"out = make.made(r, {first}._dtype)" if self.op.options.get("copies") else ""
        around = "reinterpreted" if self.op.options.get("reinterprets") else "view"
        lines = self._start()
        learned = self._learned(first, rest) if whole else []
        lines += [
            *(self._known_view(first, rest) if whole else []),
            *(self._whole_view(first, rest) if whole else []),
            f"r = kernel({call})",
            "if type(r) is not ndarray:",
            "    if r is NO: return NO",
            f"    return many_views(op, {first}, r, {values})",
            f"out = make.{around}({first}, r, (op, [{rest}]))",
            f"if out is NO: {copied or 'return NO'}",
            *learned,
            *self._marked(first),
            f"if {first}._node is not None and mode.recording:",
            f"    record_view(op, {first}, [None, {rest}], out)",
            "return out",
        ]
        return "\n    ".join(lines)

    def _marked(self, first):
        """Lines that say of a view taken in inference mode what it is."""
        return [
            "if STATE.inference and mode.inference:",
            f"    if {first}._inference: out._inference = True",
            f"    else: make.seen({first}, out)",
        ]

    def _known_view(self, first, rest):
        """Lines that ask machine code for a view whose like it has seen."""
        known = self.op.options.get("known")
        if known is None:
            return []
        self.values["known"] = known
        return [
            f"out = known.call({', '.join([first, *(t for _, t in self.bound[1:])])})",
            "if out is not NO:",
            *("    " + line for line in self._marked(first)),
            f"    if {first}._node is not None and mode.recording:",
            f"        record_view(op, {first}, [None, {rest}], out)",
            "    return out",
        ]

    def _learned(self, first, rest):
        """Lines that have it meet one."""
        return [f"known.miss({first}, ({rest},), out)"] if "known" in self.op.options else []

    def _whole_view(self, first, rest):
        """Lines that let machine code make the view, where the op names a function for that."""
        name = self.op.options.get("made_by")
        if callable(name):
            self.values["made_by"] = name
            action, seen = f"record_view(op, {first}, [None, {rest}], out)", "seen"
            if self.op.outputs != 1:
                action, seen = f"record(op, ({first},), [None, {rest}], out)", "looked_at"
            return [
                f"out = made_by({', '.join([first, *(t for _, t in self.bound[1:])])})",
                "if out is not NO:",
                *("    " + line for line in self._learned(first, rest)),
                f"    if STATE.inference and mode.inference: make.{seen}({first}, out)",
                f"    if {first}._node is not None and mode.recording:",
                f"        {action}",
                "    return out",
            ]
        if name is None or any(not text.isidentifier() for _, text in self.bound[1:]):
            return []
        given = [text for _, text in self.bound[1 : self.op.positional]]
        return [
            f"out = make.{name}({', '.join([first, *given])}, (op, [{rest}]))",
            "if out is not NO:",
            *("    " + line for line in self._marked(first)),
            f"    if {first}._node is not None and mode.recording:",
            f"        record_view(op, {first}, [None, {rest}], out)",
            "    return out",
        ]


def _several(op, tensors, values, results):
    """Wrap and record results that are not one array; `values` has None for tensors."""
    if type(results) is list:
        results = tuple(results)
    if type(results) is not tuple:
        return _arrays.wrap_results(op, tensors, values, results)
    outs = make.results(results)
    if outs is NotImplemented:
        outs = []
        for array in results:
            if type(array) is not _ndarray:
                return _arrays.wrap_results(op, tensors, values, results)
            outs.append(make.made(array, _by_dtype[array.dtype]))
    return _finished(op, tensors, values, outs)


def _finished(op, tensors, values, outs):
    """Several results as tensors: marked, recorded and named."""
    if STATE.inference and mode.inference:
        for out in outs:
            if out is not None:
                out._inference = True
    if mode.recording:
        for tensor in tensors:
            if tensor is not None and tensor._node is not None:
                _arrays.record_outputs(op, tensors, values, outs)
                break
    named = op.options.get("result")
    return tuple(outs) if named is None else named._make(outs)


_ndarray, _by_dtype = np.ndarray, BY_ARRAY_DTYPE
_SPACE = {
    "Tensor": Tensor, "Parameter": Parameter, "ndarray": np.ndarray, "NO": NotImplemented,
    "Dtype": dtype,
    "make": make, "by_dtype": BY_ARRAY_DTYPE, "mode": mode, "record": record, "note": note,
    "record_view": record_view,
    "STATE": STATE,
    "attributes": _ATTRIBUTES, "is_plain": is_plain, "is_whole": _is_whole,
    "sequences": _SEQUENCES,
    "several": _several, "finished": _finished, "refuse": _arrays.record_outputs,
    "many_views": _arrays._many_views,
}  # fmt: skip
