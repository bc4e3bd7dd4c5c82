"""setfit: a classifier of sentences from few examples, with a head of its own, reloaded."""

import tempfile
from pathlib import Path

from common import report
from datasets import Dataset
from sentence_encoders import encoder
from setfit import SetFitHead, SetFitModel, Trainer, TrainingArguments

TEXTS = ["a good film", "a fine story", "good acting", "a bad film", "a poor story", "bad acting"]
LABELS = [1, 1, 1, 0, 0, 0]
SHAPE = {
    "num_hidden_layers": 1, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
}  # fmt: skip


def main():
    found = {}
    data = Dataset.from_dict({"text": TEXTS, "label": LABELS})
    with tempfile.TemporaryDirectory() as folder:
        model = SetFitModel(
            model_body=encoder(folder, TEXTS, **SHAPE), model_head=SetFitHead(16, 2)
        )
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
