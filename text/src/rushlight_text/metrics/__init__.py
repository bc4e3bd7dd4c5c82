"""Metrics of text: translations, summaries, error rates, answers, entities, rankings, likelihood.

One file for each subject; they import nothing but core, and that for perplexity alone.
"""

from rushlight_text.metrics.answers import normalize_answer, squad, squad_exact, squad_f1
from rushlight_text.metrics.entities import Counts, entities, entity_scores
from rushlight_text.metrics.errors import cer, edit_distance, wer
from rushlight_text.metrics.likelihood import perplexity
from rushlight_text.metrics.retrieval import average_precision, ndcg, recall_at, reciprocal_rank
from rushlight_text.metrics.summaries import Rouge, rouge
from rushlight_text.metrics.translation import Bleu, chrf, corpus_bleu, sentence_bleu

__all__ = [
    "Bleu",
    "Counts",
    "Rouge",
    "average_precision",
    "cer",
    "chrf",
    "corpus_bleu",
    "edit_distance",
    "entities",
    "entity_scores",
    "ndcg",
    "normalize_answer",
    "perplexity",
    "recall_at",
    "reciprocal_rank",
    "rouge",
    "sentence_bleu",
    "squad",
    "squad_exact",
    "squad_f1",
    "wer",
]
