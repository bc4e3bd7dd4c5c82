"""Text: tokens, a tagger, a language model.

    rushlight examples run learn_text

A network reads numbers, so text is cut into tokens and each token gets a number. Much of what works
or fails is decided there. Here you cut, number and pad; find out what a bag of words cannot know;
tag the words of a request for a journey, with cities that training never saw; and train a small
language model that writes such requests, freely or in a form that you prescribe. Read [modules and
training](learn_modules.md) first. It takes half a minute, and leaves runs/learn_text/tags.png and
temperature.png.
"""

# %% Answers without training
# A few small models are in the package and answer at once. A pipeline takes strings and gives plain
# Python. Note the probabilities: a network is sure of itself far from anything that it was trained
# on, too.
import random
import re
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt

import rushlight as rl
from rushlight import nn
from rushlight_text.data import collate_bags
from rushlight_text.generation import generate_text
from rushlight_text.metrics import entity_scores
from rushlight_text.models import BiLSTMTagger, EmbeddingBagClassifier
from rushlight_text.models.pretrained import build_model
from rushlight_text.pipelines import pipeline
from rushlight_text.tokenizers import get_tokenizer, train
from rushlight_text.vocab import build_vocab_from_iterator

out = Path("runs/learn_text")
out.mkdir(parents=True, exist_ok=True)
language = pipeline("languages")
for text in ("Wo ist der Bahnhof?", "Dove si trova la stazione?", "zzz zzz"):
    print(text, "->", language(text)["label"], f"{language(text)['score']:.2f}")
print("autograd is spoken", *pipeline("pronunciation")("autograd")[0])

# %% The task: requests for journeys
# Somebody asks for a ticket, in one of many wordings. Wanted are the cities and what each of them
# is: start, goal, or on the way. Tags say it word by word in the usual way: `B-` begins something,
# `I-` continues it, `O` is nothing. The script makes requests up; one third of the cities is kept
# for the test, so that it shows what is understood and what is only remembered.
CITIES = (
    """oslo rome bern paris madrid lisbon vienna prague warsaw athens dublin london cairo lima
quito delhi tokyo kyoto seoul hanoi perth sydney boston chicago denver austin dallas miami toronto
accra dakar lagos nairobi tunis riga tallinn turin milan naples genoa lyon lille cologne hamburg
dresden leipzig basel geneva""".split()
    + [
        "new york",
        "buenos aires",
        "mexico city",
        "las palmas",
        "addis ababa",
        "dar es salaam",
        "porto alegre",
        "hong kong",
        "san jose",
        "rio de janeiro",
        "tel aviv",
        "cape town",
    ]
)
PARTS = {
    "from": ["from", "starting in"], "to": ["to", "that ends in"], "via": ["via", "by way of"],
}  # fmt: skip
LEADS = [lead for leads in PARTS.values() for lead in leads]
OPENINGS = [
    "i need a ticket",
    "book me a train",
    "please get us two seats",
    "can i travel",
    "a trip",
]
ENDINGS = ["", "on friday", "next week", "as early as you can", "for under eighty francs", "please"]
picks = random.Random(0)
picks.shuffle(CITIES)
known, unseen = CITIES[18:], CITIES[:18]


def request(cities: list[str]) -> tuple[list[str], list[str]]:
    """The words of a request, and their tags."""
    words = picks.choice(OPENINGS).split()
    tags = ["O"] * len(words)
    parts = picks.sample(list(PARTS), picks.choice([2, 2, 3]))
    for part, city in zip(parts, picks.sample(cities, len(parts)), strict=True):
        lead = picks.choice(PARTS[part]).split()
        name = city.split()
        words += [*lead, *name]
        tags += ["O"] * len(lead) + [f"{'I' if i else 'B'}-{part}" for i in range(len(name))]
    ending = picks.choice(ENDINGS).split()
    return words + ending, tags + ["O"] * len(ending)


seen = [request(known) for _ in range(1500)]
asked = {
    "known": [request(known) for _ in range(300)],
    "unseen": [request(unseen) for _ in range(300)],
}
for words, tags in (seen[0], asked["unseen"][0]):
    print(
        " ".join(
            f"{word}/{tag}" if tag != "O" else word for word, tag in zip(words, tags, strict=True)
        )
    )

# %% Tokens and numbers
# A vocabulary maps tokens to numbers. It is made from the training text alone; what is not in it
# becomes `<unk>`. One number for all unknown words is little, but it is honest: the other way is to
# cut words into pieces that are known, down to letters or bytes. Large models do that; it makes
# every text readable, and sequences longer.
vocab = build_vocab_from_iterator((words for words, _ in seen), specials=["<pad>", "<unk>"])
vocab.set_default_index(vocab["<unk>"])
print(get_tokenizer("basic_english")("A trip: from OSLO to Zagreb!"))
print(len(vocab), "tokens;", vocab("a trip from athens to zagreb".split()))
pieces = train((" ".join(words) for words, _ in seen), kind="unigram", vocab_size=200)
print(len(pieces), "pieces;", pieces.tokenize("a trip from athens to zagreb"))

# %% Padding, and why the network must know of it
# Sequences of a batch are padded to the same length. A network that takes the mean over all
# positions, or reads from right to left, sees the padding: the same sentence then gets another
# answer in other company. Layers for sequences take a mask or the lengths, against this.
rl.manual_seed(0)
reader = nn.LSTM(8, 8, batch_first=True, bidirectional=True)
vectors = rl.randn(1, 5, 8)
alone = reader(vectors)[0]
padded = nn.functional.pad(vectors, (0, 0, 0, 3))
careless = reader(padded)[0]
packed = nn.utils.rnn.pack_padded_sequence(padded, rl.tensor([5]), batch_first=True)
careful = nn.utils.rnn.pad_packed_sequence(reader(packed)[0], batch_first=True)[0]
for name, found in (("padded", careless[:, :5]), ("packed", careful)):
    print(name, "as alone:", rl.allclose(found, alone, atol=1e-6))

# %% What a bag of words cannot know
# The simplest classifier adds up a vector for each word and is often hard to beat. But a sum does
# not know the order. Asked which of two cities is the goal, it sees the same bag for "from oslo to
# rome" and "from rome to oslo". Here it is to say whether the goal comes later in the alphabet, of
# pairs held out. It is right less often than a coin, since it has seen most of them the other way
# round. Try the simple thing first, and know what it cannot do.
bags = [(vocab(f"from {a} to {b}".split()), int(a < b)) for a in known for b in known if a != b]
picks.shuffle(bags)
bag = EmbeddingBagClassifier(len(vocab), embed_dim=32, num_class=2)
optimizer = rl.optim.AdamW(bag.parameters(), lr=0.01)
for _ in range(10):
    for i in range(0, len(bags) - 200, 50):
        ids, starts, labels = collate_bags(bags[i : i + 50])
        loss = nn.functional.cross_entropy(bag(ids, starts), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
ids, starts, labels = collate_bags(bags[-200:])
right = (bag.eval()(ids, starts).argmax(1) == labels).float().mean()
print(f"a bag of words is right in {right:.0%} of cases")  # figures vary

# %% A tagger that reads in order
# An LSTM reads forwards and backwards, so that each word's vector knows what is before and behind
# it. A chain of tags (CRF) on top knows that `I-to` cannot follow `B-from`. It is trained twice:
# once as it comes, and once with three of ten words of cities replaced by `<unk>`. The first has
# never met `<unk>` and learns cities by heart, so that two unknown words in a row are beyond it.
# The second has had to learn from the words around.
TAGS = ["O", *(f"{mark}-{part}" for part in PARTS for mark in "BI")]


def batch(samples: list, blank: float = 0.0) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor]:
    """Ids `[N, T]`, lengths `[N]` and tags `[N, T]` of requests."""
    ids, _ = padded_with([vocab(words) for words, _ in samples])
    tags, lengths = padded_with([[TAGS.index(tag) for tag in tags] for _, tags in samples])
    hidden = (rl.rand(ids.shape) < blank) & (tags != TAGS.index("O"))
    return ids.masked_fill(hidden, vocab["<unk>"]), lengths, tags


def padded_with(rows: list[list[int]]) -> tuple[rl.Tensor, rl.Tensor]:
    """Rows of numbers as `[N, T]` with zeros behind, and their lengths."""
    found = nn.utils.rnn.pad_sequence([rl.tensor(row) for row in rows], batch_first=True)
    return found, rl.tensor([len(row) for row in rows])


def fit(blank: float) -> BiLSTMTagger:
    """A tagger, trained with some words of cities blanked out."""
    rl.manual_seed(1)
    tagger = BiLSTMTagger(len(vocab), 32, len(TAGS), hidden_size=32)
    optimizer = rl.optim.AdamW(tagger.parameters(), lr=0.01)
    for _ in range(4):
        for rows in rl.randperm(len(seen)).split(30):
            loss = tagger(*batch([seen[i] for i in rows.tolist()], blank))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return tagger.eval()


for blank in (0.0, 0.3):
    tagger = fit(blank)
    for name, samples in asked.items():
        ids, lengths = batch(samples)[:2]
        with rl.no_grad():
            said = [[TAGS[i] for i in row] for row in tagger.decode(ids, lengths)]
        f1 = entity_scores(said, [tags for _, tags in samples])["micro"].f1
        print(f"{blank:.0%} blanked, {name:6} cities: F1 {f1:.3f}")

# %%
# What does it think of a sentence that nobody wrote? The cities are found, from the words around
# them alone. But look at `go` and `tomorrow`: all that was unknown in training was a city, and so
# all that is unknown is one now. A network learns what the data say, and these say more than was
# meant. Blank out other words as well, and have requests written by people.
words = "hello i want to go from zagreb by way of graz to old sarajevo tomorrow".split()
with rl.no_grad():
    ids = rl.tensor([vocab(words)])
    scores = tagger.fc(tagger.read(ids, rl.tensor([len(words)])))[0].softmax(-1)
certain = [
    (word, TAGS[row.argmax()]) for word, row in zip(words, scores, strict=True) if row.max() > 0.95
]
print([(word, tag) for word, tag in certain if tag != "O"])
figure, axis = plt.subplots(figsize=(8, 3.2), layout="constrained")
axis.imshow(scores.T.numpy(), cmap="Purples", vmin=0, vmax=1, aspect="auto")
axis.set_xticks(range(len(words)), words, rotation=45, ha="right")
axis.set_yticks(range(len(TAGS)), TAGS)
figure.savefig(out / "tags.png", dpi=100)

# %% A language model
# A model that predicts the next token from those before has seen how requests are written, and can
# write some. Its tokens are pieces of words (byte-level BPE), and its architecture is GPT-2's, only
# small. The targets are the inputs, one to the left: the loss at a position asks for the next
# token. Padding is not asked for (`ignore_index`).
lines = [" ".join(words) for words, _ in seen]
cutter = train(lines, kind="byte_bpe", vocab_size=400)
rows = [[cutter.eos_token_id, *cutter.encode(line), cutter.eos_token_id] for line in lines]
print(lines[1], "->", [cutter.decode([i]) for i in rows[1][1:-1]])
rl.manual_seed(3)
gpt = build_model("gpt2", "causal-lm", vocab_size=len(cutter), n_embd=64, n_layer=2, n_head=4)
optimizer = rl.optim.AdamW(gpt.parameters(), lr=3e-3, weight_decay=0.01)
losses = []
gpt.train()
for _ in range(6):
    for chosen in rl.randperm(len(rows)).split(30):
        ids = nn.utils.rnn.pad_sequence(
            [rl.tensor(rows[i]) for i in chosen.tolist()], batch_first=True, padding_value=-100
        )
        scores = gpt(ids.clamp(min=0)).logits
        loss = nn.functional.cross_entropy(scores[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(gpt.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
gpt.eval()
chance = rl.tensor(float(len(cutter))).log()
print(f"loss at first {losses[0]:.2f} (equal chances: {chance:.2f}), at last {losses[-1]:.2f}")

# %% Writing: temperature and form
# Sampling takes the next token at random by its probability. A temperature divides the scores
# before: below 1 the likely becomes likelier and texts become alike, above 1 they become various
# and false. Variety is the share of pairs of words that are different. What is well formed, an
# expression can say here: a known opening, two or three parts with known cities, a known ending.
PATTERN = "({})( ({}) ({})){{2,3}}( ({}))?".format(
    *("|".join(each) for each in (OPENINGS, LEADS, known, filter(None, ENDINGS)))
)
measured = []
for temperature in (0.5, 0.8, 1.2, 1.8):  # text varies
    texts = generate_text(
        gpt, cutter, ["<|endoftext|>"] * 100, do_sample=True, temperature=temperature,
        max_new_tokens=40, generator=rl.Generator().manual_seed(4),
    )  # fmt: skip
    formed = sum(bool(re.fullmatch(PATTERN, text)) for text in texts) / len(texts)
    pairs = [pair for text in texts for pair in pairwise(text.split())]
    variety = len(set(pairs)) / len(pairs)
    measured.append((temperature, formed, variety))
    print(
        f"temperature {temperature}: {formed:.0%} well formed, variety {variety:.2f};",
        texts[0][:50],
    )

# %%
ticks, *curves = zip(*measured, strict=True)
figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")  # figures vary
for name, curve in zip(("well formed", "variety"), curves, strict=True):
    axis.plot(ticks, curve, "o-", label=name)
axis.set(xlabel="temperature", ylabel="share of 100 texts", ylim=(0, 1.05))
axis.legend()
figure.savefig(out / "temperature.png", dpi=100)

# %%
# A program that reads the answers cannot live with "mostly well formed". So prescribe the form:
# tokens that would leave the language of a regular expression, or of a JSON schema, get no
# probability. Even a temperature of 1.8 keeps to it then. The form is certain; whether the content
# is true is another question.
texts = generate_text(
    gpt, cutter, ["<|endoftext|>"] * 20, do_sample=True, temperature=1.8, pattern=PATTERN,
    max_new_tokens=60, generator=rl.Generator().manual_seed(5),
)  # fmt: skip
print("well formed:", sum(bool(re.fullmatch(PATTERN, text)) for text in texts), "of", len(texts))

# %% What next
# [Text: tokenizers and models](text_models.md) loads BERT, Llama, T5 and others from folders of
# Hugging Face and lists the options of generation; [programs of torchtext](text_torchtext.md) run
# as they are. The [gallery](gallery.md) has translation, question answering, a language model of
# Python, and languages to be told apart. [Data](learn_data.md) has more on padding and batches of
# similar length.
