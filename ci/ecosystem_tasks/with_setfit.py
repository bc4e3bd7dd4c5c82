"""setfit: a classifier of sentences from few examples, with a head of its own, reloaded."""

import tempfile
from pathlib import Path

import torch
from common import report
from datasets import Dataset
from sentence_transformers import SentenceTransformer, models
from setfit import SetFitHead, SetFitModel, Trainer, TrainingArguments
from transformers import BertConfig, BertModel, BertTokenizer

TEXTS = ["a good film", "a fine story", "good acting", "a bad film", "a poor story", "bad acting"]
LABELS = [1, 1, 1, 0, 0, 0]


def body(folder):
    """Sentences as vectors by a small BERT of words."""
    words = sorted({word for text in TEXTS for word in text.split()})
    Path(folder, "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words])
    )
    torch.manual_seed(0)
    BertTokenizer(str(Path(folder, "vocab.txt"))).save_pretrained(folder)
    shape = BertConfig(vocab_size=len(words) + 5, hidden_size=16, num_hidden_layers=1,
                       num_attention_heads=2, intermediate_size=32, hidden_dropout_prob=0.0,
                       attention_probs_dropout_prob=0.0)  # fmt: skip
    BertModel(shape).save_pretrained(folder)
    parts = models.Transformer(folder), models.Pooling(16)
    return SentenceTransformer(modules=list(parts), device="cpu")


def main():
    found = {}
    data = Dataset.from_dict({"text": TEXTS, "label": LABELS})
    with tempfile.TemporaryDirectory() as folder:
        model = SetFitModel(model_body=body(folder), model_head=SetFitHead(16, 2))
        head = SetFitHead(16, 2)
        found["head"] = [float(x.abs().sum() > 0) for x in head.state_dict().values()]
        options = TrainingArguments(
            output_dir=str(Path(folder, "out")), batch_size=4, num_epochs=1, max_steps=3, seed=1,
            body_learning_rate=1e-3, report_to="none", save_strategy="no", logging_steps=1,
        )  # fmt: skip
        trainer = Trainer(model=model, args=options, train_dataset=data)
        trainer.train()
        model = trainer.model
        found["chances"] = model.predict_proba(TEXTS)
        found["guessed"] = model.predict(TEXTS, use_labels=False)
        model.save_pretrained(str(Path(folder, "kept")))
        again = SetFitModel.from_pretrained(str(Path(folder, "kept")))
        found["kept"] = (again.predict_proba(TEXTS) - found["chances"]).abs().max()
    report(**found)


main()
