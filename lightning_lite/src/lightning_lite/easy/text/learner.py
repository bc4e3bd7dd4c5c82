"""Learners of texts: a language model, and a classifier that begins with its encoder (ULMFiT).

Howard and Ruder 2018. Regularization of activations: Merity, McCann and Socher 2017.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rushlight as rl
from lightning_lite.easy.architectures import Recipe
from lightning_lite.easy.data.loaders import DataLoaders
from lightning_lite.easy.learner import Learner
from lightning_lite.easy.losses import BCEWithLogitsLossFlat, CrossEntropyLossFlat
from lightning_lite.easy.module import LearnerModule
from lightning_lite.easy.text.awd_lstm import AWD_LSTM
from lightning_lite.easy.text.models import (
    classifier_split,
    get_language_model,
    get_text_classifier,
    lm_split,
)
from lightning_lite.easy.text.rules import BOS, PAD, TK_MAJ, TK_REP, TK_UP, TK_WREP, UNK
from lightning_lite.easy.vision import target_of
from lightning_lite.easy.weights_file import path_of
from rushlight import nn

if TYPE_CHECKING:
    from collections.abc import Iterable


class TextModule(LearnerModule):
    """What a TextLearner trains: the model gives outputs, steps, and steps after dropout, whose
    sizes (`alpha`) and changes from step to step (`beta`) are added to the loss."""

    alpha, beta = 0.0, 0.0

    def forward(self, *inputs: Any) -> Any:
        """The model's outputs."""
        found = self.model(*inputs)
        if not isinstance(found, tuple):
            return found
        output, self.steps, self.dropped = found
        return output

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        """The loss of a batch with its regularization."""
        loss = super().training_step(batch, batch_idx)
        if self.alpha:
            loss = loss + self.alpha * self.dropped.float().square().mean()
        if self.beta and self.steps.shape[1] > 1:
            changes = self.steps[:, 1:] - self.steps[:, :-1]
            loss = loss + self.beta * changes.float().square().mean()
        return loss

    def on_train_epoch_start(self) -> None:
        """Texts begin anew."""
        self.model.reset()

    def on_validation_epoch_start(self) -> None:
        """Texts begin anew."""
        self.model.reset()

    def on_predict_epoch_start(self) -> None:
        """Texts begin anew."""
        self.model.reset()


class TextLearner(Learner):
    """A Learner of texts, whose model has states that `reset` forgets.

    `alpha`, `beta`: how much the squares of activations, and of their changes from step to step,
    are added to the loss; `options`: the Learner's, `moms` by default (0.8, 0.7, 0.8).
    """

    module_class = TextModule
    module: TextModule

    def __init__(
        self, dls: DataLoaders | Sequence[Iterable[Any]], model: nn.Module, loss_func: Callable,
        alpha: float = 2.0, beta: float = 1.0, moms: tuple[float, float, float] = (0.8, 0.7, 0.8),
        **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(dls, model, loss_func, moms=moms, **options)
        self.module.alpha, self.module.beta = alpha, beta

    @property
    def encoder(self) -> Any:
        """The AWD-LSTM."""
        first = self.model[0]
        return getattr(first, "module", first)

    def save_encoder(self, file: str) -> Path:
        """Write the encoder's weights to `path/models/file.pt`; the path."""
        target = path_of(self.path, file)
        target.parent.mkdir(parents=True, exist_ok=True)
        rl.save(self.encoder.state_dict(), target)
        return target

    def load_encoder(self, file: str) -> TextLearner:
        """Read the encoder's weights of `save_encoder` of a Learner with the same vocabulary, and
        freeze all but the last group; the Learner."""
        self.encoder.load_state_dict(rl.load(path_of(self.path, file)))
        self.freeze()
        return self

    def load_pretrained(self, wgts_fname: Any, vocab: Any) -> TextLearner:
        """Read the weights of a language model, fastai's for example, of another vocabulary: a list
        of its tokens, or a JSON file of them. Tokens that it lacks get the mean of all. Freezes all
        but the last group; the Learner. Nothing in the files is executed."""
        weights = rl.load(wgts_fname, map_location="cpu", weights_only=True)
        weights = weights.get("model", weights)
        if not isinstance(vocab, list | tuple):
            vocab = json.loads(Path(vocab).read_text(encoding="utf-8"))
        weights = match_embeds(weights, vocab, words_of(self.dls, "load_pretrained"))
        is_lm = self.model[0] is self.encoder
        target, start = (self.model, "") if is_lm else (self.encoder, "0.")
        names = list(target.state_dict())
        missing = [f"{start}{name}" for name in names if f"{start}{name}" not in weights]
        if missing:
            raise KeyError(f"load_pretrained: {str(wgts_fname)!r} has no weights {missing[:3]}")
        target.load_state_dict({name: weights[f"{start}{name}"] for name in names})
        self.freeze()
        return self


def match_embeds(
    old_wgts: dict[str, Any], old_vocab: Sequence[str], new_vocab: Sequence[str]
) -> dict[str, Any]:
    """The weights of a language model for another vocabulary; new tokens get the mean."""
    weights, numbers = dict(old_wgts), {word: number for number, word in enumerate(old_vocab)}
    known = rl.tensor([numbers.get(word, -1) for word in new_vocab])

    def picked(values: Any) -> Any:
        rows, mean = values[known.clamp(min=0)], values.mean(0, keepdim=True)
        there = (known >= 0).reshape(-1, *[1] * (values.ndim - 1))
        return rl.where(there, rows, mean.expand(rows.shape))

    words = picked(weights["0.encoder.weight"])
    for name in ("0.encoder.weight", "0.encoder_dp.emb.weight", "1.decoder.weight"):
        weights[name] = words
    if "1.decoder.bias" in weights:
        weights["1.decoder.bias"] = picked(weights["1.decoder.bias"])
    return weights


def words_of(dls: Any, what: str) -> list[str]:
    """The tokens that the texts of DataLoaders have. TypeError for loaders of something else."""
    block = None
    if isinstance(dls, DataLoaders) and dls.dsets is not None:
        block = dls.dsets.readers[0].block
    if block is None or block.kind != "text":
        raise TypeError(
            f"{what} needs DataLoaders of texts, of TextDataLoaders or a DataBlock with a "
            f"TextBlock; dls is a {type(dls).__name__}"
        )
    found: list[str] = block.vocab
    return found


def join_words(tokens: Sequence[str]) -> str:
    """The text that tokens stand for, special ones carried out.

    >>> join_words(["xxmaj", "so", "xxrep", "3", "!"])
    'So !!!'
    """
    made, pending, count = [], "", 0
    for token in tokens:
        if token in (TK_MAJ, TK_UP, TK_REP, TK_WREP):
            pending, count = token, 0
        elif pending in (TK_REP, TK_WREP) and not count:
            count = int(token) if token.isdigit() else 1
        else:
            made.append(_carried_out(token, pending, count))
            pending = ""
    return " ".join(made)


def _carried_out(token: str, pending: str, count: int) -> str:
    if pending == TK_MAJ:
        return token[:1].upper() + token[1:]
    if pending == TK_UP:
        return token.upper()
    between = "" if pending == TK_REP else " "
    return between.join([token] * max(count, 1)) if pending else token


class LMLearner(TextLearner):
    """A Learner of a language model."""

    def _joined(self, parts: Any) -> Any:
        """Batches go on along the tokens."""
        return None if parts[0] is None else rl.cat(parts, 1)

    def predict(  # type: ignore[override]
        self,
        text: str,
        n_words: int = 1,
        no_unk: bool = True,
        temperature: float = 1.0,
        min_p: float | None = None,
    ) -> str:
        """The text and `n_words` that come after, sampled by their probabilities.

        `no_unk`: never an unknown word; `temperature`: below 1 likely words are more likely still;
        `min_p`: only words at least that probable, if there are any.
        """
        vocab = words_of(self.dls, "predict")
        reader = self.dls.dsets.readers[0]
        tokens = reader(text, True)[None]
        self.model.eval()
        self.model.reset()
        ids, inputs = tokens[0].tolist(), tokens
        for _ in range(n_words):
            with rl.no_grad():
                shares = self.model(inputs)[0][0, -1].softmax(-1)
            shares = _allowed(shares, vocab.index(UNK) if no_unk and UNK in vocab else None, min_p)
            number = int(rl.multinomial(shares ** (1 / temperature), 1))
            ids.append(number)
            inputs = rl.tensor([[number]])  # the states hold what came before
        self.model.reset()
        return join_words([vocab[each] for each in ids if vocab[each] not in (BOS, PAD)])


def _allowed(shares: Any, unknown: int | None, min_p: float | None) -> Any:
    shares = shares.clone()
    if unknown is not None:
        shares[unknown] = 0
    likely = shares >= min_p if min_p is not None else shares > 0
    return rl.where(likely, shares, 0.0) if bool(likely.any()) else shares


def _check_arch(what: str, arch: Any) -> None:
    if arch is not AWD_LSTM:
        raise NotImplementedError(
            f"{what}: arch={arch!r}; only AWD_LSTM, or a Learner with a model"
        )


def language_model_learner(
    dls: DataLoaders,
    arch: type[nn.Module] = AWD_LSTM,
    config: dict[str, Any] | None = None,
    drop_mult: float = 1.0,
    pretrained_fnames: tuple[Any, Any] | None = None,
    **options: Any,
) -> LMLearner:
    """A Learner of a language model for texts of `TextDataLoaders(..., is_lm=True)`.

    `arch`: `AWD_LSTM`; `config`: what differs from `awd_lstm_lm_config` (`emb_sz`, `n_hid`,
    `n_layers`, dropouts, ...), `drop_mult` multiplies dropouts; `pretrained_fnames`: files of
    weights and vocabulary, see `TextLearner.load_pretrained` (fastai's default, a download of
    WikiText weights, is not there). `options` go to the TextLearner.
    """
    _check_arch("language_model_learner", arch)
    made = {"vocab_sz": len(words_of(dls, "language_model_learner")), "config": config}
    model = get_language_model(**made, drop_mult=drop_mult)
    learn = LMLearner(dls, model, CrossEntropyLossFlat(), **{"splitter": lm_split, **options})
    learn.recipe = Recipe("awd_lstm language model", {**made, "drop_mult": drop_mult})
    if pretrained_fnames is not None:
        learn.load_pretrained(*pretrained_fnames)
    return learn


def text_classifier_learner(
    dls: DataLoaders,
    arch: type[nn.Module] = AWD_LSTM,
    seq_len: int = 72,
    config: dict[str, Any] | None = None,
    drop_mult: float = 0.5,
    n_out: int | None = None,
    lin_ftrs: Sequence[int] | None = None,
    ps: Sequence[float] | None = None,
    max_len: int | None = 72 * 20,
    y_range: tuple[float, float] | None = None,
    loss_func: Callable | None = None,
    **options: Any,
) -> TextLearner:
    """A Learner that says the class of texts: begin with `learn.load_encoder` of a language model.

    `arch`, `config`, `drop_mult`: as for `language_model_learner`; `n_out`: by default the number
    of classes; `lin_ftrs`, `ps`, `seq_len`, `max_len`, `y_range`: see `get_text_classifier`;
    `loss_func`: cross entropy by default, the binary one for several classes at once. `options` go
    to the TextLearner. ValueError without `n_out` for data without classes.
    """
    _check_arch("text_classifier_learner", arch)
    words = words_of(dls, "text_classifier_learner")
    kind, n_out = target_of(dls, n_out, "text_classifier_learner")
    made = {
        "vocab_sz": len(words), "n_class": n_out, "seq_len": seq_len, "config": config,
        "drop_mult": drop_mult, "lin_ftrs": lin_ftrs, "ps": ps, "max_len": max_len,
        "y_range": y_range,
    }  # fmt: skip
    usual = BCEWithLogitsLossFlat if kind == "categories" else CrossEntropyLossFlat
    loss = usual() if loss_func is None else loss_func
    model = get_text_classifier(**made)
    learn = TextLearner(dls, model, loss, **{"splitter": classifier_split, **options})
    learn.recipe = Recipe("awd_lstm classifier", made)
    return learn
