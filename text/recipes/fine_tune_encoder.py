"""Fine-tune an encoder of Hugging Face on texts with labels, whole or by LoRA.

    python text/recipes/fine_tune_encoder.py distilbert-base-uncased train.tsv valid.tsv --lora 8

The files have a label, a tab and a text a line. Leaves a folder for `pipeline`.
"""

from __future__ import annotations

import argparse
import csv

import lightning_lite as L
import rushlight as rl
from rushlight.utils.data import DataLoader
from rushlight_text.data import TokenBudgetSampler, pad_ids
from rushlight_text.models.pretrained import load_model, save_model
from rushlight_text.nn import add_lora, merge_lora
from rushlight_text.tokenizers import Tokenizer


class Classifier(L.LightningModule):
    """An encoder with a head that classifies."""

    def __init__(self, model, learning_rate: float, steps: int):
        super().__init__()
        self.model, self.learning_rate, self.steps = model, learning_rate, steps

    def training_step(self, batch, batch_idx):
        ids, mask, labels = batch
        loss = self.model(ids, mask, labels=labels).loss
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        ids, mask, labels = batch
        right = (self.model(ids, mask).logits.argmax(1) == labels).float().mean()
        self.log("accuracy", right, prog_bar=True, batch_size=len(labels))

    def configure_optimizers(self):
        trained = [p for p in self.parameters() if p.requires_grad]
        optimizer = rl.optim.AdamW(trained, self.learning_rate, weight_decay=0.01)
        schedule = rl.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: max(0.0, 1 - step / max(1, self.steps))
        )
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }


def read(path: str) -> list[tuple[str, str]]:
    """Pairs of a label and a text."""
    with open(path, encoding="utf-8", newline="") as file:
        return [(r[0], r[1]) for r in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if r]


def loader_of(rows, tokenizer, labels, tokens: int, shuffle: bool) -> DataLoader:
    """Batches of similar length, of so many tokens."""
    encoded = [
        (tokenizer(text, truncation=True, max_length=256)["input_ids"], labels.index(label))
        for label, text in rows
    ]

    def collate(batch):
        ids, mask = pad_ids([ids for ids, _ in batch], tokenizer.pad_token_id)
        return ids, mask, rl.tensor([label for _, label in batch])

    sampler = TokenBudgetSampler([len(ids) for ids, _ in encoded], tokens, shuffle=shuffle)
    return DataLoader(encoded, batch_sampler=sampler, collate_fn=collate)


def main() -> None:
    """Read, train, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("train")
    parser.add_argument("valid")
    parser.add_argument("--out", default="runs/fine_tuned")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=None)
    parser.add_argument("--lora", type=int, default=0, help="rank; 0 trains everything")
    parser.add_argument("--tokens", type=int, default=2048, help="of a batch")
    asked = parser.parse_args()
    L.seed_everything(0)
    tokenizer = Tokenizer.from_folder(asked.folder)
    train, valid = read(asked.train), read(asked.valid)
    labels = sorted({label for label, _ in train})
    names = {str(index): label for index, label in enumerate(labels)}
    model = load_model(
        asked.folder, "sequence-classification", num_labels=len(labels), id2label=names
    )
    if asked.lora:
        add_lora(model, rank=asked.lora, train="classifier|pre_classifier|pooler")
    loaders = [
        loader_of(rows, tokenizer, labels, asked.tokens, shuffle)
        for rows, shuffle in ((train, True), (valid, False))
    ]
    rate = asked.lr or (1e-3 if asked.lora else 5e-5)
    steps = asked.epochs * len(loaders[0])
    trainer = L.Trainer(max_epochs=asked.epochs, gradient_clip_val=1.0, logger=False)
    model.train()  # as loaded, it is in eval mode
    trainer.fit(Classifier(model, rate, steps), *loaders)
    if asked.lora:
        merge_lora(model)
    save_model(model.eval(), asked.out)
    tokenizer.save(asked.out)
    print({name: round(float(value), 4) for name, value in trainer.callback_metrics.items()})


if __name__ == "__main__":
    main()
