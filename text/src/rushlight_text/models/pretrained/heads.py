"""Encoders with heads: labels of texts and of tokens, spans of answers, masked tokens."""

from __future__ import annotations

from typing import Any

import rushlight as rl
import rushlight.nn.functional as F
from rushlight import nn
from rushlight_text.models.pretrained._parts import (
    Config,
    ModelOutput,
    activation,
    initialize,
    masked_loss,
)
from rushlight_text.models.pretrained.bert import BertModel, ElectraModel, RobertaModel
from rushlight_text.models.pretrained.distilbert import DistilBertModel

__all__ = [
    "EncoderForMaskedLM",
    "EncoderForQuestionAnswering",
    "EncoderForSequenceClassification",
    "EncoderForTokenClassification",
    "base_class",
]

_BASES: dict[str, Any] = {
    "bert": BertModel,
    "roberta": RobertaModel,
    "xlm-roberta": RobertaModel,
    "camembert": RobertaModel,
    "electra": ElectraModel,
    "distilbert": DistilBertModel,
}


def base_class(config: Config) -> Any:
    """The encoder of a configuration's ``model_type``."""
    if config.model_type not in _BASES:
        raise NotImplementedError(
            f"no encoder is called {config.model_type!r}; known are {sorted(_BASES)}"
        )
    return _BASES[config.model_type]


def _size(config: Config) -> int:
    return config.get("dim") or config.hidden_size


def _dropout(config: Config, distil: str = "seq_classif_dropout") -> nn.Dropout:
    share = config.get("classifier_dropout")
    if share is None:
        share = config.get(distil)
    return nn.Dropout(config.get("hidden_dropout_prob", 0.1) if share is None else share)


class _Headed(nn.Module):
    """An encoder under its published name, and what stands on it."""

    pooled = False

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        base = base_class(config)
        self.base_model_prefix = base.base_model_prefix
        pooled = self.pooled and config.model_type == "bert"
        setattr(self, base.base_model_prefix, base(config, add_pooling_layer=pooled))

    @property
    def base(self) -> nn.Module:
        """The encoder."""
        return getattr(self, self.base_model_prefix)

    def _encode(self, input_ids, attention_mask, token_type_ids) -> ModelOutput:
        return self.base(input_ids, attention_mask, token_type_ids)


class _DenseHead(nn.Module):
    """Two layers on the first token."""

    def __init__(self, config: Config, function: str):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = _dropout(config)
        self.out_proj = nn.Linear(config.hidden_size, config.num_labels)
        self.function = activation(function)

    def forward(self, states: rl.Tensor) -> rl.Tensor:
        """``[B, labels]`` of ``[B, T, E]``."""
        x = self.function(self.dense(self.dropout(states[:, 0])))
        return self.out_proj(self.dropout(x))


class EncoderForSequenceClassification(_Headed):
    """A label for each text: ``logits`` ``[B, labels]``, and ``loss`` with labels.

    One label is a number to be predicted (mean squared error).
    """

    pooled = True

    def __init__(self, config: Config):
        super().__init__(config)
        kind, size = config.model_type, _size(config)
        if kind in ("bert", "distilbert"):
            if kind == "distilbert":
                self.pre_classifier = nn.Linear(size, size)
            self.classifier: nn.Module = nn.Linear(size, config.num_labels)
            self.dropout = _dropout(config)
        else:
            self.classifier = _DenseHead(config, "gelu" if kind == "electra" else "tanh")
        initialize(self, config.initializer_range)

    def forward(
        self,
        input_ids: rl.Tensor,
        attention_mask: rl.Tensor | None = None,
        token_type_ids: rl.Tensor | None = None,
        labels: rl.Tensor | None = None,
    ) -> ModelOutput:
        """Ids ``[B, T]``, masks of the same shape, labels ``[B]``."""
        found = self._encode(input_ids, attention_mask, token_type_ids)
        if self.config.model_type == "bert":
            logits = self.classifier(self.dropout(found.pooler_output))
        elif self.config.model_type == "distilbert":
            first = F.relu(self.pre_classifier(found.last_hidden_state[:, 0]))
            logits = self.classifier(self.dropout(first))
        else:
            logits = self.classifier(found.last_hidden_state)
        return ModelOutput(logits=logits, loss=self._loss(logits, labels))

    def _loss(self, logits: rl.Tensor, labels: rl.Tensor | None) -> rl.Tensor | None:
        if labels is None or self.config.num_labels > 1:
            return masked_loss(logits, labels)
        return F.mse_loss(logits.squeeze(-1), labels.to(logits.dtype))


class EncoderForTokenClassification(_Headed):
    """A label for each token: ``logits`` ``[B, T, labels]``, and ``loss`` with labels, of which
    -100 do not count."""

    def __init__(self, config: Config):
        super().__init__(config)
        self.dropout = _dropout(config, "dropout")
        self.classifier = nn.Linear(_size(config), config.num_labels)
        initialize(self, config.initializer_range)

    def forward(
        self,
        input_ids: rl.Tensor,
        attention_mask: rl.Tensor | None = None,
        token_type_ids: rl.Tensor | None = None,
        labels: rl.Tensor | None = None,
    ) -> ModelOutput:
        """Ids, masks and labels ``[B, T]``."""
        found = self._encode(input_ids, attention_mask, token_type_ids)
        logits = self.classifier(self.dropout(found.last_hidden_state))
        return ModelOutput(logits=logits, loss=masked_loss(logits, labels))


class EncoderForQuestionAnswering(_Headed):
    """Where the answer begins and ends: ``start_logits`` and ``end_logits`` ``[B, T]``."""

    def __init__(self, config: Config):
        super().__init__(config)
        self.qa_outputs = nn.Linear(_size(config), 2)
        initialize(self, config.initializer_range)

    def forward(
        self,
        input_ids: rl.Tensor,
        attention_mask: rl.Tensor | None = None,
        token_type_ids: rl.Tensor | None = None,
        start_positions: rl.Tensor | None = None,
        end_positions: rl.Tensor | None = None,
    ) -> ModelOutput:
        """Ids and masks ``[B, T]``, positions ``[B]``; ``loss`` is the mean of both ends'."""
        found = self._encode(input_ids, attention_mask, token_type_ids)
        start, end = self.qa_outputs(found.last_hidden_state).unbind(-1)
        loss = None
        if start_positions is not None and end_positions is not None:
            loss = (
                F.cross_entropy(start, start_positions) + F.cross_entropy(end, end_positions)
            ) / 2
        return ModelOutput(start_logits=start, end_logits=end, loss=loss)


class _Transform(nn.Module):
    """BERT's layer before the table of tokens."""

    def __init__(self, config: Config):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.function = activation(config.hidden_act)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, T, E]`` of the same."""
        return self.LayerNorm(self.function(self.dense(x)))


class _BertPredictions(nn.Module):
    def __init__(self, config: Config, table: nn.Embedding):
        super().__init__()
        self.transform = _Transform(config)
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size)
        self.bias = self.decoder.bias
        self.decoder.weight = table.weight

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        return self.decoder(self.transform(x))


class _BertHead(nn.Module):
    def __init__(self, config: Config, table: nn.Embedding):
        super().__init__()
        self.predictions = _BertPredictions(config, table)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        return self.predictions(x)


class _RobertaHead(nn.Module):
    def __init__(self, config: Config, table: nn.Embedding):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.layer_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size)
        self.bias = self.decoder.bias
        self.decoder.weight = table.weight

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        return self.decoder(self.layer_norm(F.gelu(self.dense(x))))


class _ElectraPredictions(nn.Module):
    def __init__(self, config: Config, size: int):
        super().__init__()
        self.LayerNorm = nn.LayerNorm(size, eps=config.layer_norm_eps)
        self.dense = nn.Linear(config.hidden_size, size)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        return self.LayerNorm(F.gelu(self.dense(x)))


class EncoderForMaskedLM(_Headed):
    """The tokens at masks: ``logits`` ``[B, T, V]``, and ``loss`` with labels, of which -100 do not
    count. The table of tokens serves as the last layer."""

    def __init__(self, config: Config):
        super().__init__(config)
        table = self.base.embeddings.word_embeddings
        kind = config.model_type
        if kind == "bert":
            self.cls = _BertHead(config, table)
        elif kind == "distilbert":
            self.vocab_transform = nn.Linear(config.dim, config.dim)
            self.vocab_layer_norm = nn.LayerNorm(config.dim, eps=1e-12)
            self.vocab_projector = nn.Linear(config.dim, config.vocab_size)
            self.vocab_projector.weight = table.weight
        elif kind == "electra":
            self.generator_predictions = _ElectraPredictions(config, table.embedding_dim)
            self.generator_lm_head = nn.Linear(table.embedding_dim, config.vocab_size)
            self.generator_lm_head.weight = table.weight
        else:
            self.lm_head = _RobertaHead(config, table)
        initialize(self, config.initializer_range)

    def forward(
        self,
        input_ids: rl.Tensor,
        attention_mask: rl.Tensor | None = None,
        token_type_ids: rl.Tensor | None = None,
        labels: rl.Tensor | None = None,
    ) -> ModelOutput:
        """Ids, masks and labels ``[B, T]``."""
        x = self._encode(input_ids, attention_mask, token_type_ids).last_hidden_state
        kind = self.config.model_type
        if kind == "bert":
            logits = self.cls(x)
        elif kind == "distilbert":
            x = activation(self.config.activation)(self.vocab_transform(x))
            logits = self.vocab_projector(self.vocab_layer_norm(x))
        elif kind == "electra":
            logits = self.generator_lm_head(self.generator_predictions(x))
        else:
            logits = self.lm_head(x)
        return ModelOutput(logits=logits, loss=masked_loss(logits, labels))
