"""openai-whisper: features of sounds, a small model trained, decoded with timestamps and beams."""

import numpy as np
import torch
import whisper
from common import reloaded, report, train
from whisper.model import ModelDimensions, Whisper
from whisper.timing import dtw, median_filter
from whisper.tokenizer import get_tokenizer

WORDS = get_tokenizer(multilingual=True, num_languages=99)
SIZES = ModelDimensions(80, 1500, 16, 2, 2, WORDS.encoding.n_vocab, 32, 16, 2, 2)


def small():
    net = Whisper(SIZES)
    torch.nn.init.normal_(net.decoder.positional_embedding, std=0.1)  # it comes uninitialized
    return net


def loss_of(model, batch):
    out = model(batch[0], batch[1][:, :-1])
    return torch.nn.functional.cross_entropy(out.transpose(1, 2), batch[1][:, 1:])


def main():
    torch.manual_seed(0)
    net = small()
    time = np.arange(32000) / 16000
    sound = (0.3 * np.sin(2 * np.pi * 440 * time)).astype("float32")
    mel = whisper.log_mel_spectrogram(whisper.pad_or_trim(sound))
    text = [*WORDS.sot_sequence, *WORDS.encode(" hello world"), WORDS.eot]
    batch = mel[None], torch.tensor([text])
    found = {"mel": mel, "text": text, "losses": train(net, batch, loss_of)}
    net = reloaded(net, small).eval()
    found["features"] = net.embed_audio(mel[None])
    _, chances = net.detect_language(mel)
    found["languages"] = sorted(chances.items(), key=lambda pair: -pair[1])[:3]
    for name, options in {"greedy": {}, "beams": {"beam_size": 3}, "plain": {
            "without_timestamps": True, "suppress_tokens": ""}}.items():  # fmt: skip
        options = whisper.DecodingOptions(language="en", fp16=False, sample_len=8, **options)
        out = whisper.decode(net, mel, options)
        found[name] = [out.tokens, out.avg_logprob, out.no_speech_prob]
    torch.manual_seed(1)
    out = whisper.transcribe(net, sound, language="en", fp16=False, temperature=0.0,
                             condition_on_previous_text=False, sample_len=6)  # fmt: skip
    found["transcribed"] = [[s["start"], s["end"], s["tokens"]] for s in out["segments"]]
    table = torch.rand(5, 9)
    found["median"] = median_filter(table, 3)
    found["aligned"] = [torch.from_numpy(np.ascontiguousarray(x)).float() for x in
                        dtw(table.double())]  # fmt: skip
    report(**found)


main()
