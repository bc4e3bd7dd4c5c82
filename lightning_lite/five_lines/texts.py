"""Texts: does a sentence of a review praise the film?

    python texts.py vaderSentiment-3.3.2.tar.gz        (and `pip install pandas`)

10,605 sentences with scores of people, in the source distribution of vaderSentiment (MIT licence):
`pip download --no-deps --no-binary :all: vaderSentiment==3.3.2`. A tenth, drawn, is held out; no
network was trained before on other texts. The baseline answers the more frequent class always.
"""

from __future__ import annotations

import sys

import pandas

import rushlight as rl
from lightning_lite.easy import AWD_LSTM, TextDataLoaders, accuracy, text_classifier_learner
from rushlight_text.datasets import MovieReviewSentences

rl.manual_seed(0)
items = list(MovieReviewSentences(sys.argv[1], "all"))
small = {"emb_sz": 64, "n_hid": 64, "n_layers": 1, "bidir": True}

table = pandas.DataFrame(items, columns=["text", "label"])
dls = TextDataLoaders.from_df(table, valid_pct=0.1, seed=0)
learn = text_classifier_learner(dls, AWD_LSTM, config=small, metrics=accuracy)
learn.fit_one_cycle(3, 0.01)
found = learn.validate()[1]

share = max(table["label"].mean(), 1 - table["label"].mean())
print(f"accuracy {found:.1%} of {len(dls.valid.dataset):,} sentences, the same answer {share:.1%}")
assert found >= 0.76
