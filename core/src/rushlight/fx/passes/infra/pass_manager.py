"""Passes over graphs in an order that keeps to constraints."""

from __future__ import annotations

import functools
import inspect

from rushlight.fx.passes.infra.pass_base import PassResult
from rushlight.nn.module import Module


def pass_result_wrapper(fn):
    """A function of a module that gives a module, or changes it and gives nothing, as a pass that
    gives a :class:`PassResult`; such a pass stays as it is."""
    if fn is None:
        return None

    @functools.wraps(fn)
    def wrapped(module):
        found = fn(module)
        if found is None:
            return PassResult(module, True)
        if isinstance(found, PassResult):
            return found
        return PassResult(found, True) if isinstance(found, Module) else None

    if not inspect.isfunction(fn):
        wrapped.__name__ = type(fn).__name__
    return wrapped


def this_before_that_pass_constraint(this, that):
    """A constraint of :class:`PassManager`: `this` runs before `that`."""
    return lambda first, second: first is not that or second is not this


def check_order(passes: list, constraints: list) -> None:
    """Raise RuntimeError where the order of passes breaks a constraint."""
    for constraint in constraints:
        for i, first in enumerate(passes):
            for j, second in enumerate(passes[i + 1 :], i + 1):
                if not constraint(first, second):
                    raise RuntimeError(
                        f"pass schedule constraint violated. Expected {first} before {second} "
                        f"but found {first} at index {i} and {second} at index{j} in pass list."
                    )


class PassManager:
    """Runs passes one after the other.

    Args: `passes` are functions of a module that give a :class:`PassResult`; ``constraint(a, b)``
    says whether `a` may run before `b`. The passes run `steps` times, less often once none changes
    the module. The checks of :meth:`add_checks` run first, with `run_checks_after_each_pass` behind
    every pass as well; like PyTorch's, they raise with `suppress_check_failures`, too.

    Raises:
        RuntimeError: the constraints contradict each other.
        Exception: a pass failed; its error is the cause.

    >>> import rushlight
    >>> from rushlight.fx.passes.infra.pass_manager import PassManager, pass_result_wrapper
    >>> clean = pass_result_wrapper(lambda module: module.graph.lint())
    >>> PassManager([clean])(rushlight.fx.symbolic_trace(rushlight.relu)).modified
    True
    """

    def __init__(
        self, passes=None, constraints=None, steps: int | None = None,
        run_checks_after_each_pass: bool = False, suppress_check_failures: bool = False,
    ):  # fmt: skip
        self.passes, self.constraints = list(passes or ()), list(constraints or ())
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._checks: list = []
        self._validated = False

    def add_pass(self, _pass) -> None:
        """Add a pass behind the others."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint) -> None:
        """Add a constraint on the order."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """Raise RuntimeError where the order of the passes breaks a constraint."""
        if self._validated:
            return
        check_order(self.passes, self.constraints)
        self._validated = True

    def solve_constraints(self) -> None:
        """Bring the passes into an order that keeps to the constraints."""
        after = {
            place: {
                other
                for other, second in enumerate(self.passes)
                if other != place and not self._may_follow(second, first)
            }
            for place, first in enumerate(self.passes)
        }
        order = [place for place in after if not any(place in later for later in after.values())]
        left = {p: sum(p in later for later in after.values()) for p in after}
        for place in order:
            for later in sorted(after[place]):
                left[later] -= 1
                if not left[later]:
                    order.append(later)
        if len(order) < len(self.passes):
            rest = [each for place, each in enumerate(self.passes) if place not in order]
            raise RuntimeError(f"Circular dependency detected within the following passes: {rest}")
        self.passes, self._validated = [self.passes[place] for place in order], True

    def _may_follow(self, first, second):
        """Whether `first` may run before `second`."""
        return all(constraint(first, second) for constraint in self.constraints)

    def add_checks(self, check) -> None:
        """Call a function of the module before the passes, or behind each as well."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self._checks.append(check)

    def check(self, module: Module) -> None:
        """Run the checks."""
        for check in self._checks:
            check(module)

    def __call__(self, module: Module) -> PassResult:
        """Run the passes on a module."""
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        changed = False
        for _ in range(self.steps):
            module, again = self._once(module)
            changed = changed or again
            if not again:
                break
        return PassResult(module, changed)

    def _once(self, module):
        changed = False
        for place, each in enumerate(self.passes):
            try:
                found = self._result(each, module)
            except Exception as error:
                before = [_name(one) for one in self.passes[:place]]
                raise Exception(
                    f"An error occurred when running the '{_name(each)}' pass after the following "
                    f"passes: {before}"
                ) from error
            module, changed = found.graph_module, changed or found.modified
        return module, changed

    def _result(self, each, module):
        found = each(module)
        if not isinstance(found, PassResult):
            raise TypeError(
                f"The result of the pass {_name(each)} should be type PassResult. Please wrap it "
                "with pass_result_wrapper()"
            )
        if hasattr(found.graph_module, "recompile"):
            found.graph_module.recompile()
        if self.run_checks_after_each_pass:
            self.check(found.graph_module)
        return found


def _name(each):
    return each.__name__ if inspect.isfunction(each) else type(each).__name__


__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]
