"""Words: tokens and a vocabulary."""
# ruff: noqa: F821, D101, D103 - reveal_type is mypy's

import rushlight as torch
from rushlight_text.transforms import Sequential, ToTensor, VocabTransform
from rushlight_text.vocab import build_vocab_from_iterator

lines = ["a cat", "a dog"]
vocabulary = build_vocab_from_iterator((line.split() for line in lines), specials=["<unk>"])
vocabulary.set_default_index(vocabulary["<unk>"])
reveal_type(vocabulary)  # note: "Vocab"
reveal_type(vocabulary(["a", "cat"]))  # note: "Any"
reveal_type(len(vocabulary))  # note: "int"
transform = Sequential(VocabTransform(vocabulary), ToTensor(padding_value=0))
embedding = torch.nn.Embedding(len(vocabulary), 4)
reveal_type(embedding(torch.tensor(vocabulary(["a"]))))  # note: "Tensor"
