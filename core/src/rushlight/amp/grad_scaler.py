"""Loss scaling: gradients of float16 losses are kept from vanishing by a factor, and steps whose
gradients overflowed are skipped (Micikevicius et al., 2018, "Mixed precision training").
"""

from __future__ import annotations

import enum
import warnings
from collections import abc, defaultdict

from rushlight.amp.mode import is_autocast_available
from rushlight.amp.unscaling import (
    _amp_foreach_non_finite_check_and_unscale_,
    _amp_update_scale_,
)
from rushlight.dtypes import float16, float32, int32
from rushlight.ops.creation.tensors import full, zeros
from rushlight.tensor.tensor import Tensor


class OptState(enum.Enum):
    """How far an optimizer's step has come, as `GradScaler` keeps it."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict:
    """What a `GradScaler` knows of an optimizer before its gradients are unscaled."""
    return {"stage": OptState.READY, "found_inf_per_device": {}}


def _gradients(optimizer):
    """Gradients of all parameters; float16 sparse ones are coalesced, so that none overflows."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is None:
                continue
            if parameter.grad.is_sparse and parameter.grad.dtype is float16:
                parameter.grad = parameter.grad.coalesce()
            yield parameter.grad


def _values(grad):
    """The numbers of a gradient that are here: a sparse one's values, a distributed one's part."""
    grad = grad.to_local() if hasattr(grad, "to_local") else grad
    return grad._values() if grad.is_sparse else grad


class GradScaler:
    """Scales losses, and steps an optimizer with unscaled gradients unless one is infinite or NaN.

    The factor starts at `init_scale`, is multiplied by `backoff_factor` after a skipped step and by
    `growth_factor` after `growth_interval` good ones in a row. On a device that is not here, and
    with ``enabled=False``, nothing is scaled and every step is taken.

    >>> scaler = rushlight.amp.GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale(rushlight.tensor(2.0))
    tensor(16.)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ):
        self._device = device
        if enabled and not is_autocast_available(device.partition(":")[0]):
            warnings.warn(
                f"rushlight.{device}.amp.GradScaler is enabled, but {device.upper()} is not "
                "available.  Disabling.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        if not enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError(f"The growth factor must be > 1.0, got {growth_factor}.")
        if backoff_factor >= 1.0:
            raise AssertionError(f"The backoff factor must be < 1.0, got {backoff_factor}.")
        self._init_scale, self._growth_factor = float(init_scale), growth_factor
        self._backoff_factor, self._growth_interval = backoff_factor, growth_interval
        self._init_growth_tracker = 0
        # Tensors beside the first loss that is scaled: on a GPU nothing waits for their values.
        self._scale: Tensor | None = None
        self._growth_tracker: Tensor | None = None
        self._per_optimizer_states: dict = defaultdict(_refresh_per_optimizer_state)

    def _lazy_init_scale_growth_tracker(self, dev) -> None:
        self._scale = full((), self._init_scale, dtype=float32, device=dev)
        self._growth_tracker = full((), self._init_growth_tracker, dtype=int32, device=dev)

    def _check_scale_growth_tracker(self, funcname) -> tuple[Tensor, Tensor]:
        """The factor and the number of good steps in a row, once a loss was scaled."""
        if self._scale is None or self._growth_tracker is None:
            raise AssertionError(
                f"Attempted {funcname} but _scale is None.  This may indicate your script did not "
                "use scaler.scale(loss or outputs) earlier in the iteration."
            )
        return self._scale, self._growth_tracker

    def scale(self, outputs):
        """The loss, or losses in lists and tuples, times the factor."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.device)
            return outputs * self._scale.to(outputs.device, non_blocking=True)
        if isinstance(outputs, abc.Iterable):
            items = [self.scale(item) for item in outputs]
            return type(outputs)(items) if isinstance(outputs, list | tuple) else iter(items)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _unscale_grads_(self, optimizer, inv_scale, found_inf, allow_fp16) -> dict:
        """Unscale the gradients in place; device -> a mark, not 0 where one was not finite."""
        parts: dict = {}
        for grad in _gradients(optimizer):
            if not allow_fp16 and grad.dtype is float16:
                raise ValueError("Attempting to unscale FP16 gradients.")
            part = _values(grad)
            parts.setdefault(part.device, []).append(part)
        marks = {}
        for device, grads in parts.items():
            marks[device] = found_inf.to(device, copy=True)
            _amp_foreach_non_finite_check_and_unscale_(grads, marks[device], inv_scale.to(device))
        return marks

    def unscale_(self, optimizer) -> None:
        """Divide the gradients of an optimizer by the factor, in place: before clipping them.

        RuntimeError where it was done since the last :meth:`update`, or after :meth:`step`.
        """
        if not self._enabled:
            return
        scale, _ = self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        # In float64, as the reciprocal of a small float32 factor may not be finite.
        inverse = scale.double().reciprocal().float()
        found = zeros((), dtype=float32, device=scale.device)
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inverse, found, False)
        state["stage"] = OptState.UNSCALED

    def _maybe_opt_step(self, optimizer, optimizer_state, *args, **kwargs):
        """A step that has no effect where a gradient was infinite or NaN."""
        marks = list(optimizer_state["found_inf_per_device"].values())
        if len(marks) == 1 and marks[0].is_cuda and getattr(optimizer, "skips_on_device", False):
            optimizer.found_inf = marks[0]
            try:
                return optimizer.step(*args, **kwargs)
            finally:
                optimizer.found_inf = None
        if any(mark.item() for mark in marks):
            return None
        return optimizer.step(*args, **kwargs)

    def step(self, optimizer, *args, **kwargs):
        """``optimizer.step(*args, **kwargs)`` with unscaled gradients, or None if one of them is
        infinite or NaN."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale=None) -> None:
        """Adapt the factor to the steps since the last call, or set it, to a float or a tensor of
        one float32."""
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if new_scale is not None:
            self._set_scale(scale, new_scale)
        else:
            marks = [
                mark.to(scale.device)
                for state in self._per_optimizer_states.values()
                for mark in state["found_inf_per_device"].values()
            ]
            if not marks:
                raise AssertionError("No inf checks were recorded prior to update.")
            _amp_update_scale_(
                scale, tracker, sum(marks[1:], marks[0]), self._growth_factor,
                self._backoff_factor, self._growth_interval,
            )  # fmt: skip
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    @staticmethod
    def _set_scale(scale, new_scale):
        if isinstance(new_scale, Tensor):
            if new_scale.numel() != 1 or new_scale.dtype is not float32 or new_scale.requires_grad:
                raise AssertionError(
                    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
                    "torch.FloatTensor with requires_grad=False."
                )
            scale.copy_(new_scale.reshape(()))
        else:
            scale.fill_(float(new_scale))

    def _get_scale_async(self) -> Tensor | None:
        """The factor's tensor, where a loss was scaled."""
        return self._scale

    def get_scale(self) -> float:
        """The factor; 1 when disabled. Waits for a GPU whose losses are scaled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        tracker = self._growth_tracker
        return self._init_growth_tracker if tracker is None else int(tracker.item())

    def _check_inf_per_device(self, optimizer) -> dict:
        """Device -> whether a gradient is infinite or NaN there, which are not unscaled."""
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        one, found = full((), 1.0, device=scale.device), zeros((), device=scale.device)
        marks = self._unscale_grads_(optimizer, one, found, True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = marks
        return marks

    def _found_inf_per_device(self, optimizer) -> dict:
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]

    def is_enabled(self) -> bool:
        """Whether anything is scaled."""
        return self._enabled

    def get_growth_factor(self) -> float:
        """What the factor is multiplied by after good steps."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the factor is multiplied by after good steps."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the factor is multiplied by after a skipped step."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the factor is multiplied by after a skipped step."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many good steps the factor grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many good steps the factor grows."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict:
        """The factor and its settings; empty when disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict) -> None:
        """Continue from what :meth:`state_dict` gave."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        self._init_scale = float(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = int(state_dict["_growth_tracker"])
        if self._scale is not None and self._growth_tracker is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, "
                    "or at the end after scaler.update()."
                )
            state["_init_scale"], state["_scale"] = self.get_scale(), None
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_growth_tracker"] = None
        return state
