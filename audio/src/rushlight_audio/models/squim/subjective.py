"""The mean opinion score of speech, beside any clean speech (Manocha and Kumar, Speech quality
assessment through MOS using non-matching references, 2022).

Names of parameters and their shapes are torchaudio's, so that state dicts go both ways.
"""

from __future__ import annotations

import rushlight as rl
from rushlight import nn
from rushlight_audio.models import wav2vec2

__all__ = ["SquimSubjective", "squim_subjective_base", "squim_subjective_model"]

BEST = 5  # of the scale of opinions


class AttPool(nn.Module):
    """A mean over time with learned weights, and a projection."""

    def __init__(self, input_dim: int, att_dim: int):
        super().__init__()
        self.linear1 = nn.Linear(input_dim, 1)
        self.linear2 = nn.Linear(input_dim, att_dim)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, att_dim]`` of ``[B, T, input_dim]``."""
        shares = rl.softmax(self.linear1(x).transpose(2, 1), dim=2)
        return self.linear2((shares @ x).squeeze(1))


class Predictor(nn.Module):
    """The expected difference of two scores, from 0 to 4."""

    def __init__(self, input_dim: int, att_dim: int):
        super().__init__()
        self.att_pool_layer = AttPool(input_dim, att_dim)
        self.att_dim = att_dim

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B]`` of ``[B, T, input_dim]``."""
        shares = rl.softmax(self.att_pool_layer(x), dim=1)
        steps = rl.linspace(0, BEST - 1, self.att_dim, dtype=x.dtype, device=x.device)
        return (shares * steps).sum(dim=1)


class SquimSubjective(nn.Module):
    """The score of a recording beside clean speech of anybody saying anything.

    Args:
        ssl_model: a :class:`~rushlight_audio.models.Wav2Vec2Model`.
        projector: from its features to fewer.
        predictor: the difference of scores from both features side by side.
    """

    def __init__(self, ssl_model: nn.Module, projector: nn.Module, predictor: nn.Module):
        super().__init__()
        self.ssl_model = ssl_model
        self.projector = projector
        self.predictor = predictor

    def _features(self, waveform: rl.Tensor) -> rl.Tensor:
        return self.projector(self.ssl_model.extract_features(waveform)[0][-1])

    def forward(self, waveform: rl.Tensor, reference: rl.Tensor) -> rl.Tensor:
        """Scores ``[B]`` of waveforms ``[B, T]`` beside clean ones ``[B, T']``, which are repeated
        or cut to their length."""
        length, given = waveform.shape[-1], reference.shape[-1]
        if given < length:
            reference = reference.repeat(1, length // given + 1)
        features = self._features(waveform)
        clean = self._features(reference[:, :length])
        return BEST - self.predictor(rl.cat((clean, features), dim=2))


def squim_subjective_model(
    ssl_type: str, feat_dim: int, proj_dim: int, att_dim: int
) -> SquimSubjective:
    """A :class:`SquimSubjective` of these sizes.

    Args:
        ssl_type: name of a builder such as ``"wav2vec2_base"``.
        feat_dim: width of its features.
        proj_dim: to how many they are projected.
        att_dim: steps of the scale.
    """
    ssl_model = getattr(wav2vec2, ssl_type)()
    projector = nn.Linear(feat_dim, proj_dim)
    return SquimSubjective(ssl_model, projector, Predictor(proj_dim * 2, att_dim))


def squim_subjective_base() -> SquimSubjective:
    """The network of torchaudio's ``SQUIM_SUBJECTIVE``, for 16 kHz."""
    return squim_subjective_model("wav2vec2_base", feat_dim=768, proj_dim=32, att_dim=5)
