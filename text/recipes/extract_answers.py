"""Fine-tune an encoder to find the part of a text that answers a question, as in SQuAD 1.1.

    python text/recipes/extract_answers.py distilbert-base-uncased train-v1.1.json dev-v1.1.json

Long texts are cut into windows that overlap. Leaves a folder for `pipeline("question-answering")`.
"""

from __future__ import annotations

import argparse
import json

import lightning_lite as L
import rushlight as rl
from rushlight.utils.data import DataLoader
from rushlight_text.data import TokenBudgetSampler, pad_ids
from rushlight_text.metrics import squad
from rushlight_text.models.pretrained import load_model, save_model
from rushlight_text.tokenizers import Tokenizer


class Reader(L.LightningModule):
    """An encoder with a head that marks where an answer begins and ends."""

    def __init__(self, model, learning_rate: float, steps: int):
        super().__init__()
        self.model, self.learning_rate, self.steps = model, learning_rate, steps

    def training_step(self, batch, batch_idx):
        ids, mask, start, end = batch
        loss = self.model(ids, mask, start_positions=start, end_positions=end).loss
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        optimizer = rl.optim.AdamW(self.model.parameters(), self.learning_rate, weight_decay=0.01)
        rate = lambda step: max(0.0, 1 - step / max(1, self.steps))  # noqa: E731
        schedule = rl.optim.lr_scheduler.LambdaLR(optimizer, rate)
        return [optimizer], [{"scheduler": schedule, "interval": "step"}]


def read(path: str) -> list[tuple[str, str, list[tuple[str, int]]]]:
    """Question, text, and answers with where they begin."""
    with open(path, encoding="utf-8") as file:
        parts = [part for article in json.load(file)["data"] for part in article["paragraphs"]]
    rows = [(qa, part["context"]) for part in parts for qa in part["qas"] if qa["answers"]]
    return [
        (qa["question"], text, [(a["text"], a["answer_start"]) for a in qa["answers"]])
        for qa, text in rows
    ]


def windows(tokenizer, question: str, text: str, size: int):
    """Ids of question and window, and where in the text each token is (None outside of it); windows
    overlap by half."""
    spans = tokenizer(text, add_special_tokens=False, offsets=True)["offset_mapping"]
    asked = len(tokenizer.encode(question, add_special_tokens=False))
    for first in range(0, max(1, len(spans) - size // 2), size // 2):
        part = spans[first : first + size]
        begin, end = (part[0][0], part[-1][1]) if part else (0, 0)
        encoded = tokenizer(question, text[begin:end], offsets=True)
        found = enumerate(encoded["offset_mapping"])
        where = [(begin + a, begin + b) if b > a and n > asked else None for n, (a, b) in found]
        yield encoded["input_ids"], where


def labelled(tokenizer, rows, size: int) -> list[tuple[list[int], int, int]]:
    """Windows with the first and the last token of the answer, 0 where it is not inside."""
    found = []
    for question, text, [(answer, first), *_] in rows:
        last = first + len(answer)
        for ids, where in windows(tokenizer, question, text, size):
            part = [n for n, w in enumerate(where) if w and w[0] < last and w[1] > first]
            whole = part and where[part[0]][0] <= first and where[part[-1]][1] >= last
            found.append((ids, part[0], part[-1]) if whole else (ids, 0, 0))
    return found


@rl.no_grad()
def answer(model, tokenizer, question: str, text: str, size: int, longest: int = 30) -> str:
    """The part of the best score, compared with that of no answer in its window."""
    best, found = float("-inf"), ""
    for ids, where in windows(tokenizer, question, text, size):
        out = model(rl.tensor([ids]), rl.ones(1, len(ids), dtype=rl.long))
        start, end = out.start_logits[0], out.end_logits[0]
        inside = rl.tensor([w is not None for w in where])
        allowed = (inside[:, None] & inside[None, :]).triu().tril(longest - 1)
        table = (start[:, None] + end[None, :]).masked_fill(~allowed, float("-inf"))
        score = table.max().item() - (start[0] + end[0]).item()
        if score > best:
            first, last = divmod(int(table.argmax()), len(ids))
            best, found = score, text[where[first][0] : where[last][1]]
    return found


def main() -> None:
    """Read, train, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("folder", "train", "valid"):
        parser.add_argument(name)
    parser.add_argument("--out", default="runs/reader")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=5e-5)
    parser.add_argument("--window", type=int, default=256, help="tokens of a part of the text")
    parser.add_argument("--tokens", type=int, default=4096, help="of a batch")
    asked = parser.parse_args()
    L.seed_everything(0)
    tokenizer = Tokenizer.from_folder(asked.folder)
    model = load_model(asked.folder, "question-answering").train()
    rows = labelled(tokenizer, read(asked.train), asked.window)

    def collate(batch):
        ids, mask = pad_ids([ids for ids, _, _ in batch], tokenizer.pad_token_id)
        return ids, mask, *(rl.tensor([row[n] for row in batch]) for n in (1, 2))

    sampler = TokenBudgetSampler([len(row[0]) for row in rows], asked.tokens)
    loader = DataLoader(rows, batch_sampler=sampler, collate_fn=collate)
    trainer = L.Trainer(max_epochs=asked.epochs, gradient_clip_val=1.0, logger=False)
    trainer.fit(Reader(model, asked.lr, asked.epochs * len(loader)), loader)
    model.eval()
    held = read(asked.valid)
    found = [answer(model, tokenizer, q, text, asked.window) for q, text, _ in held]
    print(squad(found, [[text for text, _ in answers] for _, _, answers in held]))
    save_model(model, asked.out)
    tokenizer.save(asked.out)


if __name__ == "__main__":
    main()
