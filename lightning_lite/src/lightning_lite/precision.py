"""Precision of a run: which dtype weights, inputs and new tensors have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import rushlight as rl
from lightning_lite import hooks
from lightning_lite.batches import map_tensors
from lightning_lite.errors import MisconfigurationException

TRUE = {
    "32-true": "float32",
    "32": "float32",
    "64-true": "float64",
    "64": "float64",
    "bf16-true": "bfloat16",
    "16-true": "float16",
}
MIXED = {
    "16-mixed": "float16",
    "16": "float16",
    "bf16-mixed": "bfloat16",
    "bf16": "bfloat16",
}


NOTHING = nullcontext()
# What a subclass may change of a step of training.
_AROUND = (
    *("forward_context", "train_step_context", "pre_backward", "backward", "post_backward"),
    *("unscale_gradients", "optimizer_step"),
)


class Precision:
    """The dtype that weights and floating-point inputs have in a run, and the one that products
    run in: in mixed precision weights stay float32, and steps run under autocast; with float16 the
    loss is scaled, and steps whose gradients overflow are skipped.

    Its methods are what loops call, by Lightning's names; subclasses may change them all.
    """

    # Those of subclasses that do not call `__init__`, as Lightning's need not.
    precision: Any = "32-true"
    dtype: Any = rl.float32  # of weights and inputs
    low: Any = None  # of products, in mixed precision
    device_type = "cpu"
    scaler: Any = None

    def __init__(self, given: str | int | None, device_type: str = "cpu") -> None:
        name = "32-true" if given is None else str(given)
        if name not in TRUE and name not in MIXED:
            raise MisconfigurationException(
                f"precision {given!r}: expected one of {sorted({**TRUE, **MIXED})}"
            )
        self.device_type = device_type
        if name in MIXED:
            self.precision = f"{name.removesuffix('-mixed')}-mixed"
            self.low = getattr(rl, MIXED[name])
        else:
            self.precision = f"{name.removesuffix('-true')}-true"
            self.dtype = getattr(rl, TRUE[name])
        if self.low is rl.float16:
            self.scaler = rl.amp.GradScaler(device_type)

    def overrides(self, *names: str) -> bool:
        """Whether a subclass changed any of these methods."""
        return any(hooks.overrides(self, Precision, name) for name in names)

    @property
    def converts(self) -> bool:
        """Whether weights and inputs get another dtype than float32."""
        return self.dtype is not rl.float32

    @property
    def is_single(self) -> bool:
        """Whether steps run in float32 with nothing around them, as no subclass changed."""
        return self.low is None and not self.converts and not self.overrides(*_AROUND)

    @property
    def changes_batches(self) -> bool:
        """Whether batches get another dtype, or what a subclass makes of them."""
        return self.converts or self.overrides("convert_input")

    def run_on(self, device_type: str, processes: int = 1) -> None:
        """Say where steps run, for precisions that were not told when they were made."""

    def connect(self, model: Any, optimizers: list[Any], lr_schedulers: list[Any]) -> Any:
        """Module, optimizers and schedulers that training uses, of those that the module made."""
        return model, optimizers, lr_schedulers

    def teardown(self) -> None:
        """A run is over."""

    # -- dtypes ---------------------------------------------------------------------------------

    def convert_module(self, module: Any) -> Any:
        """Give the module's floating-point parameters and buffers this dtype."""
        return module.to(self.dtype) if self.converts else module

    def convert_input(self, data: Any) -> Any:
        """A batch whose floating-point tensors have the dtype that steps are given."""
        return cast(data, self.dtype) if self.converts else data

    def convert_output(self, data: Any) -> Any:
        """Results whose floating-point tensors have the default dtype, where steps have another."""
        if not self.converts and self.low is None:
            return data
        return cast(data, rl.get_default_dtype())

    def tensor_init_context(self) -> AbstractContextManager[Any]:
        """A block whose new floating-point tensors have the dtype of inputs."""
        return default_dtype(self.dtype) if self.converts else NOTHING

    def module_init_context(self) -> AbstractContextManager[Any]:
        """A block whose new modules have the dtype of the weights."""
        return self.tensor_init_context()

    # -- steps ----------------------------------------------------------------------------------

    def forward_context(self) -> AbstractContextManager[Any]:
        """The block in which steps run."""
        if self.low is not None:
            return rl.autocast(self.device_type, self.low)
        return self.tensor_init_context()

    def train_step_context(self) -> AbstractContextManager[Any]:
        """The block in which `training_step` runs."""
        return self.forward_context()

    def val_step_context(self) -> AbstractContextManager[Any]:
        """The block in which `validation_step` runs."""
        return self.forward_context()

    def test_step_context(self) -> AbstractContextManager[Any]:
        """The block in which `test_step` runs."""
        return self.forward_context()

    def predict_step_context(self) -> AbstractContextManager[Any]:
        """The block in which `predict_step` runs."""
        return self.forward_context()

    def outside(self) -> AbstractContextManager[Any]:
        """Inside of :meth:`forward_context`, a block in which nothing is cast: for gradients."""
        return NOTHING if self.low is None else rl.autocast(self.device_type, enabled=False)

    # -- gradients and steps of optimizers ------------------------------------------------------

    def pre_backward(self, tensor: Any, module: Any) -> Any:
        """The loss whose gradients are computed."""
        return tensor if self.scaler is None else self.scaler.scale(tensor)

    def backward(self, tensor: Any, model: Any, *args: Any, **kwargs: Any) -> None:
        """Differentiate the loss: of a Trainer, whose `args` begin with the optimizer (None in
        manual optimization), by the module's `backward`."""
        if getattr(model, "_trainer", None) is None:
            tensor.backward(*args, **kwargs)
        else:
            model.backward(tensor, *args[1:], **kwargs)

    def post_backward(self, tensor: Any, module: Any) -> Any:
        """What remains of the loss."""
        return tensor.detach()

    def main_params(self, optimizer: Any) -> Iterator[Any]:
        """The parameters whose gradients are clipped."""
        for group in optimizer.param_groups:
            yield from group["params"]

    def unscale_gradients(self, optimizer: Any) -> None:
        """Give gradients their true size: before hooks look at them and they are clipped."""
        if self.scaler is not None:
            self.scaler.unscale_(optimizer)

    def clip_gradients(
        self, optimizer: Any, clip_val: float = 0.0, gradient_clip_algorithm: str = "norm"
    ) -> None:
        """Clip the gradients of an optimizer's parameters in place, if `clip_val` is positive."""
        if clip_val <= 0:
            return
        if gradient_clip_algorithm == "value":
            self.clip_grad_by_value(optimizer, clip_val)
        else:
            self.clip_grad_by_norm(optimizer, clip_val)

    def clip_grad_by_value(self, optimizer: Any, clip_val: float) -> None:
        """Clip each element to ``[-clip_val, clip_val]``."""
        rl.nn.utils.clip_grad_value_(self.main_params(optimizer), clip_val)

    def clip_grad_by_norm(self, optimizer: Any, clip_val: float) -> None:
        """Scale all gradients so that their norm is at most `clip_val`."""
        rl.nn.utils.clip_grad_norm_(self.main_params(optimizer), clip_val)

    def optimizer_step(
        self, optimizer: Any, model: Any = None, closure: Any = None, **kwargs: Any
    ) -> Any:
        """Step. The closure makes the gradients; of scaled ones an infinite one skips the step."""
        if self.scaler is None:
            given = {} if closure is None else {"closure": closure}
            return optimizer.step(**given, **kwargs)
        if isinstance(optimizer, rl.optim.LBFGS):
            raise MisconfigurationException(
                "precision '16-mixed' and LBFGS, which computes losses inside of its step; use "
                "'bf16-mixed'"
            )
        result = None if closure is None else closure()
        if result is None and getattr(model, "automatic_optimization", False):
            return None  # the batch is skipped
        self.scaler.step(optimizer, **kwargs)
        self.scaler.update()
        return result

    # -- checkpoints ----------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps: the state of the scaler."""
        return {} if self.scaler is None else self.scaler.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what a checkpoint kept."""
        if self.scaler is not None and state_dict:
            self.scaler.load_state_dict(state_dict)


def cast(data: Any, dtype: rl.dtype) -> Any:
    """A batch with this dtype in place of other floating-point ones."""
    return map_tensors(data, lambda each: each.to(dtype) if each.is_floating_point() else each)


@contextmanager
def default_dtype(dtype: rl.dtype) -> Iterator[None]:
    """A block whose new floating-point tensors have this dtype."""
    previous = rl.get_default_dtype()
    rl.set_default_dtype(dtype)
    try:
        yield
    finally:
        rl.set_default_dtype(previous)
