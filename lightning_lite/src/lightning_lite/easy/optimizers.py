"""fastai's optimizers that `rushlight.optim` has not, for `opt_func` of a Learner.

Weight decay is decoupled, as in AdamW: parameters shrink by `lr * wd` before the step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import rushlight as rl

Groups = Iterable[Any]


class _Stepping(rl.optim.Optimizer):
    """The base: closures, weight decay, counting; `change` says what becomes of a parameter."""

    @rl.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step; the closure's value."""
        loss = None
        if closure is not None:
            with rl.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                state["step"] = state.get("step", 0) + 1
                if group["weight_decay"]:
                    parameter.mul_(1 - group["lr"] * group["weight_decay"])
                self.change(parameter, parameter.grad, group, state)
        return loss

    def change(self, parameter: Any, grad: Any, group: Any, state: Any) -> None:
        """Change a parameter in place."""
        raise NotImplementedError(f"{type(self).__name__} does not define change")


def _averages(grad: Any, group: Any, state: Any) -> tuple[Any, Any]:
    """The running means of gradients and of their squares, both without the bias of the start."""
    first, second = group["betas"]
    if "average" not in state:
        state["average"], state["square"] = rl.zeros_like(grad), rl.zeros_like(grad)
    state["average"].mul_(first).add_(grad, alpha=1 - first)
    state["square"].mul_(second).addcmul_(grad, grad, value=1 - second)
    count = state["step"]
    return state["average"] / (1 - first**count), state["square"] / (1 - second**count)


class RAdam(_Stepping):
    """Adam whose rate heeds how well squares are known; before, steps go along the mean gradient.

    Args:
        params: parameters, or groups of them.
        lr: the rate.
        mom: of the mean of gradients.
        sqr_mom: of the mean of squares.
        eps: added to the root of squares.
        wd: weight decay.
        beta: above 0, roots go through softplus of this sharpness (SAdam).

    >>> weight = rl.nn.Parameter(rl.ones(2))
    >>> weight.sum().backward()
    >>> RAdam([weight], lr=0.1).step()
    >>> weight.detach()
    tensor([0.9000, 0.9000])

    Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond", 2019.
    """

    def __init__(
        self, params: Groups, lr: float = 1e-3, mom: float = 0.9, sqr_mom: float = 0.99,
        eps: float = 1e-5, wd: float = 0.0, beta: float = 0.0,
    ) -> None:  # fmt: skip
        given = {"lr": lr, "betas": (mom, sqr_mom), "eps": eps, "weight_decay": wd, "beta": beta}
        super().__init__(params, given)

    def change(self, parameter: Any, grad: Any, group: Any, state: Any) -> None:
        """See the class."""
        mean, square = _averages(grad, group, state)
        second, count = group["betas"][1], state["step"]
        most = 2 / (1 - second) - 1
        known = most - 2 * count * second**count / (1 - second**count)
        if known <= 5:
            parameter.add_(mean, alpha=-group["lr"])
            return
        over = (known - 4) * (known - 2) * most / ((most - 4) * (most - 2) * known)
        root = square.sqrt().add_(group["eps"])
        if group["beta"]:
            root = rl.nn.functional.softplus(root, beta=group["beta"])
        parameter.addcdiv_(mean, root, value=-group["lr"] * math.sqrt(over))


class QHAdam(_Stepping):
    """Adam whose steps mix means with the latest gradient and its square.

    Args:
        params: parameters, or groups of them.
        lr: the rate.
        mom: of the mean of gradients.
        sqr_mom: of the mean of squares.
        nu_1: the share of the mean of gradients.
        nu_2: the share of the mean of squares.
        eps: added to the root of squares.
        wd: weight decay.

    >>> weight = rl.nn.Parameter(rl.ones(2))
    >>> weight.sum().backward()
    >>> QHAdam([weight], lr=0.1).step()
    >>> weight.detach()
    tensor([0.9000, 0.9000])

    Ma and Yarats, "Quasi-hyperbolic momentum and Adam for deep learning", 2018.
    """

    def __init__(
        self, params: Groups, lr: float = 1e-3, mom: float = 0.999, sqr_mom: float = 0.999,
        nu_1: float = 0.7, nu_2: float = 1.0, eps: float = 1e-8, wd: float = 0.0,
    ) -> None:  # fmt: skip
        given = {"lr": lr, "betas": (mom, sqr_mom), "nu": (nu_1, nu_2), "eps": eps}
        super().__init__(params, {**given, "weight_decay": wd})

    def change(self, parameter: Any, grad: Any, group: Any, state: Any) -> None:
        """See the class."""
        mean, square = _averages(grad, group, state)
        first, second = group["nu"]
        root = ((1 - second) * grad.square() + second * square).sqrt().add_(group["eps"])
        parameter.addcdiv_((1 - first) * grad + first * mean, root, value=-group["lr"])


class Lamb(_Stepping):
    """Adam whose steps are scaled to the size of each parameter, at most tenfold.

    Args:
        params: parameters, or groups of them.
        lr: the rate.
        mom: of the mean of gradients.
        sqr_mom: of the mean of squares.
        eps: added to the root of squares.
        wd: weight decay.

    >>> weight = rl.nn.Parameter(rl.full((2,), 4.0))
    >>> weight.sum().backward()
    >>> Lamb([weight], lr=0.1).step()
    >>> weight.detach()
    tensor([3.6000, 3.6000])

    You et al., "Large Batch Optimization for Deep Learning", 2019.
    """

    def __init__(
        self, params: Groups, lr: float = 1e-3, mom: float = 0.9, sqr_mom: float = 0.99,
        eps: float = 1e-5, wd: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(
            params, {"lr": lr, "betas": (mom, sqr_mom), "eps": eps, "weight_decay": wd}
        )

    def change(self, parameter: Any, grad: Any, group: Any, state: Any) -> None:
        """See the class."""
        mean, square = _averages(grad, group, state)
        move = mean / square.sqrt().add_(group["eps"])
        sizes = [float(each.square().mean().sqrt()) for each in (parameter, move)]
        ratio = min(sizes[0] / sizes[1], 10.0) if all(sizes) else 1.0
        parameter.add_(move, alpha=-group["lr"] * ratio)


class Larc(_Stepping):
    """Momentum whose rate is that of each parameter: its norm over its gradient's.

    Args:
        params: parameters, or groups of them.
        lr: the rate.
        mom: momentum; 0 for none.
        clip: whether `lr` is the most (LARC), not a factor (LARS).
        trust_coeff: how far a parameter may move, as a share of its norm.
        eps: added to the gradient's norm.
        wd: weight decay.

    >>> weight = rl.nn.Parameter(rl.full((4,), 2.0))
    >>> weight.sum().backward()
    >>> Larc([weight], lr=1.0, trust_coeff=0.05).step()
    >>> weight.detach()
    tensor([1.9000, 1.9000, 1.9000, 1.9000])

    You et al., "Large Batch Training of Convolutional Networks", 2017.
    """

    def __init__(
        self, params: Groups, lr: float = 1e-3, mom: float = 0.9, clip: bool = True,
        trust_coeff: float = 0.02, eps: float = 1e-8, wd: float = 0.0,
    ) -> None:  # fmt: skip
        given = {"lr": lr, "momentum": mom, "clip": clip, "trust_coeff": trust_coeff}
        super().__init__(params, {**given, "eps": eps, "weight_decay": wd})

    def change(self, parameter: Any, grad: Any, group: Any, state: Any) -> None:
        """See the class."""
        size, slope = float(parameter.norm()), float(grad.norm())
        spread = slope + size * group["weight_decay"] + group["eps"]
        rate = group["lr"] * group["trust_coeff"] * size / spread
        move = grad
        if group["momentum"]:
            state.setdefault("average", rl.zeros_like(grad))
            move = state["average"].mul_(group["momentum"]).add_(grad)
        parameter.add_(move, alpha=-(min(group["lr"], rate) if group["clip"] else rate))


class Lookahead(rl.optim.Optimizer):
    """Every `k` steps of an optimizer, slow weights go a share of the way, and it goes on there.

    Args:
        opt: the optimizer.
        k: how many of its steps.
        alpha: the share.

    >>> weight = rl.nn.Parameter(rl.ones(1))
    >>> weight.sum().backward()
    >>> Lookahead(rl.optim.SGD([weight], lr=0.2), k=1, alpha=0.5).step()
    >>> weight.detach()
    tensor([0.9000])

    Zhang et al., "Lookahead Optimizer: k steps forward, 1 step back", 2019.
    """

    def __init__(self, opt: rl.optim.Optimizer, k: int = 6, alpha: float = 0.5) -> None:
        if not isinstance(opt, rl.optim.Optimizer) or k < 1:
            raise ValueError(f"Lookahead: opt={opt!r}, k={k}; expected an optimizer and k >= 1")
        super().__init__([rl.zeros(1)], {})
        self.opt, self.k, self.alpha = opt, k, alpha
        self.count = 0
        self.slow: list[Any] | None = None
        self._follow()

    def _follow(self) -> None:
        """Rates and states are the optimizer's own."""
        self.param_groups, self.state = self.opt.param_groups, self.opt.state
        self.defaults = self.opt.defaults

    def _fast(self) -> list[Any]:
        return [each for group in self.param_groups for each in group["params"]]

    @rl.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """A step of the optimizer, and of the slow weights where it is due."""
        if self.slow is None:
            self.slow = [each.detach().clone() for each in self._fast()]
        loss = self.opt.step() if closure is None else self.opt.step(closure)
        self.count += 1
        if self.count % self.k == 0:
            for slow, fast in zip(self.slow, self._fast(), strict=True):
                slow.add_(fast - slow, alpha=self.alpha)
                fast.copy_(slow)
        return loss

    def state_dict(self) -> dict[str, Any]:
        """The optimizer's, the slow weights, and how many steps there were."""
        return {**self.opt.state_dict(), "slow": self.slow, "count": self.count}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a `state_dict`."""
        given = dict(state_dict)
        slow, self.count = given.pop("slow"), given.pop("count")
        self.slow = None if slow is None else [each.clone() for each in slow]
        self.opt.load_state_dict(given)
        self._follow()


def ranger(
    params: Groups, lr: float = 1e-3, mom: float = 0.95, wd: float = 0.01, eps: float = 1e-6,
    k: int = 6, alpha: float = 0.5, sqr_mom: float = 0.99, beta: float = 0.0,
) -> Lookahead:  # fmt: skip
    """:class:`Lookahead` over :class:`RAdam`; their arguments.

    >>> weight = rl.nn.Parameter(rl.ones(1))
    >>> type(ranger([weight], lr=0.1).opt).__name__
    'RAdam'
    """
    return Lookahead(RAdam(params, lr, mom, sqr_mom, eps, wd, beta), k, alpha)
