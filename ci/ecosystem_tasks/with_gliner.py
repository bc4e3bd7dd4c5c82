"""gliner: names in texts by labels of one's choice, a small network trained, saved and reloaded."""

import tempfile
from pathlib import Path

import torch
from common import report
from gliner import GLiNER, GLiNERConfig
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, PreTrainedTokenizerFast

TEXTS = [
    ("anna met carl in paris", [[0, 0, "person"], [2, 2, "person"], [4, 4, "city"]]),
    ("rome saw new kings", [[0, 0, "city"], [2, 3, "title"]]),
    ("carl went from rome to paris", [[0, 0, "person"], [3, 3, "city"], [5, 5, "city"]]),
    ("new kings met anna", [[0, 1, "title"], [3, 3, "person"]]),
]
LABELS = ["person", "city", "title"]


def tokenizer():
    marks = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "<<ENT>>", "<<SEP>>"]
    words = sorted({word for text, _ in TEXTS for word in text.split()} | set(LABELS))
    table = {word: i for i, word in enumerate([*marks, *words])}
    plain = Tokenizer(models.WordLevel(table, unk_token="[UNK]"))
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
        unk_token="[UNK]", additional_special_tokens=["<<ENT>>", "<<SEP>>"],
    )  # fmt: skip


def network(folder, mode):
    """A model over a small BERT; `mode`: how spans become vectors, or tokens instead of spans."""
    torch.manual_seed(0)
    encoder = BertConfig(
        vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    ).to_dict()  # fmt: skip
    config = GLiNERConfig(
        model_name=folder, encoder_config=encoder, hidden_size=16, dropout=0.0, max_width=4,
        span_mode=mode, max_len=32, vocab_size=40, class_token_index=4,
    )  # fmt: skip
    return GLiNER.from_config(config, backbone_from_pretrained=False)


def trained(model):
    """The losses of a few steps, and the gradients of the last."""
    collator = model.data_collator_class(
        model.config, data_processor=model.data_processor, prepare_labels=True
    )
    rows = [{"tokenized_text": text.split(), "ner": names} for text, names in TEXTS]
    batch = collator(rows, entity_types=[LABELS] * len(rows))
    optimizer, losses = torch.optim.AdamW(model.parameters(), 1e-2), []
    model.train()
    for _ in range(20):
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    model.eval()
    return [losses, [p.grad.norm() for p in model.parameters() if p.grad is not None]]


def said(model):
    texts = [text for text, _ in TEXTS]
    return [
        [[span["text"], span["label"], span["score"]] for span in spans]
        for spans in model.inference(texts, LABELS, threshold=0.3)
    ]


def main():
    found = {}
    for mode in ("markerV0", "token_level"):
        with tempfile.TemporaryDirectory() as folder:
            tokenizer().save_pretrained(folder)
            model = network(folder, mode)
            found[mode] = trained(model)
            found[f"{mode} names"] = said(model)
            model.save_pretrained(str(Path(folder, "kept")))
            again = GLiNER.from_pretrained(str(Path(folder, "kept")), local_files_only=True)
            found[f"{mode} kept"] = said(again.eval())
    report(**found)


main()
