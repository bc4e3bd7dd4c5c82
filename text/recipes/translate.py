"""Train the transformer of 2017 to translate, with its schedule, and measure BLEU.

    python text/recipes/translate.py train.tsv valid.tsv --steps 4000 --out runs/translate

The files have a sentence, a tab and its translation a line. Leaves a folder for `pipeline`.
"""

from __future__ import annotations

import argparse
import csv

from tokenizers import processors

import lightning_lite as L
import rushlight as rl
from rushlight.utils.data import DataLoader
from rushlight_text.data import TokenBudgetSampler, pad_ids
from rushlight_text.generation import generate_text
from rushlight_text.metrics import chrf, corpus_bleu
from rushlight_text.models.pretrained import build_model, save_model
from rushlight_text.models.pretrained.t5 import shifted
from rushlight_text.tokenizers import train as train_tokenizer

PAD, END = "<pad>", "</s>"


class Translator(L.LightningModule):
    """Label smoothing, and a rate that rises, then falls with the root of the step."""

    def __init__(self, model, warmup: int, peak: float):
        super().__init__()
        self.model, self.warmup, self.peak = model, warmup, peak

    def training_step(self, batch, batch_idx):
        ids, mask, labels = batch
        target = shifted(labels, self.model.config)
        logits = self.model(ids, mask, target).logits
        loss = rl.nn.functional.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), label_smoothing=0.1
        )
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        trained = [p for p in self.parameters() if p.requires_grad]
        optimizer = rl.optim.Adam(trained, self.peak, (0.9, 0.98), eps=1e-9)
        warm = self.warmup
        rate = lambda step: min((step + 1) / warm, (warm / (step + 1)) ** 0.5)  # noqa: E731
        schedule = rl.optim.lr_scheduler.LambdaLR(optimizer, rate)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }


def read(path: str) -> list[tuple[str, str]]:
    """Pairs of sentences."""
    with open(path, encoding="utf-8", newline="") as file:
        return [(r[0], r[1]) for r in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if r]


def main() -> None:
    """Tokenizer, training, beams, BLEU."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train")
    parser.add_argument("valid")
    parser.add_argument("--out", default="runs/translate")
    parser.add_argument("--vocab", type=int, default=4000)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--warmup", type=int, default=400)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--tokens", type=int, default=2048, help="of a batch")
    asked = parser.parse_args()
    L.seed_everything(0)
    pairs, held = read(asked.train), read(asked.valid)
    tokenizer = train_tokenizer(
        (text for pair in pairs for text in pair), vocab_size=asked.vocab, special_tokens=[PAD, END]
    )
    tokenizer.add_special_tokens({"pad_token": PAD, "eos_token": END})
    end = tokenizer.eos_token_id
    tokenizer.backend.post_processor = processors.TemplateProcessing(
        single=f"$A {END}", special_tokens=[(END, end)]
    )
    rows = [tuple(tokenizer.encode(text)[:128] for text in pair) for pair in pairs]

    def collate(batch):
        ids, mask = pad_ids([source for source, _ in batch], tokenizer.pad_token_id)
        labels, there = pad_ids([target for _, target in batch])
        return ids, mask, labels.masked_fill(there == 0, -100)

    lengths = [max(len(source), len(target)) for source, target in rows]
    loader = DataLoader(
        rows, batch_sampler=TokenBudgetSampler(lengths, asked.tokens), collate_fn=collate
    )
    heads = max(1, asked.width // 64)
    sizes: dict[str, int] = {"vocab_size": len(tokenizer), "d_model": asked.width}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_layers": asked.layers, f"{side}_attention_heads": heads}
        sizes[f"{side}_ffn_dim"] = 4 * asked.width
    marks = {"pad_token_id": tokenizer.pad_token_id, "eos_token_id": end}
    marks["decoder_start_token_id"] = tokenizer.pad_token_id
    model = build_model({"model_type": "marian"}, "seq2seq-lm", **sizes, **marks)
    trainer = L.Trainer(max_steps=asked.steps, gradient_clip_val=1.0, logger=False)
    trainer.fit(Translator(model, asked.warmup, asked.lr), loader)
    model.eval()
    found: list[str] = []
    for start in range(0, len(held), 32):
        sources = [source for source, _ in held[start : start + 32]]
        found += generate_text(model, tokenizer, sources, num_beams=4, max_new_tokens=96)
    right = [target for _, target in held]
    print(f"BLEU {corpus_bleu(found, right).score:.2f}, chrF {chrf(found, right):.2f}")
    print(f"{held[0][0]}\n  = {held[0][1]}\n  > {found[0]}")
    save_model(model, asked.out)
    tokenizer.save(asked.out)


if __name__ == "__main__":
    main()
