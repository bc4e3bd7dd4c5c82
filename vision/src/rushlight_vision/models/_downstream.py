"""What the builders of models on a backbone share: detectors, and networks that segment."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, cast

from rushlight import nn
from rushlight_vision.models._api import Builder, WeightsEnum, register_model
from rushlight_vision.models._utils import (
    Default,
    _ovewrite_value_param,
    handle_legacy_interface,
)


def on_backbone(
    weights: type[WeightsEnum],
    backbone: type[WeightsEnum],
    classes: int,
    former: Default,
    former_backbone: Default,
) -> Callable[[Builder], Builder]:
    """A decorator for builders of models on a network that classifies: known by name, callable in
    the older forms, with weights of the whole or of the backbone given as entries of their enums,
    as names, or as None.

    Weights of the whole decide how many `classes` there are, and leave no weights of the backbone
    to fetch. `former` and `former_backbone` are what ``pretrained=True`` stood for.
    """

    def decorate(builder: Builder) -> Builder:
        default = inspect.signature(builder).parameters["weights_backbone"].default

        @functools.wraps(builder)
        def call(
            *,
            weights: Any = None,
            progress: bool = True,
            num_classes: int | None = None,
            weights_backbone: Any = default,
            **kwargs: Any,
        ) -> nn.Module:
            entry, base = enum.verify(weights), backbone.verify(weights_backbone)
            if entry is not None:
                base, known = None, len(entry.meta["categories"])
                num_classes = _ovewrite_value_param("num_classes", num_classes, known)
            settings = {"weights": entry, "weights_backbone": base, "progress": progress, **kwargs}
            count = classes if num_classes is None else num_classes
            model = builder(num_classes=count, **settings)
            if entry is not None:
                model.load_state_dict(entry.get_state_dict(progress=progress, check_hash=True))
            return model

        legacy = handle_legacy_interface(
            weights=("pretrained", former),
            weights_backbone=("pretrained_backbone", former_backbone),
        )
        return register_model()(cast(Builder, legacy(call)))

    enum = weights
    return decorate
