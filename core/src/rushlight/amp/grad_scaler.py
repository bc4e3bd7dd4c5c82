"""Loss scaling: gradients of float16 losses are kept from vanishing by a factor, and steps whose
gradients overflowed are skipped (Micikevicius et al., 2018, "Mixed precision training").
"""

from __future__ import annotations

import enum
import warnings
from collections import abc

from rushlight.amp.mode import is_autocast_available
from rushlight.autograd.mode import no_grad
from rushlight.tensor.tensor import Tensor


class OptState(enum.Enum):
    """How far an optimizer's step has come, as `GradScaler` keeps it."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


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
        self._scale, self._growth_factor = float(init_scale), growth_factor
        self._backoff_factor, self._growth_interval = backoff_factor, growth_interval
        self._growth_tracker = 0
        self._on_device = None  # the factor of a GPU, from the first loss there
        self._optimizers: dict = {}  # id -> [stage, whether a gradient was infinite or NaN]

    def _device_scale(self, tensor):
        """The factor beside a tensor of a GPU; None on the CPU."""
        if not tensor.is_cuda:
            return None
        if self._on_device is None:
            from rushlight.amp.device_scale import DeviceScale

            self._on_device = DeviceScale(self._scale, self._growth_tracker, tensor.device)
        return self._on_device

    def scale(self, outputs):
        """The loss, or losses in lists and tuples, times the factor."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            there = self._device_scale(outputs)
            return outputs * self._scale if there is None else there.scaled(outputs)
        if isinstance(outputs, abc.Iterable):
            items = [self.scale(item) for item in outputs]
            return type(outputs)(items) if isinstance(outputs, list | tuple) else iter(items)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _progress(self, optimizer):
        return self._optimizers.setdefault(id(optimizer), [OptState.READY, False])

    def unscale_(self, optimizer) -> None:
        """Divide the gradients of an optimizer by the factor, in place: before clipping them."""
        if not self._enabled:
            return
        progress = self._progress(optimizer)
        if progress[0] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if progress[0] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        if self._on_device is not None:
            there, params = (
                self._on_device,
                (p for g in optimizer.param_groups for p in g["params"]),
            )
            found = there.found()
            there.unscale([p.grad for p in params if p.grad is not None], found)
            progress[:] = OptState.UNSCALED, found
            return
        inverse, bad = 1.0 / self._scale, False
        with no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        parameter.grad.mul_(inverse)
                        bad = bad or self._is_bad(parameter.grad)
        progress[:] = OptState.UNSCALED, bad

    def _is_bad(self, grad) -> bool:
        """Whether a gradient is infinite or NaN somewhere."""
        found = grad.coalesce().values() if grad.is_sparse else grad
        return not bool(found.isfinite().all())

    def step(self, optimizer, *args, **kwargs):
        """``optimizer.step(*args, **kwargs)`` with unscaled gradients, or None if one of them is
        infinite or NaN."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        progress = self._progress(optimizer)
        if progress[0] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if progress[0] is OptState.READY:
            self.unscale_(optimizer)
        if self._on_device is not None:
            result = self._on_device.step(optimizer, progress[1], args, kwargs)
        else:
            result = None if progress[1] else optimizer.step(*args, **kwargs)
        progress[0] = OptState.STEPPED
        return result

    def update(self, new_scale=None) -> None:
        """Adapt the factor to the steps since the last call, or set it."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
            if self._on_device is not None:
                self._on_device.factor.fill_(self._scale)
        else:
            found = [bad for stage, bad in self._optimizers.values() if stage is not OptState.READY]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            if self._on_device is not None:
                self._on_device.adapt(
                    found, self._growth_factor, self._backoff_factor, self._growth_interval
                )
            else:
                self._adapt(any(found))
        self._optimizers = {}

    def _adapt(self, bad):
        if bad:
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
            return
        self._growth_tracker += 1
        if self._growth_tracker == self._growth_interval:
            self._scale *= self._growth_factor
            self._growth_tracker = 0

    def get_scale(self) -> float:
        """The factor; 1 when disabled. Waits for a GPU whose losses are scaled."""
        self._read()
        return self._scale if self._enabled else 1.0

    def _read(self):
        """Take over what the device knows."""
        if self._enabled and self._on_device is not None:
            self._scale = self._on_device.factor.item()
            self._growth_tracker = self._on_device.tracker.item()

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
        self._read()
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
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
        self._scale = float(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = int(state_dict["_growth_tracker"])
        self._on_device = None
