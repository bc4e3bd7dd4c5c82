"""Data sets of text: torchtext's 31, each in a module with its addresses, and movie reviews.

`_published.py`: what a data set is; `_files.py`: archives and rows. A data set is fetched when it
is gone through; files that are in ``root/datasets/NAME``, or in a folder of RUSHLIGHT_MIRRORS, are
taken. The five that had fields before 0.9 answer old programs with `splits` and `iters`.
"""

from rushlight_text.datasets.ag_news import AG_NEWS
from rushlight_text.datasets.amazonreviewfull import AmazonReviewFull
from rushlight_text.datasets.amazonreviewpolarity import AmazonReviewPolarity
from rushlight_text.datasets.cc100 import CC100
from rushlight_text.datasets.cnndm import CNNDM
from rushlight_text.datasets.cola import CoLA
from rushlight_text.datasets.conll2000chunking import CoNLL2000Chunking
from rushlight_text.datasets.corpora import (
    AlignedBibles,
    CMUDict,
    DjangoTranslations,
    ReutersR8,
    Shakespeare,
)
from rushlight_text.datasets.dbpedia import DBpedia
from rushlight_text.datasets.enwik9 import EnWik9
from rushlight_text.datasets.imdb import IMDB
from rushlight_text.datasets.iwslt2016 import IWSLT2016
from rushlight_text.datasets.iwslt2017 import IWSLT2017
from rushlight_text.datasets.mnli import MNLI
from rushlight_text.datasets.movie_reviews import MovieReviewSentences
from rushlight_text.datasets.mrpc import MRPC
from rushlight_text.datasets.multi30k import Multi30k
from rushlight_text.datasets.penntreebank import PennTreebank
from rushlight_text.datasets.qnli import QNLI
from rushlight_text.datasets.qqp import QQP
from rushlight_text.datasets.rte import RTE
from rushlight_text.datasets.sogounews import SogouNews
from rushlight_text.datasets.spam import SpamAssassin
from rushlight_text.datasets.squad1 import SQuAD1
from rushlight_text.datasets.squad2 import SQuAD2
from rushlight_text.datasets.sst2 import SST2
from rushlight_text.datasets.stsb import STSB
from rushlight_text.datasets.udpos import UDPOS
from rushlight_text.datasets.wikitext2 import WikiText2
from rushlight_text.datasets.wikitext103 import WikiText103
from rushlight_text.datasets.wnli import WNLI
from rushlight_text.datasets.yahooanswers import YahooAnswers
from rushlight_text.datasets.yelpreviewfull import YelpReviewFull
from rushlight_text.datasets.yelpreviewpolarity import YelpReviewPolarity
from rushlight_text.legacy import datasets as _legacy

DATASETS = {
    "AG_NEWS": AG_NEWS,
    "AmazonReviewFull": AmazonReviewFull,
    "AmazonReviewPolarity": AmazonReviewPolarity,
    "CC100": CC100,
    "CNNDM": CNNDM,
    "CoLA": CoLA,
    "CoNLL2000Chunking": CoNLL2000Chunking,
    "DBpedia": DBpedia,
    "EnWik9": EnWik9,
    "IMDB": IMDB,
    "IWSLT2016": IWSLT2016,
    "IWSLT2017": IWSLT2017,
    "MNLI": MNLI,
    "MRPC": MRPC,
    "Multi30k": Multi30k,
    "PennTreebank": PennTreebank,
    "QNLI": QNLI,
    "QQP": QQP,
    "RTE": RTE,
    "SogouNews": SogouNews,
    "SQuAD1": SQuAD1,
    "SQuAD2": SQuAD2,
    "SST2": SST2,
    "STSB": STSB,
    "UDPOS": UDPOS,
    "WikiText2": WikiText2,
    "WikiText103": WikiText103,
    "WNLI": WNLI,
    "YahooAnswers": YahooAnswers,
    "YelpReviewFull": YelpReviewFull,
    "YelpReviewPolarity": YelpReviewPolarity,
}

for _name, _made in DATASETS.items():
    if hasattr(getattr(_legacy, _name, None), "splits"):
        _class = getattr(_legacy, _name)
        for _part in ("splits", "iters"):
            setattr(_made, _part, getattr(_class, _part, None))

# Classes of the API up to 0.8 that have no successor.
_FORMER = (
    "BABI20 IWSLT LanguageModelingDataset MultiNLI SequenceTaggingDataset SNLI SST "
    "TranslationDataset TREC WMT14 XNLI text_classification"
).split()


def __getattr__(name: str):
    """The data sets of the legacy API under their older path."""
    if name in _FORMER:
        return getattr(_legacy, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "DATASETS",
    "AlignedBibles",
    "CMUDict",
    "DjangoTranslations",
    "MovieReviewSentences",
    "ReutersR8",
    "Shakespeare",
    "SpamAssassin",
    *DATASETS,
]
