"""Distil a fine-tuned classifier into one with fewer layers (Hinton et al. 2015).

    python text/recipes/distil.py runs/fine_tuned train.tsv valid.tsv --layers 3

The folder is what `fine_tune_encoder.py` leaves; the files have a label, a tab and a text a line.
The student begins with layers of the teacher. Leaves a folder for `pipeline`.
"""

from __future__ import annotations

import argparse
import csv
import re

import lightning_lite as L
import rushlight as rl
from rushlight.nn import functional as F
from rushlight.utils.data import DataLoader
from rushlight_text.data import TokenBudgetSampler, pad_ids
from rushlight_text.models.pretrained import build_model, load_model, save_model
from rushlight_text.tokenizers import Tokenizer

LAYER = re.compile(r"(\.layers?\.)(\d+)(\.)")


class Distiller(L.LightningModule):
    """A student that follows the labels and the teacher's softened answers."""

    def __init__(self, student, teacher, learning_rate: float, steps: int, heat: float):
        super().__init__()
        self.student, self.teacher = student, teacher.eval().requires_grad_(False)
        self.learning_rate, self.steps, self.heat = learning_rate, steps, heat

    def training_step(self, batch, batch_idx):
        ids, mask, labels = batch
        with rl.no_grad():
            wanted = self.teacher.eval()(ids, mask).logits
        found = self.student(ids, mask).logits
        heated = (found / self.heat).log_softmax(-1), (wanted / self.heat).softmax(-1)
        soft = F.kl_div(*heated, reduction="batchmean")
        loss = 0.5 * F.cross_entropy(found, labels) + 0.5 * self.heat**2 * soft
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        ids, mask, labels = batch
        for name, model in (("accuracy", self.student), ("teacher", self.teacher)):
            right = (model(ids, mask).logits.argmax(1) == labels).float().mean()
            self.log(name, right, prog_bar=True, batch_size=len(labels))

    def configure_optimizers(self):
        optimizer = rl.optim.AdamW(self.student.parameters(), self.learning_rate)
        rate = lambda step: max(0.0, 1 - step / max(1, self.steps))  # noqa: E731
        schedule = rl.optim.lr_scheduler.LambdaLR(optimizer, rate)
        return [optimizer], [{"scheduler": schedule, "interval": "step"}]


def student_of(teacher, layers: int):
    """A model with fewer layers, which begins with layers of the teacher."""
    key = "n_layers" if "n_layers" in teacher.config else "num_hidden_layers"
    stride = teacher.config[key] // layers
    if stride < 1:
        raise SystemExit(f"the teacher has {teacher.config[key]} layers, fewer than {layers}")
    student = build_model({**teacher.config, key: layers}, "sequence-classification")
    state = teacher.state_dict()
    own = {
        name: state[LAYER.sub(lambda m: f"{m[1]}{int(m[2]) * stride}{m[3]}", name)]
        for name in student.state_dict()
    }
    student.load_state_dict(own)
    return student


def loader_of(path: str, tokenizer, labels: dict[str, int], shuffle: bool) -> DataLoader:
    """Batches of similar length."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = [r for r in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if r]
    encoded = [
        (tokenizer(text, truncation=True, max_length=256)["input_ids"], labels[label])
        for label, text in rows
    ]

    def collate(batch):
        ids, mask = pad_ids([ids for ids, _ in batch], tokenizer.pad_token_id)
        return ids, mask, rl.tensor([label for _, label in batch])

    sampler = TokenBudgetSampler([len(ids) for ids, _ in encoded], 2048, shuffle=shuffle)
    return DataLoader(encoded, batch_sampler=sampler, collate_fn=collate)


def main() -> None:
    """Read, distil, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("teacher", "train", "valid"):
        parser.add_argument(name)
    parser.add_argument("--out", default="runs/distilled")
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--heat", type=float, default=2.0, help="divides logits before softmax")
    asked = parser.parse_args()
    L.seed_everything(0)
    teacher, tokenizer = load_model(asked.teacher), Tokenizer.from_folder(asked.teacher)
    labels = {name: int(index) for index, name in teacher.config.id2label.items()}
    student = student_of(teacher, asked.layers)
    train, valid = (
        loader_of(path, tokenizer, labels, path == asked.train)
        for path in (asked.train, asked.valid)
    )
    module = Distiller(student, teacher, asked.lr, asked.epochs * len(train), asked.heat)
    trainer = L.Trainer(max_epochs=asked.epochs, gradient_clip_val=1.0, logger=False)
    trainer.fit(module, train, valid)
    save_model(student.eval(), asked.out)
    tokenizer.save(asked.out)
    print({name: round(float(value), 4) for name, value in trainer.callback_metrics.items()})


if __name__ == "__main__":
    main()
