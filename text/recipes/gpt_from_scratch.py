"""Train a tokenizer and a small GPT on text files, and let it write.

    python text/recipes/gpt_from_scratch.py shakespeare.txt --steps 2000 --out runs/gpt

Leaves a folder that `load_model`, `Tokenizer.from_folder` and transformers read.
"""

from __future__ import annotations

import argparse
import math

import lightning_lite as L
import rushlight as rl
from rushlight.utils.data import DataLoader
from rushlight_text.data import PackedBlocks, TextLines
from rushlight_text.generation import stream_text
from rushlight_text.metrics import perplexity
from rushlight_text.models.pretrained import build_model, save_model
from rushlight_text.tokenizers import train


class Writer(L.LightningModule):
    """A GPT that predicts the next token of packed blocks."""

    def __init__(self, model, learning_rate: float, steps: int):
        super().__init__()
        self.model, self.learning_rate, self.steps = model, learning_rate, steps

    def training_step(self, batch, batch_idx):
        inputs, targets = batch
        logits = self.model(inputs).logits
        loss = rl.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        decayed = [p for p in self.parameters() if p.dim() > 1]
        others = [p for p in self.parameters() if p.dim() < 2]
        groups = [{"params": decayed}, {"params": others, "weight_decay": 0.0}]
        optimizer = rl.optim.AdamW(groups, self.learning_rate, (0.9, 0.95), weight_decay=0.1)
        warm = max(1, self.steps // 20)

        def rate(step: int) -> float:
            if step < warm:
                return (step + 1) / warm
            share = (step - warm) / max(1, self.steps - warm)
            return 0.1 + 0.45 * (1 + math.cos(math.pi * min(1.0, share)))

        schedule = rl.optim.lr_scheduler.LambdaLR(optimizer, rate)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }


def main() -> None:
    """Tokenizer, training, a sample."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--out", default="runs/gpt")
    parser.add_argument("--vocab", type=int, default=2000)
    parser.add_argument("--block", type=int, default=128)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--width", type=int, default=192)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--lr", type=float, default=2e-3)
    asked = parser.parse_args()
    L.seed_everything(0)
    tokenizer = train(TextLines(asked.files), kind="byte_bpe", vocab_size=asked.vocab)
    print(f"{len(tokenizer)} tokens")

    def ids(line: str) -> list[int]:
        return tokenizer.encode(line + "\n")

    blocks = PackedBlocks(TextLines(asked.files, ids, buffer_size=0), asked.block)
    model = build_model(
        "gpt2",
        "causal-lm",
        vocab_size=len(tokenizer),
        n_positions=2 * asked.block,
        n_embd=asked.width,
        n_layer=asked.layers,
        n_head=max(1, asked.width // 32),
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
    )
    pairs = list(blocks)
    loader = DataLoader(pairs, batch_size=asked.batch, shuffle=True)
    trainer = L.Trainer(max_steps=asked.steps, gradient_clip_val=1.0, logger=False)
    trainer.fit(Writer(model, asked.lr, asked.steps), loader)
    model.eval()
    some = [pair[0].tolist() for pair in pairs[:20]]
    print(f"perplexity of its own text: {perplexity(model, some, max_length=asked.block):.1f}")
    save_model(model, asked.out)
    tokenizer.save(asked.out)
    start = tokenizer.decode(some[0][:4])
    print(start, end="")
    for piece in stream_text(
        model, tokenizer, start, max_new_tokens=asked.block, do_sample=True, top_p=0.9
    ):
        print(piece, end="", flush=True)
    print()


if __name__ == "__main__":
    main()
