"""keybert: key words of texts by the vectors of a small network, with its two ways to vary them."""

import tempfile

import torch
from common import report
from keybert import KeyBERT
from sentence_encoders import encoder

TEXTS = [
    "supervised learning maps an input to an output by examples of pairs of both",
    "a convolution slides a small window of weights over a picture of many pixels",
]


def main():
    with tempfile.TemporaryDirectory() as folder:
        finder = KeyBERT(model=encoder(folder, TEXTS, num_hidden_layers=2))
        vectors = finder.extract_embeddings(TEXTS)
        found = {"vectors": [torch.from_numpy(x) for x in vectors]}
        found["words"] = finder.extract_keywords(TEXTS, top_n=4)
        found["pairs"] = finder.extract_keywords(TEXTS[0], keyphrase_ngram_range=(1, 2), top_n=3)
        found["varied"] = finder.extract_keywords(TEXTS[0], use_mmr=True, diversity=0.5)
        found["sums"] = finder.extract_keywords(TEXTS[1], use_maxsum=True, nr_candidates=6, top_n=3)
        found["guided"] = finder.extract_keywords(TEXTS[1], seed_keywords=["weights"])
    report(**found)


main()
