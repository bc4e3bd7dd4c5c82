"""When a call of a compiled function runs as a graph.

In inference (nothing that takes part needs a gradient) a call is captured once for each kind of
arguments and of what else it read; where that cannot be, and in training, the function runs as it
did. Every way gives eager's numbers, but for the last bits where a batch norm is folded.
"""

from __future__ import annotations

import copy
import warnings

from rushlight._dynamo import config, exc
from rushlight._inductor import config as compiler_config
from rushlight.amp.mode import form, paused, watches_alone
from rushlight.autograd.mode import mode
from rushlight.capture.breaks import BreakError
from rushlight.capture.constants import fold, without_unread
from rushlight.capture.entries import Entry, KeepingEntry, may_keep
from rushlight.capture.folding import fused, weights_of
from rushlight.capture.fusion import fuse
from rushlight.capture.guard_filters import keep_wanted
from rushlight.capture.identities import without_identities
from rushlight.capture.kinds import is_container, is_known_by_identity, is_value
from rushlight.capture.memory_plan import reuse
from rushlight.capture.plans import Plan
from rushlight.capture.recording import capture
from rushlight.capture.writes import without_writes
from rushlight.compiler import config as switches
from rushlight.compiler import stances
from rushlight.compiler.eager import captured
from rushlight.dtypes import get_default_dtype
from rushlight.inspection import are_deterministic_algorithms_enabled
from rushlight.nn.module import Module
from rushlight.settings import kernels_mode
from rushlight.tensor.dispatch import stack
from rushlight.tensor.tensor import EXACT
from rushlight.utils import _pytree as pytree

BEFORE_LEAVES = 6  # what a kind of arguments holds before those of its leaves
NOT_TAKEN = object()
MOST_KINDS = 64  # of arguments that are tried where each breaks


class WholeGraphs:
    """The graphs of one function, by the kind of its arguments."""

    trains = False  # whether graphs run where gradients are recorded
    limit: int | None = None  # of graphs, instead of those of the settings
    guard_filter = None  # which guards of a graph are kept
    is_part = False  # whether arguments may be objects of all kinds, known by their identity

    def __init__(self, function, fullgraph=False, freezing=None):
        self.function, self.fullgraph, self.freezing = function, fullgraph, freezing
        self.name = getattr(function, "__qualname__", type(function).__name__)
        self.reset()
        captured.add(self)

    def reset(self):
        """Forget everything that was captured."""
        self.entries: dict = {}
        self.broken: dict = {}  # kind -> why it cannot be captured
        self.full = False

    def call(self, args, kwargs):
        """The result of a call by a graph, or NOT_TAKEN."""
        trains = self.trains
        if config.disable or _is_watched() or not trains and _trains(self.function):
            return NOT_TAKEN
        if self.full:
            return self.in_parts(None, args, kwargs)
        kind, leaves = _kind(args, kwargs, trains, self.is_part)
        if kind is None:
            return NOT_TAKEN
        if kind in self.broken and not self.fullgraph:
            return self.in_parts(kind, args, kwargs)
        entries = self.entries.get(kind)
        if entries is not None:
            for entry in entries:
                if entry.hold():
                    if mode.recording and not trains and _asks_gradients(entry.check.tensors):
                        return NOT_TAKEN  # a parameter that did not need a gradient does now
                    return entry.run(leaves)
        return self._captured(kind, args, kwargs, leaves)

    def _captured(self, kind, args, kwargs, leaves):
        if not stances.now().captures:
            return NOT_TAKEN
        entries = self.entries.setdefault(kind, [])
        total = sum(map(len, self.entries.values()))
        if len(entries) >= self.most_of_kind() or total >= self.most():
            self._stop(entries, kind)
            return NOT_TAKEN
        entry = self._tried(kind, args, kwargs)
        if entry is None:
            return self.in_parts(kind, args, kwargs)
        if mode.recording and not self.trains and _asks_gradients(entry.check.tensors):
            self.broken[kind] = "gradients are recorded"
            return NOT_TAKEN
        entries.insert(0, entry)
        return entry.run(leaves)

    def _tried(self, kind, args, kwargs):
        """The graph of a call, or None; why is noted then."""
        try:
            return self.entry(args, kwargs)
        except BreakError as error:
            if self.fullgraph:
                raise exc.Unsupported(
                    f"compile(fullgraph=True): {self.name} is no single graph: {error.text()}"
                ) from None
            self.broke(kind, error)
            return None

    def entry(self, args, kwargs):
        """Capture a call; raises :class:`BreakError`."""
        return entry_of(self.function, args, kwargs, self.name, self.freezing, self.guard_filter)

    def most(self):
        """How many graphs there may be."""
        return switches.accumulated_recompile_limit if self.limit is None else self.limit

    def most_of_kind(self):
        """How many graphs there may be for arguments of one kind."""
        return switches.recompile_limit if self.limit is None else self.limit

    def in_parts(self, kind, args, kwargs):
        """The result of a call that is no single graph, by several; or NOT_TAKEN."""
        return NOT_TAKEN

    def broke(self, kind, error):
        """Note why a kind of call cannot be captured."""
        self.broken[kind] = error.text()
        self.full = len(self.broken) >= MOST_KINDS  # to try again at each call would cost more

    def _stop(self, entries, kind):
        """Say what changed between calls, and capture no more."""
        self.full = True
        why = entries[0].check.changed() if entries else f"arguments are of another kind: {kind}"
        message = (
            f"compile(): {self.name} was captured {sum(map(len, self.entries.values()))} times "
            "(_dynamo.config.recompile_limit for arguments of one kind) and runs as it is from now "
            f"on; last, {why}"
        )
        if switches.fail_on_recompile_limit_hit:
            raise exc.FailOnRecompileLimitHit(message)
        if config.error_on_recompile or self.fullgraph:
            raise exc.RecompileLimitExceeded(message)
        warnings.warn(message, stacklevel=5)


def entry_of(function, args, kwargs, name, freezing=None, guard_filter=None):
    """Capture a call; raises :class:`BreakError`. `freezing` and `guard_filter` as for
    ``compile(options=...)``."""
    freezing = compiler_config.freezing or None if freezing is None else freezing
    found = capture(function, args, kwargs)
    keep_wanted(found.guards, guard_filter)
    with paused():
        return _entry_of(found, name, freezing)


def _entry_of(found, name, freezing):
    graph, check = found.graph, found.guards.check()
    steps = sum(node.op == "call_function" for node in graph.nodes)
    without_identities(graph)
    if not without_writes(graph):
        return Entry(check, Plan(graph, found.constants, f"graph of {name}"), steps, [])
    without_unread(graph)
    fixed = freezing is not None or are_deterministic_algorithms_enabled()
    if fixed or not found.constants:
        return Entry(check, *_planned(graph, found.constants, name, steps, freezing))
    packed = _planned(copy.deepcopy(graph), dict(found.constants), name, steps, True)
    weights = weights_of(packed[-1])
    plain = _planned(graph, found.constants, name, steps, False)[:2]
    if not weights or not may_keep(weights):
        return Entry(check, *plain, [])
    return KeepingEntry(check, *plain, packed[0], packed[-1], weights)


def _planned(graph, constants, name, steps, freezing):
    """The plan of a graph without writes, how many steps it had, and those that hold what they
    compute from weights."""
    frozen = fold(graph, constants) if freezing else []
    fuse(graph)
    frozen += fused(graph, constants, freezing)
    reuse(graph)
    return Plan(graph, constants, f"graph of {name}", True), steps, frozen


def _is_watched():
    """Whether somebody sees every op (a profiler, a transform), or kernels are NumPy."""
    return bool(stack.levels) or not watches_alone() or kernels_mode() == "reference"


def _trains(function):
    """Whether gradients are recorded for parameters of a module."""
    if not mode.recording or not isinstance(function, Module):
        return False
    return _asks_gradients(function.parameters())


def _asks_gradients(tensors):
    return any(tensor.requires_grad for tensor in tensors)


def _kind(args, kwargs, trains=False, objects=False):
    """What of the arguments and modes a graph depends on, and their leaves; None where gradients
    are asked for (unless it `trains`), or there is no graph of such. `objects`: there may be
    others."""
    if kwargs or not EXACT.issuperset(map(type, args)):
        if not (objects or all(map(_is_known, (*args, *kwargs.values())))):
            return None, args
        leaves, spec = pytree.tree_flatten((args, kwargs))
        spec = repr(spec)
    else:
        leaves, spec = args, None
    same = _repeated(leaves) if len(leaves) > 1 else None
    if same is not None and not objects:
        return None, leaves
    found = [same, spec, mode.recording, mode.inference, get_default_dtype(), form()]
    return (None if _added(found, leaves, trains, objects) is None else tuple(found)), leaves


def _repeated(leaves):
    """Which of the tensors are the same ones; None where each is there once."""
    tensors = [id(leaf) for leaf in leaves if type(leaf) in EXACT]
    return tuple(map(tensors.index, tensors)) if len(set(tensors)) < len(tensors) else None


def _added(found, leaves, trains, objects):
    """What a graph depends on of leaves, added to a list; None where there is no graph of such."""
    recording = mode.recording
    for leaf in leaves:
        kind = type(leaf)
        if kind in EXACT:
            array = leaf._array
            asks = recording and leaf.requires_grad
            if asks and not trains or leaf._device.type != "cpu":
                return None
            found.append((array.shape, array.strides, leaf._dtype, asks))
        elif is_value(leaf):
            found.append((kind, repr(leaf)))
        elif isinstance(leaf, Module):
            if not trains and _trains(leaf):
                return None
            found.append(leaf)
        elif objects and is_known_by_identity(leaf):
            found.append(leaf)
        else:
            return None
    return found


def _is_known(value):
    """Whether an argument is a tensor, a module, a number, or a list or dict of such."""
    if is_container(value):
        return all(map(_is_known, value.values() if isinstance(value, dict) else value))
    return type(value) in EXACT or is_value(value) or isinstance(value, Module)
