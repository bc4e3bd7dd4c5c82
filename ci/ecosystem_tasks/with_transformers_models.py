"""transformers: six kinds of models, forward and backward, and generation."""

import torch
from common import reloaded, report, train
from transformers import (
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
    ViTConfig,
    ViTForImageClassification,
    Wav2Vec2Config,
    Wav2Vec2ForCTC,
)

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 64}  # fmt: skip


def models():
    """A small model of each kind with its batch."""
    tokens = torch.arange(24).reshape(2, 12) % 50
    yield "bert", BertForMaskedLM, BertConfig(vocab_size=60, **SIZES), {
        "input_ids": tokens, "labels": tokens,
    }  # fmt: skip
    yield (
        "gpt2",
        GPT2LMHeadModel,
        GPT2Config(vocab_size=60, n_embd=32, n_layer=2, n_head=4, n_positions=64),
        {"input_ids": tokens, "labels": tokens},
    )
    yield (
        "llama",
        LlamaForCausalLM,
        LlamaConfig(vocab_size=60, num_key_value_heads=2, max_position_embeddings=64, **SIZES),
        {"input_ids": tokens, "labels": tokens},
    )
    yield "t5", T5ForConditionalGeneration, T5Config(
        vocab_size=60, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
        decoder_start_token_id=0,
    ), {"input_ids": tokens, "labels": tokens[:, :6].contiguous()}  # fmt: skip
    yield "vit", ViTForImageClassification, ViTConfig(image_size=32, patch_size=8, **SIZES), {
        "pixel_values": torch.rand(2, 3, 32, 32), "labels": torch.tensor([0, 1]),
    }  # fmt: skip
    yield "wav2vec2", Wav2Vec2ForCTC, Wav2Vec2Config(
        vocab_size=20, conv_dim=(16, 16), conv_stride=(5, 4), conv_kernel=(10, 8),
        num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, mask_time_prob=0.0, **SIZES,
    ), {"input_values": torch.rand(2, 800), "labels": torch.tensor([[1, 2], [3, 4]])}  # fmt: skip


def main():
    found = {}
    torch.manual_seed(0)
    for name, kind, config, batch in models():
        torch.manual_seed(0)
        model = kind(config)
        model.config.layerdrop = 0.0
        found[name] = train(model, batch, lambda m, b: m(**b).loss)
        again = reloaded(model, lambda kind=kind, config=config: kind(config)).eval()
        found[name + " reloaded"] = (
            (again(**batch).logits - model.eval()(**batch).logits).abs().max()
        )
        if name in ("gpt2", "llama", "t5"):
            given = batch["input_ids"][:, :4]
            more = {"max_new_tokens": 8, "pad_token_id": 0}
            found[name + " greedy"] = model.generate(given, do_sample=False, **more).tolist()
            found[name + " beams"] = model.generate(given, num_beams=3, **more).tolist()
            torch.manual_seed(3)
            found[name + " drawn"] = model.generate(
                given, do_sample=True, top_k=20, **more
            ).tolist()
    report(**found)


main()
