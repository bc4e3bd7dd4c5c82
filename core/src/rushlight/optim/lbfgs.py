"""Limited-memory BFGS."""

from __future__ import annotations

from rushlight.autograd.mode import enable_grad, no_grad
from rushlight.ops.shape.joining import cat
from rushlight.optim.line_search import strong_wolfe
from rushlight.optim.optimizer import Optimizer
from rushlight.optim.options import check_rate, scalar

# Curvature pairs with less curvature than this would spoil the approximation.
LEAST_CURVATURE = 1e-10


class LBFGS(Optimizer):
    """Quasi-Newton steps from the last `history_size` changes of gradient and parameters.

    (Nocedal and Wright, 2006, algorithms 7.4 and 7.5; settings and tests of convergence are those
    of Schmidt's minFunc.) ``step(closure)`` makes up to `max_iter` iterations and calls the closure
    many times. There is one parameter group; ``line_search_fn`` is None or ``"strong_wolfe"``.
    """

    def __init__(
        self,
        params,
        lr=1,
        max_iter=20,
        max_eval: int | None = None,
        tolerance_grad=1e-07,
        tolerance_change=1e-09,
        history_size=100,
        line_search_fn: str | None = None,
    ):
        check_rate(lr)
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
            "history_size": history_size, "line_search_fn": line_search_fn,
        })  # fmt: skip
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self):
        return self.param_groups[0]["params"]

    # ------------------------------------------------------------------ one long vector
    def _gather_flat_grad(self):
        parts = []
        for p in self._params:
            grad = p.detach() * 0 if p._grad is None else p._grad
            grad = grad.view_as_real() if grad.is_complex() else grad
            parts.append(grad.reshape(-1))
        return cat(parts, 0)

    def _add_grad(self, size, direction):
        start = 0
        for p in self._params:
            p = p.view_as_real() if p.is_complex() else p
            stop = start + p.numel()
            p.add_(direction[start:stop].view_as(p), alpha=float(size))
            start = stop

    def _evaluate_at(self, closure, start, size, direction):
        """Loss and gradient a step away; the parameters come back to `start`."""
        self._add_grad(size, direction)
        with enable_grad():
            loss = float(closure())
        gradient = self._gather_flat_grad()
        for p, value in zip(self._params, start, strict=True):
            p.copy_(value)
        return loss, gradient

    # ------------------------------------------------------------------ the step
    @no_grad()
    def step(self, closure):
        """Up to ``max_iter`` iterations; returns the loss before them."""
        group, state = self.param_groups[0], self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        with enable_grad():
            first_loss = closure()
        state["func_evals"] += 1
        gradient = self._gather_flat_grad()
        if gradient.abs().max() <= group["tolerance_grad"]:
            return first_loss
        loss, evaluations, rate = float(first_loss), 1, scalar(group["lr"])
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            first = state["n_iter"] == 1
            if first:
                _begin(state, gradient)
            else:
                _remember(state, gradient, group["history_size"])
                state["d"] = _direction(state, gradient, group["history_size"])
            state["prev_flat_grad"] = gradient.clone()
            state["prev_loss"] = loss
            state["t"] = min(1.0, 1.0 / gradient.abs().sum()) * rate if first else rate
            slope = gradient.dot(state["d"])
            if slope > -group["tolerance_change"]:
                break
            last = iteration == group["max_iter"]
            loss, gradient, used = self._advance(
                closure, (loss, gradient, slope), group["max_eval"] - evaluations, last
            )
            evaluations += used
            state["func_evals"] += used
            if last or evaluations >= group["max_eval"] or _converged(state, group, gradient, loss):
                break
        return first_loss

    def _advance(self, closure, known, budget, last):
        """Move along the direction; the new loss and gradient, and how often the closure ran."""
        group, state = self.param_groups[0], self.state[self._params[0]]
        loss, gradient, slope = known
        direction, search = state["d"], group["line_search_fn"]
        if search is None:
            self._add_grad(state["t"], direction)
            if last:
                # nothing looks at the new point in this call: the next one evaluates it
                return loss, gradient, 0
            with enable_grad():
                loss = float(closure())
            return loss, self._gather_flat_grad(), 1
        if search != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        start = [p.clone() for p in self._params]

        def evaluate(size):
            return self._evaluate_at(closure, start, size, direction)

        loss, gradient, state["t"], used = strong_wolfe(
            evaluate, state["t"], direction, (loss, gradient, slope), most=budget
        )
        self._add_grad(state["t"], direction)
        return loss, gradient, used


def _begin(state, gradient):
    state.update(d=-gradient, old_dirs=[], old_stps=[], ro=[], H_diag=1)


def _remember(state, gradient, size):
    """Add the last change of gradient and parameters, and scale the first Hessian by it."""
    change, move = gradient - state["prev_flat_grad"], state["d"] * state["t"]
    curvature = change.dot(move)
    if not curvature > LEAST_CURVATURE:
        return
    if len(state["old_dirs"]) == size:
        for name in ("old_dirs", "old_stps", "ro"):
            state[name].pop(0)
    state["old_dirs"].append(change)
    state["old_stps"].append(move)
    state["ro"].append(1.0 / curvature)
    state["H_diag"] = curvature / change.dot(change)


def _direction(state, gradient, size):
    """Minus the approximate inverse Hessian times the gradient, by the two-loop recursion."""
    changes, moves, inverses = state["old_dirs"], state["old_stps"], state["ro"]
    factors = state.setdefault("al", [None] * size)
    q = -gradient
    for i in reversed(range(len(changes))):
        factors[i] = moves[i].dot(q) * inverses[i]
        q = q - factors[i] * changes[i]
    q = q * state["H_diag"]
    for i in range(len(changes)):
        q = q + (factors[i] - changes[i].dot(q) * inverses[i]) * moves[i]
    return q


def _converged(state, group, gradient, loss):
    """Whether the gradient, the step or the change of the loss is below its tolerance."""
    least = group["tolerance_change"]
    return bool(
        gradient.abs().max() <= group["tolerance_grad"]
        or (state["d"] * state["t"]).abs().max() <= least
        or abs(loss - state["prev_loss"]) < least
    )
