"""transformers: `Trainer` and `TrainingArguments`, with saving and loading."""

import tempfile

import torch
from common import report
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Sentences(Dataset):
    """Rows of tokens; the label says whether the first is even."""

    def __init__(self):
        torch.manual_seed(1)
        self.rows = torch.randint(1, 40, (32, 10))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return {"input_ids": self.rows[index], "labels": int(self.rows[index, 0]) % 2}


def main():
    torch.manual_seed(0)
    config = BertConfig(vocab_size=40, hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
                        intermediate_size=32)  # fmt: skip
    model = BertForSequenceClassification(config)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, num_train_epochs=2, per_device_train_batch_size=8, use_cpu=True,
            report_to=[], logging_steps=1, save_strategy="no", disable_tqdm=True, seed=5,
            learning_rate=1e-3,
        )  # fmt: skip
        trainer = Trainer(model=model, args=arguments, train_dataset=Sentences(),
                          eval_dataset=Sentences())  # fmt: skip
        trainer.train()
        losses = [row["loss"] for row in trainer.state.log_history if "loss" in row]
        evaluated = trainer.evaluate()["eval_loss"]
        trainer.save_model(folder)
        again = BertForSequenceClassification.from_pretrained(folder)
        rows = Sentences().rows
        same = (again(rows).logits - model.eval()(rows).logits).abs().max()
    report(losses=losses, evaluated=evaluated, reloaded=same)


main()
