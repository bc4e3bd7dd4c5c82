"""RAFT (Teed and Deng, RAFT: recurrent all-pairs field transforms for optical flow, 2020)."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._utils import built, classifier
from rushlight_vision.models.optical_flow._raft_parts import (
    BottleneckBlock,
    ConvGRU,
    CorrBlock,
    FeatureEncoder,
    FlowHead,
    MaskPredictor,
    MotionEncoder,
    RecurrentBlock,
    ResidualBlock,
    UpdateBlock,
)
from rushlight_vision.models.optical_flow._utils import make_coords_grid, upsample_flow

__all__ = [
    "RAFT",
    "BottleneckBlock",
    "ConvGRU",
    "CorrBlock",
    "FeatureEncoder",
    "FlowHead",
    "MaskPredictor",
    "MotionEncoder",
    "Raft_Large_Weights",
    "Raft_Small_Weights",
    "RecurrentBlock",
    "ResidualBlock",
    "UpdateBlock",
    "raft_large",
    "raft_small",
]


class RAFT(nn.Module):
    """Optical flow: starts at none and improves it again and again.

    Parameters
    ----------
    feature_encoder : Module
        Features of both images, an eighth of their size.
    context_encoder : Module
        What the update knows of the first image: its first state, and what stays.
    corr_block : Module
        With `build_pyramid` of features and `index_pyramid` at coordinates.
    update_block : Module
        With `hidden_state_size`; of state, context, correlations and flow makes the next state and
        what is added to the flow.
    mask_predictor : Module or None
        Weights of the pixels that make a finer flow; without, it is interpolated.
    """

    def __init__(
        self,
        *,
        feature_encoder: nn.Module,
        context_encoder: nn.Module,
        corr_block: nn.Module,
        update_block: nn.Module,
        mask_predictor: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.feature_encoder = feature_encoder
        self.context_encoder = context_encoder
        self.corr_block = corr_block
        self.update_block = update_block
        self.mask_predictor = mask_predictor
        if not hasattr(update_block, "hidden_state_size"):
            raise ValueError("The update_block parameter should expose a 'hidden_state_size'")

    def _check(self, image1: rl.Tensor, image2: rl.Tensor) -> None:
        height, width = image1.shape[-2:]
        if tuple(image2.shape[-2:]) != (height, width):
            raise ValueError(
                f"input images should have the same shape, instead got ({height}, {width}) != "
                f"{tuple(image2.shape[-2:])}"
            )
        if height % 8 or width % 8:
            raise ValueError(
                f"input image H and W should be divisible by 8, instead got {height} (h) and "
                f"{width} (w)"
            )

    def _encoded(self, image1: rl.Tensor, image2: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
        """State and context, after building the pyramid."""
        fine = tuple(image1.shape[-2:])
        coarse = (fine[0] // 8, fine[1] // 8)
        first, second = rl.chunk(self.feature_encoder(rl.cat([image1, image2], dim=0)), 2, dim=0)
        if tuple(first.shape[-2:]) != coarse:
            raise ValueError("The feature encoder should downsample H and W by 8")
        self.corr_block.build_pyramid(first, second)
        seen = self.context_encoder(image1)
        if tuple(seen.shape[-2:]) != coarse:
            raise ValueError("The context encoder should downsample H and W by 8")
        size = self.update_block.hidden_state_size
        if seen.shape[1] <= size:
            raise ValueError(
                f"The context encoder outputs {seen.shape[1]} channels, but it should have at "
                f"strictly more than hidden_state={size} channels"
            )
        state, context = rl.split(seen, [size, seen.shape[1] - size], dim=1)
        return rl.tanh(state), F.relu(context)

    def forward(
        self, image1: rl.Tensor, image2: rl.Tensor, num_flow_updates: int = 12
    ) -> list[rl.Tensor]:
        """The flow (N, 2, H, W) after each of `num_flow_updates`, in pixels from `image1` to
        `image2`, both (N, 3, H, W).

        Raises ValueError for images of different sizes, or sizes that 8 does not divide.
        """
        self._check(image1, image2)
        n, height, width = image1.shape[0], image1.shape[-2] // 8, image1.shape[-1] // 8
        state, context = self._encoded(image1, image2)
        start = make_coords_grid(n, height, width).to(state.device)
        coords, flows = start, []
        for _ in range(num_flow_updates):
            coords = coords.detach()  # gradients go through what is added last
            correlations = self.corr_block.index_pyramid(centroids_coords=coords)
            state, step = self.update_block(state, context, correlations, coords - start)
            coords = coords + step
            weights = None if self.mask_predictor is None else self.mask_predictor(state)
            flows.append(upsample_flow(flow=coords - start, up_mask=weights))
        return flows


class Raft_Large_Weights(WeightsEnum):
    """Weights of :func:`raft_large`."""

    C_T_V1 = published("Raft_Large_Weights.C_T_V1")
    C_T_V2 = published("Raft_Large_Weights.C_T_V2")
    C_T_SKHT_V1 = published("Raft_Large_Weights.C_T_SKHT_V1")
    C_T_SKHT_V2 = published("Raft_Large_Weights.C_T_SKHT_V2")
    C_T_SKHT_K_V1 = published("Raft_Large_Weights.C_T_SKHT_K_V1")
    C_T_SKHT_K_V2 = published("Raft_Large_Weights.C_T_SKHT_K_V2")
    DEFAULT = C_T_SKHT_V2


class Raft_Small_Weights(WeightsEnum):
    """Weights of :func:`raft_small`."""

    C_T_V1 = published("Raft_Small_Weights.C_T_V1")
    C_T_V2 = published("Raft_Small_Weights.C_T_V2")
    DEFAULT = C_T_V2


def _made(settings: dict[str, Any], **kwargs: Any) -> RAFT:
    """RAFT of plain settings; parts in `kwargs` replace those that would be made."""
    state = settings["recurrent_block_hidden_state_size"]
    features = kwargs.pop("feature_encoder", None) or FeatureEncoder(
        block=settings["feature_encoder_block"],
        layers=settings["feature_encoder_layers"],
        norm_layer=settings["feature_encoder_norm_layer"],
    )
    context = kwargs.pop("context_encoder", None) or FeatureEncoder(
        block=settings["context_encoder_block"],
        layers=settings["context_encoder_layers"],
        norm_layer=settings["context_encoder_norm_layer"],
    )
    correlations = kwargs.pop("corr_block", None) or CorrBlock(
        num_levels=settings["corr_block_num_levels"], radius=settings["corr_block_radius"]
    )
    update = kwargs.pop("update_block", None)
    if update is None:
        update = _update_block(settings, correlations.out_channels)
    mask = kwargs.pop("mask_predictor", None)
    if mask is None and settings["use_mask_predictor"]:
        mask = MaskPredictor(in_channels=state, hidden_size=256, multiplier=0.25)
    return RAFT(
        feature_encoder=features, context_encoder=context, corr_block=correlations,
        update_block=update, mask_predictor=mask, **kwargs,
    )  # fmt: skip


def _update_block(settings: dict[str, Any], correlations: int) -> UpdateBlock:
    state = settings["recurrent_block_hidden_state_size"]
    motion = MotionEncoder(
        in_channels_corr=correlations,
        corr_layers=settings["motion_encoder_corr_layers"],
        flow_layers=settings["motion_encoder_flow_layers"],
        out_channels=settings["motion_encoder_out_channels"],
    )
    known = settings["context_encoder_layers"][-1] - state
    recurrent = RecurrentBlock(
        input_size=motion.out_channels + known,
        hidden_size=state,
        kernel_size=settings["recurrent_block_kernel_size"],
        padding=settings["recurrent_block_padding"],
    )
    head = FlowHead(in_channels=state, hidden_size=settings["flow_head_hidden_size"])
    return UpdateBlock(motion_encoder=motion, recurrent_block=recurrent, flow_head=head)


def _raft(
    *,
    weights: WeightsEnum | None = None,
    progress: bool = False,
    feature_encoder_layers: tuple[int, ...],
    feature_encoder_block: Any,
    feature_encoder_norm_layer: Any,
    context_encoder_layers: tuple[int, ...],
    context_encoder_block: Any,
    context_encoder_norm_layer: Any,
    corr_block_num_levels: int,
    corr_block_radius: int,
    motion_encoder_corr_layers: tuple[int, ...],
    motion_encoder_flow_layers: tuple[int, ...],
    motion_encoder_out_channels: int,
    recurrent_block_hidden_state_size: int,
    recurrent_block_kernel_size: Any,
    recurrent_block_padding: Any,
    flow_head_hidden_size: int,
    use_mask_predictor: bool,
    **kwargs: Any,
) -> RAFT:
    given = ("weights", "progress", "kwargs")
    settings = {name: value for name, value in locals().items() if name not in given}
    return built(_made, weights, progress, settings, **kwargs)


@classifier(Raft_Large_Weights, "C_T_SKHT_V2")
def raft_large(
    *, weights: Raft_Large_Weights | None = None, progress: bool = True, **kwargs: Any
) -> RAFT:
    """RAFT as in the paper; keyword arguments go to :class:`RAFT`.

    >>> flows = raft_large()(rl.zeros(1, 3, 128, 128), rl.zeros(1, 3, 128, 128), num_flow_updates=2)
    >>> len(flows), flows[-1].shape
    (2, rushlight.Size([1, 2, 128, 128]))
    """
    return _raft(
        weights=weights, progress=progress,
        feature_encoder_layers=(64, 64, 96, 128, 256),
        feature_encoder_block=ResidualBlock,
        feature_encoder_norm_layer=nn.InstanceNorm2d,
        context_encoder_layers=(64, 64, 96, 128, 256),
        context_encoder_block=ResidualBlock,
        context_encoder_norm_layer=nn.BatchNorm2d,
        corr_block_num_levels=4,
        corr_block_radius=4,
        motion_encoder_corr_layers=(256, 192),
        motion_encoder_flow_layers=(128, 64),
        motion_encoder_out_channels=128,
        recurrent_block_hidden_state_size=128,
        recurrent_block_kernel_size=((1, 5), (5, 1)),
        recurrent_block_padding=((0, 2), (2, 0)),
        flow_head_hidden_size=256,
        use_mask_predictor=True,
        **kwargs,
    )  # fmt: skip


@classifier(Raft_Small_Weights, "C_T_V2")
def raft_small(
    *, weights: Raft_Small_Weights | None = None, progress: bool = True, **kwargs: Any
) -> RAFT:
    """The small RAFT of the paper; keyword arguments go to :class:`RAFT`."""
    return _raft(
        weights=weights, progress=progress,
        feature_encoder_layers=(32, 32, 64, 96, 128),
        feature_encoder_block=BottleneckBlock,
        feature_encoder_norm_layer=nn.InstanceNorm2d,
        context_encoder_layers=(32, 32, 64, 96, 160),
        context_encoder_block=BottleneckBlock,
        context_encoder_norm_layer=None,
        corr_block_num_levels=4,
        corr_block_radius=3,
        motion_encoder_corr_layers=(96,),
        motion_encoder_flow_layers=(64, 32),
        motion_encoder_out_channels=82,
        recurrent_block_hidden_state_size=96,
        recurrent_block_kernel_size=(3,),
        recurrent_block_padding=(1,),
        flow_head_hidden_size=128,
        use_mask_predictor=False,
        **kwargs,
    )  # fmt: skip
