"""keybert: key words of texts by the vectors of a small network, with its two ways to vary them."""

import tempfile
from pathlib import Path

import torch
from common import report
from keybert import KeyBERT
from sentence_transformers import SentenceTransformer, models
from transformers import BertConfig, BertModel, BertTokenizer

TEXTS = [
    "supervised learning maps an input to an output by examples of pairs of both",
    "a convolution slides a small window of weights over a picture of many pixels",
]


def encoder(folder):
    """Sentences as vectors by a small BERT of words."""
    words = sorted({word for text in TEXTS for word in text.split()})
    Path(folder, "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words])
    )
    torch.manual_seed(0)
    BertTokenizer(str(Path(folder, "vocab.txt"))).save_pretrained(folder)
    shape = BertConfig(vocab_size=len(words) + 5, hidden_size=16, num_hidden_layers=2,
                       num_attention_heads=2, intermediate_size=32)  # fmt: skip
    BertModel(shape).save_pretrained(folder)
    parts = models.Transformer(folder), models.Pooling(16)
    return SentenceTransformer(modules=list(parts), device="cpu")


def main():
    with tempfile.TemporaryDirectory() as folder:
        finder = KeyBERT(model=encoder(folder))
        vectors = finder.extract_embeddings(TEXTS)
        found = {"vectors": [torch.from_numpy(x) for x in vectors]}
        found["words"] = finder.extract_keywords(TEXTS, top_n=4)
        found["pairs"] = finder.extract_keywords(TEXTS[0], keyphrase_ngram_range=(1, 2), top_n=3)
        found["varied"] = finder.extract_keywords(TEXTS[0], use_mmr=True, diversity=0.5)
        found["sums"] = finder.extract_keywords(TEXTS[1], use_maxsum=True, nr_candidates=6, top_n=3)
        found["guided"] = finder.extract_keywords(TEXTS[1], seed_keywords=["weights"])
    report(**found)


main()
