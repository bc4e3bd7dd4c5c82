"""sentence-transformers: sentences as vectors by a small BERT, and a loss of its own."""

import tempfile
from pathlib import Path

import torch
from common import report
from sentence_transformers import SentenceTransformer, losses, models, util
from transformers import BertConfig, BertModel, BertTokenizerFast

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] a cat dog sat on the mat ran home red blue".split()


def main():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "vocab.txt").write_text("\n".join(WORDS))
        config = BertConfig(vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=1,
                            num_attention_heads=2, intermediate_size=16)  # fmt: skip
        BertModel(config).save_pretrained(folder)
        BertTokenizerFast(vocab_file=str(Path(folder, "vocab.txt"))).save_pretrained(folder)
        transformer = models.Transformer(folder)
        pooling = models.Pooling(transformer.get_word_embedding_dimension())
        model = SentenceTransformer(modules=[transformer, pooling], device="cpu")
        sentences = ["the cat sat on the mat", "a red dog ran home", "the dog sat"]
        vectors = model.encode(sentences, convert_to_tensor=True)
        likeness = util.cos_sim(vectors, vectors)
        loss = losses.MultipleNegativesRankingLoss(model)
        pairs = [model.tokenize(sentences[:2]), model.tokenize(sentences[1:])]
        model.eval()
        value = loss(pairs, None)
        value.backward()
        model.save(str(Path(folder, "saved")))
        again = SentenceTransformer(str(Path(folder, "saved")), device="cpu")
        same = (again.encode(sentences, convert_to_tensor=True) - vectors).abs().max()
    report(vectors=vectors, likeness=likeness, loss=value, reloaded=same)


main()
