"""Tacotron 2 (Shen et al., Natural TTS synthesis by conditioning WaveNet on mel spectrogram
predictions, 2017).

Names of parameters and their shapes are torchaudio's, so that state dicts go both ways.
"""

from __future__ import annotations

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional
from rushlight.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from rushlight_audio.models._lengths import padding_mask
from rushlight_audio.models._tacotron2_decoder import Decoder, convolution

__all__ = ["Tacotron2"]

NOT_ENDED = 1e3  # logit of the end where a spectrogram is padding


def _normalised(inputs: int, outputs: int, kernel_size: int, gain: str) -> nn.Sequential:
    """A convolution and batch normalization."""
    return nn.Sequential(convolution(inputs, outputs, kernel_size, gain), nn.BatchNorm1d(outputs))


class _Postnet(nn.Module):
    """What convolutions add to a spectrogram."""

    def __init__(
        self,
        n_mels: int,
        postnet_embedding_dim: int,
        postnet_kernel_size: int,
        postnet_n_convolution: int,
    ):
        super().__init__()
        self.convolutions = nn.ModuleList()
        for number in range(postnet_n_convolution):
            last = number == postnet_n_convolution - 1
            self.convolutions.append(
                _normalised(
                    postnet_embedding_dim if number else n_mels,
                    n_mels if last else postnet_embedding_dim,
                    postnet_kernel_size,
                    "linear" if last else "tanh",
                )
            )

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, n_mels, T]`` of the same."""
        for layer in self.convolutions[:-1]:
            x = functional.dropout(rl.tanh(layer(x)), 0.5, training=self.training)
        return functional.dropout(self.convolutions[-1](x), 0.5, training=self.training)


class _Encoder(nn.Module):
    """Convolutions and an LSTM both ways over embedded symbols."""

    def __init__(
        self, encoder_embedding_dim: int, encoder_n_convolution: int, encoder_kernel_size: int
    ) -> None:
        super().__init__()
        width = encoder_embedding_dim
        self.convolutions = nn.ModuleList(
            _normalised(width, width, encoder_kernel_size, "relu")
            for _ in range(encoder_n_convolution)
        )
        self.lstm = nn.LSTM(width, width // 2, 1, batch_first=True, bidirectional=True)

    def forward(self, x: rl.Tensor, input_lengths: rl.Tensor) -> rl.Tensor:
        """``[B, T, D]`` of ``[B, D, T]``."""
        for layer in self.convolutions:
            x = functional.dropout(functional.relu(layer(x)), 0.5, self.training)
        packed = pack_padded_sequence(x.transpose(1, 2), input_lengths.cpu(), batch_first=True)
        outputs, _ = self.lstm(packed)
        return pad_packed_sequence(outputs, batch_first=True)[0]


class Tacotron2(nn.Module):
    """Mel spectrograms of texts.

    Args:
        mask_padding: zeros behind the end of spectrograms in training.
        n_mels: bands.
        n_symbol: symbols of the text.
        n_frames_per_step: frames that a step of the decoder makes; one.
        symbol_embedding_dim: width of the embedding.
        encoder_embedding_dim: width of the encoder.
        encoder_n_convolution: convolutions of the encoder.
        encoder_kernel_size: their kernel.
        decoder_rnn_dim: width of the decoder's recurrence.
        decoder_max_step: most steps of :meth:`infer`.
        decoder_dropout: share dropped behind the decoder's recurrence.
        decoder_early_stopping: :meth:`infer` ends when all texts have ended.
        attention_rnn_dim: width of the attention's recurrence.
        attention_hidden_dim: width of the attention.
        attention_location_n_filter: channels of its convolution over locations.
        attention_location_kernel_size: the kernel of that.
        attention_dropout: share dropped behind the attention's recurrence.
        prenet_dim: width of the layers before the recurrence.
        postnet_n_convolution: convolutions behind the decoder.
        postnet_kernel_size: their kernel.
        postnet_embedding_dim: their channels.
        gate_threshold: probability of the end from which on a text has ended.

    The dropout before the recurrence works in evaluation as well, as the paper has it: results
    follow from the seed.

    >>> model = Tacotron2(n_mels=4, n_symbol=5, decoder_rnn_dim=8, attention_rnn_dim=8,
    ...                   symbol_embedding_dim=8, encoder_embedding_dim=8).eval()
    >>> mels, fine, gates, weights = model(rl.tensor([[1, 2]]), rl.tensor([2]),
    ...                                    rl.zeros(1, 4, 3), rl.tensor([3]))
    >>> fine.shape, weights.shape
    (rushlight.Size([1, 4, 3]), rushlight.Size([1, 3, 2]))
    """

    def __init__(
        self,
        mask_padding: bool = False,
        n_mels: int = 80,
        n_symbol: int = 148,
        n_frames_per_step: int = 1,
        symbol_embedding_dim: int = 512,
        encoder_embedding_dim: int = 512,
        encoder_n_convolution: int = 3,
        encoder_kernel_size: int = 5,
        decoder_rnn_dim: int = 1024,
        decoder_max_step: int = 2000,
        decoder_dropout: float = 0.1,
        decoder_early_stopping: bool = True,
        attention_rnn_dim: int = 1024,
        attention_hidden_dim: int = 128,
        attention_location_n_filter: int = 32,
        attention_location_kernel_size: int = 31,
        attention_dropout: float = 0.1,
        prenet_dim: int = 256,
        postnet_n_convolution: int = 5,
        postnet_kernel_size: int = 5,
        postnet_embedding_dim: int = 512,
        gate_threshold: float = 0.5,
    ) -> None:
        super().__init__()
        self.mask_padding = mask_padding
        self.n_mels = n_mels
        self.n_frames_per_step = n_frames_per_step
        self.embedding = nn.Embedding(n_symbol, symbol_embedding_dim)
        nn.init.xavier_uniform_(self.embedding.weight)
        self.encoder = _Encoder(encoder_embedding_dim, encoder_n_convolution, encoder_kernel_size)
        self.decoder = Decoder(
            n_mels,
            n_frames_per_step,
            encoder_embedding_dim,
            decoder_rnn_dim,
            decoder_max_step,
            decoder_dropout,
            decoder_early_stopping,
            attention_rnn_dim,
            attention_hidden_dim,
            attention_location_n_filter,
            attention_location_kernel_size,
            attention_dropout,
            prenet_dim,
            gate_threshold,
        )
        self.postnet = _Postnet(
            n_mels, postnet_embedding_dim, postnet_kernel_size, postnet_n_convolution
        )

    def _encoded(self, tokens: rl.Tensor, lengths: rl.Tensor) -> rl.Tensor:
        return self.encoder(self.embedding(tokens).transpose(1, 2), lengths)

    def forward(
        self,
        tokens: rl.Tensor,
        token_lengths: rl.Tensor,
        mel_specgram: rl.Tensor,
        mel_specgram_lengths: rl.Tensor,
    ) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor, rl.Tensor]:
        """What is compared with the true spectrograms in training.

        Args:
            tokens: symbols ``[B, U]``.
            token_lengths: ``[B]``, the longest first.
            mel_specgram: true spectrograms ``[B, n_mels, T]``.
            mel_specgram_lengths: ``[B]``.

        Returns:
            Spectrograms before and behind the last convolutions ``[B, n_mels, T]``, logits that a
            frame is the last ``[B, T]``, weights of the attention ``[B, T, U]``.
        """
        memory = self._encoded(tokens, token_lengths)
        mels, gates, weights = self.decoder(memory, mel_specgram, token_lengths)
        fine = mels + self.postnet(mels)
        if self.mask_padding:
            mask = padding_mask(mel_specgram_lengths)
            mels = mels.masked_fill(mask.unsqueeze(1), 0.0)
            fine = fine.masked_fill(mask.unsqueeze(1), 0.0)
            gates = gates.masked_fill(mask, NOT_ENDED)
        return mels, fine, gates, weights

    @rl.no_grad()
    def infer(
        self, tokens: rl.Tensor, lengths: rl.Tensor | None = None
    ) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor]:
        """Spectrograms ``[B, n_mels, T]`` of symbols ``[B, U]``, their lengths ``[B]``, weights of
        the attention ``[B, T, U]``; `lengths` ``[B]`` of the symbols, the longest first."""
        if lengths is None:
            lengths = rl.full((tokens.shape[0],), tokens.shape[1], device=tokens.device)
        memory = self._encoded(tokens, lengths)
        mels, mel_lengths, _, weights = self.decoder.infer(memory, lengths)
        return mels + self.postnet(mels), mel_lengths, weights
