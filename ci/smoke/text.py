"""The wheel of rushlight-text, installed alone: a version, words to numbers, a gradient,
the packaged model."""

import sys

import rushlight as rl
import rushlight_text
from rushlight_text.data import collate_bags, get_tokenizer
from rushlight_text.models import EmbeddingBagClassifier
from rushlight_text.pipelines import pipeline
from rushlight_text.vocab import build_vocab_from_iterator

expected = sys.argv[1]
if rushlight_text.__version__ != expected:
    raise SystemExit(f"version {rushlight_text.__version__}, expected {expected}")
lines = [("a warm, funny film", 1), ("dull and far too long", 0)]
tokenizer = get_tokenizer("basic_english")
vocab = build_vocab_from_iterator((tokenizer(text) for text, _ in lines), specials=["<unk>"])
vocab.set_default_index(vocab["<unk>"])
ids, offsets, labels = collate_bags([(vocab(tokenizer(text)), label) for text, label in lines])
rl.manual_seed(0)
model = EmbeddingBagClassifier(len(vocab), embed_dim=8, num_class=2)
loss = rl.nn.functional.cross_entropy(model(ids, offsets), labels)
loss.backward()
if not all(parameter.grad is not None for parameter in model.parameters()):
    raise SystemExit("a parameter of the classifier got no gradient")
if pipeline("sentiment")("A warm, wonderful film.")["label"] != "positive":
    raise SystemExit("the packaged model of sentiment is wrong")
