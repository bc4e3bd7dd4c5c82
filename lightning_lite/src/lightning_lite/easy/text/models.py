"""Language model and classifier over an AWD-LSTM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as rl
from lightning_lite.easy.architectures import architecture
from lightning_lite.easy.tabular import in_range
from lightning_lite.easy.text.awd_lstm import (
    AWD_LSTM,
    RNNDropout,
    awd_lstm_clas_config,
    awd_lstm_lm_config,
)
from rushlight import nn


class LinearDecoder(nn.Module):
    """Numbers for `n_out` tokens of `n_hid` of each step: `(N, T, n_hid)` gives `(N, T, n_out)`,
    and the steps before and after dropout `output_p`. `tie_encoder`: an embedding whose weights it
    shares; `bias`: whether it has one."""

    def __init__(
        self,
        n_out: int,
        n_hid: int,
        output_p: float = 0.1,
        tie_encoder: nn.Embedding | None = None,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.decoder = nn.Linear(n_hid, n_out, bias=bias)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)
        if bias:
            nn.init.zeros_(self.decoder.bias)
        if tie_encoder is not None:
            self.decoder.weight = tie_encoder.weight
        self.output_dp = RNNDropout(output_p)

    def forward(self, x: Any) -> tuple[Any, Any, Any]:
        """See the class."""
        dropped = self.output_dp(x)
        return self.decoder(dropped), x, dropped


class SequentialRNN(nn.Sequential):
    """Layers of which the first has states that `reset` forgets."""

    def reset(self) -> None:
        """Forget the states."""
        self[0].reset()


class SentenceEncoder(nn.Module):
    """Reads whole texts `(N, T)` by `module`, `bptt` tokens at once, and gives its outputs
    `(N, T, C)` and where texts are filled up `(N, T)`.

    Texts are filled up at the front by chunks of `bptt` of `pad_idx`, the rest behind
    (`pad_chunk`). `max_len`: only that many of the last tokens are kept, for the memory's sake; the
    others are read without gradients.
    """

    def __init__(
        self, bptt: int, module: nn.Module, pad_idx: int = 1, max_len: int | None = None
    ) -> None:
        super().__init__()
        self.bptt, self.module, self.pad_idx, self.max_len = bptt, module, pad_idx, max_len

    def reset(self) -> None:
        """Forget the states."""
        self.module.reset()

    def forward(self, tokens: Any) -> tuple[Any, Any]:
        """See the class."""
        self.reset()
        padding = tokens == self.pad_idx
        starts = range(0, tokens.shape[1], self.bptt)
        # Texts begin with a chunk: the longest first, each chunk is read by the first rows alone.
        begun = rl.stack([~padding[:, start] for start in starts], 1)
        order = begun.sum(1).argsort(descending=True, stable=True)
        sorted_tokens, outputs, masks = tokens[order], [], []
        for number, start in enumerate(starts):
            rows = int(begun[:, number].sum())
            kept = self.max_len is None or tokens.shape[1] - start <= self.max_len
            with rl.set_grad_enabled(kept and rl.is_grad_enabled()):
                found = self.module(sorted_tokens[:rows, start : start + self.bptt])
            if kept:
                spare = found.new_zeros(len(tokens) - rows, *found.shape[1:])
                outputs.append(rl.cat([found, spare]))
                masks.append(padding[:, start : start + self.bptt])
        return rl.cat(outputs, 1)[order.argsort()], rl.cat(masks, 1)


def masked_concat_pool(output: Any, mask: Any, bptt: int) -> Any:
    """Of outputs `(N, T, C)` the last, the largest and the mean, where `mask` is False: `(N, 3 C)`.

    Padding behind a text is less than `bptt`. fastai also counts padding before a text that is
    shorter than `bptt` there, and so takes an output before the last.
    """
    lengths = (~mask).sum(1, keepdim=True)
    behind = mask[:, -bptt:].flip(1).to(rl.int64).cumprod(1).sum(1)
    last = output[rl.arange(len(output)), output.shape[1] - 1 - behind]
    hidden = mask[:, :, None]
    mean = output.masked_fill(hidden, 0).sum(1) / lengths
    largest = output.masked_fill(hidden, float("-inf")).amax(1)
    return rl.cat([last, largest, mean], 1)


class PoolingLinearClassifier(nn.Module):
    """Linear layers of widths `dims` with batch normalization and dropout `ps`, over the pooled
    outputs of a SentenceEncoder; gives `(N, dims[-1])`, and the encoder's outputs twice."""

    def __init__(
        self,
        dims: Sequence[int],
        ps: Sequence[float],
        bptt: int,
        y_range: tuple[float, float] | None = None,
    ) -> None:
        super().__init__()
        if len(ps) != len(dims) - 1:
            raise ValueError(f"PoolingLinearClassifier: {len(ps)} ps for {len(dims) - 1} layers")
        layers = []
        for number, (before, after) in enumerate(zip(dims, dims[1:], strict=False)):
            norm = nn.BatchNorm1d(before)
            nn.init.constant_(norm.bias, 1e-3)
            parts: list[nn.Module] = [norm]
            parts += [nn.Dropout(ps[number])] if ps[number] else []
            parts.append(nn.Linear(before, after, bias=False))
            parts += [nn.ReLU()] if number < len(dims) - 2 else []
            layers.append(nn.Sequential(*parts))
        self.layers, self.bptt, self.y_range = nn.Sequential(*layers), bptt, y_range

    def forward(self, encoded: tuple[Any, Any]) -> tuple[Any, Any, Any]:
        """See the class."""
        output, mask = encoded
        found = self.layers(masked_concat_pool(output, mask, self.bptt))
        return in_range(found, self.y_range), output, output


def _config(usual: dict[str, Any], given: dict[str, Any] | None, drop_mult: float) -> Any:
    """The configuration, with dropouts multiplied. TypeError for names that are not there."""
    unknown = sorted(set(given or {}) - set(usual))
    if unknown:
        raise TypeError(f"config: {unknown} are unknown; expected some of {sorted(usual)}")
    found = {**usual, **(given or {})}
    return {name: each * drop_mult if name.endswith("_p") else each for name, each in found.items()}


def lm_split(model: SequentialRNN) -> list[list[Any]]:
    """A group for each LSTM, and one for words and decoder."""
    encoder, decoder = model
    ends = [each for part in (encoder.encoder, decoder) for each in part.parameters()]
    unique = list({id(each): each for each in ends}.values())  # tied weights stand in both
    return [*(list(rnn.parameters()) for rnn in encoder.rnns), unique]


def classifier_split(model: SequentialRNN) -> list[list[Any]]:
    """A group for words, one for each LSTM, and one for the classifier."""
    encoder, head = model[0].module, model[1]
    return [list(each.parameters()) for each in (encoder.encoder, *encoder.rnns, head)]


@architecture("awd_lstm language model", lm_split)
def get_language_model(
    vocab_sz: int, config: dict[str, Any] | None = None, drop_mult: float = 1.0
) -> SequentialRNN:
    """An AWD-LSTM and a decoder for `vocab_sz` tokens. `config`: what differs from
    `awd_lstm_lm_config`; `drop_mult` multiplies all dropouts. TypeError for unknown names."""
    settings = _config(awd_lstm_lm_config, config, drop_mult)
    tied, output_p, bias = (settings.pop(k) for k in ("tie_weights", "output_p", "out_bias"))
    encoder = AWD_LSTM(vocab_sz, **settings)
    words = encoder.encoder if tied else None
    return SequentialRNN(encoder, LinearDecoder(vocab_sz, encoder.emb_sz, output_p, words, bias))


@architecture("awd_lstm classifier", classifier_split)
def get_text_classifier(
    vocab_sz: int,
    n_class: int,
    seq_len: int = 72,
    config: dict[str, Any] | None = None,
    drop_mult: float = 1.0,
    lin_ftrs: Sequence[int] | None = None,
    ps: Sequence[float] | None = None,
    max_len: int | None = 72 * 20,
    y_range: tuple[float, float] | None = None,
) -> SequentialRNN:
    """An AWD-LSTM that reads whole texts, and a classifier of `n_class` outputs. `config`: what
    differs from `awd_lstm_clas_config`; `lin_ftrs`: widths of hidden layers ((50,)), `ps`: their
    dropouts (0.1 each); `seq_len`, `max_len`: see `SentenceEncoder`."""
    settings = _config(awd_lstm_clas_config, config, drop_mult)
    output_p, pad = settings.pop("output_p"), settings["pad_token"]
    encoder = AWD_LSTM(vocab_sz, **settings)
    hidden = [50] if lin_ftrs is None else list(lin_ftrs)
    drops = [0.1] * len(hidden) if ps is None else list(ps)
    widths = [3 * encoder.emb_sz, *hidden, n_class]
    head = PoolingLinearClassifier(widths, [output_p, *drops], seq_len, y_range)
    return SequentialRNN(SentenceEncoder(seq_len, encoder, pad, max_len), head)
