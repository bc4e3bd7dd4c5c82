"""Small encoders of sentences, which several tasks train or ask."""

from __future__ import annotations

from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer, models
from transformers import BertConfig, BertModel, BertTokenizer


def encoder(folder, texts, **shape):
    """Sentences as vectors of 16 numbers by a small BERT of the words of some texts, whose files
    stand in a folder; `shape`: options of its configuration."""
    words = sorted({word for text in texts for word in text.split()})
    Path(folder, "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words])
    )
    torch.manual_seed(0)
    BertTokenizer(str(Path(folder, "vocab.txt"))).save_pretrained(folder)
    config = BertConfig(vocab_size=len(words) + 5, hidden_size=16, num_attention_heads=2,
                        intermediate_size=32, **shape)  # fmt: skip
    BertModel(config).save_pretrained(folder)
    parts = models.Transformer(folder), models.Pooling(16)
    return SentenceTransformer(modules=list(parts), device="cpu")
