"""Layers: torchtext's attention out of parts, a chain of tags, thin matrices for fine-tuning."""

from rushlight_text.nn.crf import CRF
from rushlight_text.nn.lora import LoRALinear, add_lora, lora_state_dict, merge_lora
from rushlight_text.nn.modules import (
    InProjContainer,
    MultiheadAttentionContainer,
    ScaledDotProduct,
)

__all__ = [
    "CRF",
    "InProjContainer",
    "LoRALinear",
    "MultiheadAttentionContainer",
    "ScaledDotProduct",
    "add_lora",
    "lora_state_dict",
    "merge_lora",
]
