"""Layers, with torchtext's names."""

from rushlight_text.nn.modules.multiheadattention import (
    InProjContainer,
    MultiheadAttentionContainer,
    ScaledDotProduct,
)

__all__ = ["InProjContainer", "MultiheadAttentionContainer", "ScaledDotProduct"]
