"""Fine-tuning by thin matrices beside frozen layers (LoRA)."""

from __future__ import annotations

import re

import rushlight as rl
import rushlight.nn.functional as F
from rushlight import nn

__all__ = ["LoRALinear", "add_lora", "lora_state_dict", "merge_lora"]


class LoRALinear(nn.Module):
    """A frozen linear layer and the product of two thin ones, which begins at zero.

    Args:
        base: the layer; its parameters need no gradient any more.
        rank: width of the thin matrices.
        alpha: their product is multiplied by `alpha` / `rank`.
        dropout: of the inputs of the thin ones, in training.

    Reference: Hu et al., "LoRA" (ICLR 2022).
    """

    def __init__(self, base: nn.Linear, rank: int = 8, alpha: float = 16.0, dropout: float = 0.0):
        if rank < 1:
            raise ValueError(f"LoRALinear(): rank must be positive, got {rank}")
        super().__init__()
        self.base = base.requires_grad_(False)
        weight = base.weight
        self.lora_A = nn.Parameter(rl.empty(rank, weight.shape[1], dtype=weight.dtype))
        self.lora_B = nn.Parameter(rl.zeros(weight.shape[0], rank, dtype=weight.dtype))
        nn.init.kaiming_uniform_(self.lora_A, a=5**0.5)
        self.scale, self.dropout = alpha / rank, nn.Dropout(dropout)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[..., out]`` of ``[..., in]``."""
        thin = F.linear(F.linear(self.dropout(x), self.lora_A), self.lora_B)
        return self.base(x) + thin * self.scale

    @rl.no_grad()
    def merged(self) -> nn.Linear:
        """The layer with the product added to its weight."""
        self.base.weight += (self.lora_B @ self.lora_A) * self.scale
        return self.base.requires_grad_(True)


def add_lora(
    model: nn.Module,
    names: str = r"query|value|q_proj|v_proj|q_lin|v_lin|q|v",
    *,
    rank: int = 8,
    alpha: float = 16.0,
    dropout: float = 0.0,
    train: str | None = r"classifier|qa_outputs|lm_head|score",
) -> nn.Module:
    """Freeze a model, and put thin matrices beside its linear layers of some names; in place.

    Args:
        model: such as of `models.pretrained`.
        names: regular expression of the last part of a layer's name.
        rank, alpha, dropout: as of :class:`LoRALinear`.
        train: regular expression of parts of names whose parameters are trained as well; None for
            none.

    Raises:
        ValueError: no linear layer has such a name.

    Example
    -------
    >>> from rushlight_text.models.pretrained import build_model
    >>> sizes = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, vocab_size=20)
    >>> model = add_lora(build_model("bert-base-uncased", "sequence-classification", **sizes))
    >>> sum(p.numel() for n, p in model.named_parameters() if p.requires_grad and "lora" in n)
    256
    """
    model.requires_grad_(False)
    pattern = re.compile(names)
    found = 0
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.Linear) and pattern.fullmatch(name):
                setattr(parent, name, LoRALinear(child, rank, alpha, dropout))
                found += 1
    if not found:
        raise ValueError(f"add_lora(): no linear layer is called {names!r}")
    if train is not None:
        for name, parameter in model.named_parameters():
            if re.search(rf"(^|\.)({train})(\.|$)", name) and ".base." not in name:
                parameter.requires_grad_(True)
    return model


def merge_lora(model: nn.Module) -> nn.Module:
    """Add the products to the layers beside them: the model is as it was, trained; in place."""
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, LoRALinear):
                setattr(parent, name, child.merged())
    return model.requires_grad_(True)


def lora_state_dict(model: nn.Module) -> dict[str, rl.Tensor]:
    """What training changed: the parameters that need a gradient."""
    return {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}
