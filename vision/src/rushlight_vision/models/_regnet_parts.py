"""The stages of RegNets, from the few numbers that describe them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from rushlight_vision.models._utils import _make_divisible

_QUANTUM = 8  # widths are multiples of it


class BlockParams:
    """Depths, widths, widths of groups, bottleneck multipliers and strides of the stages.

    >>> params = BlockParams.from_init_params(16, w_0=48, w_a=27.89, w_m=2.09, group_width=8)
    >>> params.depths, params.widths
    ([1, 3, 6, 6], [48, 104, 208, 440])
    """

    def __init__(
        self,
        depths: list[int],
        widths: list[int],
        group_widths: list[int],
        bottleneck_multipliers: list[float],
        strides: list[int],
        se_ratio: float | None = None,
    ) -> None:
        self.depths = depths
        self.widths = widths
        self.group_widths = group_widths
        self.bottleneck_multipliers = bottleneck_multipliers
        self.strides = strides
        self.se_ratio = se_ratio

    @classmethod
    def from_init_params(
        cls,
        depth: int,
        w_0: int,
        w_a: float,
        w_m: float,
        group_width: int,
        bottleneck_multiplier: float = 1.0,
        se_ratio: float | None = None,
        **kwargs: Any,
    ) -> BlockParams:
        """The stages of `depth` blocks whose widths follow ``w_0 + w_a * block``, rounded to powers
        of `w_m` times `w_0`; blocks of equal width are a stage."""
        if w_a < 0 or w_0 <= 0 or w_m <= 1 or w_0 % 8 != 0:
            raise ValueError("Invalid RegNet settings")
        powers = [round(math.log(1 + block * w_a / w_0) / math.log(w_m)) for block in range(depth)]
        blocks = [round(w_0 * w_m**power / _QUANTUM) * _QUANTUM for power in powers]
        grouped = [(width, len(list(same))) for width, same in itertools.groupby(blocks)]
        widths, depths = [width for width, _ in grouped], [count for _, count in grouped]
        multipliers = [bottleneck_multiplier] * len(grouped)
        widths, groups = cls._adjust_widths_groups_compatibilty(
            widths, multipliers, [group_width] * len(grouped)
        )
        return cls(depths, widths, groups, multipliers, [2] * len(grouped), se_ratio)

    def _get_expanded_params(self) -> Iterator[tuple[int, int, int, int, float]]:
        """Width, stride, depth, width of a group and bottleneck multiplier of each stage."""
        return zip(
            self.widths,
            self.strides,
            self.depths,
            self.group_widths,
            self.bottleneck_multipliers,
            strict=True,
        )

    @staticmethod
    def _adjust_widths_groups_compatibilty(
        stage_widths: list[int], bottleneck_ratios: list[float], group_widths: list[int]
    ) -> tuple[list[int], list[int]]:
        """Widths that are multiples of their groups', which are no wider than the bottleneck."""
        rows = list(zip(stage_widths, bottleneck_ratios, group_widths, strict=True))
        between = [int(width * ratio) for width, ratio, _ in rows]
        groups = [min(group, width) for (_, _, group), width in zip(rows, between, strict=True)]
        whole = [
            _make_divisible(width, group) for width, group in zip(between, groups, strict=True)
        ]
        return [int(width / r) for width, (_, r, _) in zip(whole, rows, strict=True)], groups
