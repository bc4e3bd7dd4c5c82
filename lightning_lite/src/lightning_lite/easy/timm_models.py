"""Networks of timm as bodies: `TimmBody`, `create_timm_model`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from lightning_lite.easy.heads import add_head, cut_model
from rushlight import nn

_OF_THE_HEAD = (
    "concat_pool", "lin_ftrs", "ps", "first_bn", "bn_final", "lin_first", "y_range",
)  # fmt: skip


def _timm(arch: str) -> Any:
    """The package. ModuleNotFoundError without it."""
    try:
        return importlib.import_module("timm")
    except ModuleNotFoundError as error:
        if error.name != "timm":
            raise
        raise ModuleNotFoundError(
            f"{arch!r} is a name of timm's, which is not installed: pip install timm", name="timm"
        ) from error


class TimmBody(nn.Module):
    """A network of timm without its classifier.

    Args:
        model: the network; one whose `default_cfg` has a `pool_size` gives features before it
            pools, `(N, C, H, W)`, others what their call gives, `(N, C)`.
        pretrained, n_in: accepted as by fastai.
        cut: of `cut_model`; None keeps all of it.

    `needs_pool`: whether a head has to pool.
    """

    def __init__(
        self,
        model: nn.Module,
        pretrained: bool = True,
        cut: int | Callable | None = None,
        n_in: int = 3,
    ) -> None:
        super().__init__()
        self.needs_pool = model.default_cfg.get("pool_size") is not None
        self.model = model if cut is None else cut_model(model, cut)

    def forward(self, x: Any) -> Any:
        """Pictures `(N, C, H, W)`."""
        return self.model.forward_features(x) if self.needs_pool else self.model(x)


def create_timm_model(
    arch: str,
    n_out: int,
    cut: int | Callable | None = None,
    pretrained: bool = True,
    n_in: int = 3,
    init: Callable | None = nn.init.kaiming_normal_,
    custom_head: nn.Module | None = None,
    pool: bool = True,
    **options: Any,
) -> tuple[nn.Sequential, dict[str, Any]]:
    """A network of timm with a new head, and timm's facts about it (`mean`, `std`, ...).

    Args:
        arch: timm's name of the network.
        n_out: how many outputs.
        cut, pool: accepted as by fastai; the body is whole, and the head pools where it must.
        pretrained: whether the body begins with published weights.
        n_in: channels of the pictures.
        init, custom_head: of `create_vision_model`.
        options: those of `create_head`; others go to `timm.create_model`.

    Raises ModuleNotFoundError without timm, and TypeError where timm runs on PyTorch itself:
    programs on Rushlight start by `rushlight run`, or call `rushlight.compat.install()` first.

        model, facts = create_timm_model("convnext_tiny", 10, pretrained=False)
    """
    head = {name: options.pop(name) for name in _OF_THE_HEAD if name in options}
    timm = _timm(arch)
    model = timm.create_model(arch, pretrained=pretrained, num_classes=0, in_chans=n_in, **options)
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"create_timm_model: {arch!r} came as a network of PyTorch's; start the program by "
            "`rushlight run`, or call rushlight.compat.install() before timm is imported"
        )
    body = TimmBody(model, pretrained, None, n_in)
    nf = body.model.num_features
    made = add_head(body, nf, n_out, init, custom_head, pool=body.needs_pool, **head)
    return made, model.default_cfg
