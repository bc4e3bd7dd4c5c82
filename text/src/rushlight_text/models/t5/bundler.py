"""Published T5 models: their sizes, where their weights are, and their transform."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight.serialization import safetensors
from rushlight_text.models._published import published, state_dict_of
from rushlight_text.models.t5._huggingface import conf_of, renamed
from rushlight_text.models.t5.model import T5Conf, T5Model
from rushlight_text.models.t5.t5_transform import T5Transform
from rushlight_text.prototype.generate import GenerationUtils

__all__ = ["GenerationUtilsForT5", "T5Bundle", "bundles", "t5_transform"]


class GenerationUtilsForT5(GenerationUtils):
    """Generation with a :class:`T5Model`."""

    def __init__(self, model: nn.Module, **kwargs: Any):
        super().__init__(model, **kwargs)


@dataclass
class T5Bundle:
    """A published T5.

    Example
    -------
    >>> config = T5Conf(True, False, 8, 4, 2, 1, 1, 16, vocab_size=20)
    >>> model = T5Bundle(config).get_model(load_weights=False)
    >>> model(rl.tensor([[5, 6, 1]]))["encoder_output"].shape
    rushlight.Size([1, 3, 8])
    """

    _config: T5Conf
    _path: str | None = None
    transform: Callable[[], T5Transform] | None = None

    def get_model(
        self,
        *,
        with_generation_utils: bool = False,
        load_weights: bool = True,
        freeze_model: bool = False,
        dl_kwargs: Mapping[str, Any] | None = None,
        gen_kwargs: Mapping[str, Any] | None = None,
    ) -> T5Model | GenerationUtils:
        """The model, with its weights.

        Args:
            with_generation_utils: inside of :class:`GenerationUtilsForT5`.
            load_weights: fetch the weights; AssertionError where none are published.
            freeze_model: parameters need no gradient.
            dl_kwargs: for :func:`rushlight.hub.load_state_dict_from_url`.
            gen_kwargs: for :class:`GenerationUtilsForT5`.
        """
        if load_weights and self._path is None:
            raise AssertionError(
                "load_weights cannot be True. The pre-trained model weights are not available for "
                "the current object"
            )
        if freeze_model and not load_weights:
            warnings.warn(
                "get_model(): a model without trained weights is frozen and learns nothing",
                stacklevel=2,
            )
        model = T5Bundle.build_model(
            self._config,
            freeze_model=freeze_model,
            checkpoint=self._path if load_weights else None,
            strict=True,
            dl_kwargs=dl_kwargs,
        )
        return GenerationUtilsForT5(model, **(gen_kwargs or {})) if with_generation_utils else model

    @classmethod
    def build_model(
        cls,
        config: T5Conf,
        *,
        freeze_model: bool = False,
        checkpoint: str | Mapping[str, rl.Tensor] | None = None,
        strict: bool = False,
        dl_kwargs: Mapping[str, Any] | None = None,
    ) -> T5Model:
        """A model of one's own sizes; `checkpoint` is an address or a state dict."""
        model = T5Model(config, freeze_model)
        if checkpoint is not None:
            model.load_state_dict(state_dict_of(checkpoint, dl_kwargs), strict=strict)
        return model

    @staticmethod
    def build_model_from_huggingface_ckpt(
        ckpt_path: str | os.PathLike,
        encoder_only: bool = False,
        *,
        freeze_model: bool = False,
        strict: bool = True,
    ) -> T5Model:
        """The model in a folder of Hugging Face: ``config.json`` with ``pytorch_model.bin`` or
        ``model.safetensors``."""
        folder = Path(ckpt_path)
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        files = [folder / "pytorch_model.bin", folder / "model.safetensors"]
        present = [file for file in files if file.is_file()]
        if not present:
            raise FileNotFoundError(f"{folder}: neither {files[0].name} nor {files[1].name}")
        weights = (
            rl.load(present[0])
            if present[0].suffix == ".bin"
            else safetensors.load_file(present[0])
        )
        conf = conf_of(config, weights, encoder_only)
        model = T5Model(conf, freeze_model)
        model.load_state_dict(renamed(conf, weights), strict=strict)
        return model

    @property
    def config(self) -> T5Conf:
        """The sizes."""
        return self._config


def t5_transform() -> T5Transform:
    """The transform of all T5 models; the model of pieces is fetched."""
    return T5Transform(
        published("t5_tokenizer_base.model"), max_seq_len=512, eos_idx=1, padding_idx=0
    )


def _sizes(width: int, heads: int, layers: int, inner: int, qkv: int = 64) -> dict[str, Any]:
    return {
        "embedding_dim": width,
        "num_attention_heads": heads,
        "num_encoder_layers": layers,
        "num_decoder_layers": layers,
        "ffn_dimension": inner,
        "qkv_dim": qkv,
    }


_T5 = {
    "BASE": _sizes(768, 12, 12, 3072),
    "SMALL": _sizes(512, 8, 6, 2048),
    "LARGE": _sizes(1024, 16, 24, 4096),
    "3B": _sizes(1024, 32, 24, 16384, 128),
    "11B": _sizes(1024, 128, 24, 65536, 128),
}
_FLAN = {
    "BASE": _sizes(768, 12, 12, 2048),
    "LARGE": _sizes(1024, 16, 24, 2816),
    "XL": _sizes(2048, 32, 24, 5120),
    "XXL": _sizes(4096, 64, 24, 10240),
}
_PARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "_ENCODER": (".encoder", {"encoder_only": True}),
    "": ("", {}),
    "_GENERATION": (".generation", {"linear_head": True}),
}


def bundles() -> dict[str, T5Bundle]:
    """All published models by name: five sizes of T5, four of Flan-T5, three parts of each."""
    found = {}
    for part, (word, options) in _PARTS.items():
        for size, sizes in _T5.items():
            path = published(f"t5.{size.lower()}{word}.v2.pt")
            found[f"T5_{size}{part}"] = T5Bundle(T5Conf(**sizes, **options), path, t5_transform)
        for size, sizes in _FLAN.items():
            path = published(f"t5.flan.{size.lower()}{word}.pt")
            conf = T5Conf(**sizes, **options, feed_forward_proj="gated-gelu")
            found[f"FLAN_T5_{size}{part}"] = T5Bundle(conf, path, t5_transform)
    return found
