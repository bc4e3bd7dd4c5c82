"""peft: LoRA, IA3 and prompt tuning on a small GPT-2, merged, saved and loaded."""

import tempfile

import torch
from common import report, train
from peft import IA3Config, LoraConfig, PeftModel, PromptTuningConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel


def base():
    torch.manual_seed(0)
    return GPT2LMHeadModel(
        GPT2Config(vocab_size=50, n_embd=32, n_layer=2, n_head=4, n_positions=64)
    )


def main():
    tokens = torch.arange(20).reshape(2, 10)
    batch = {"input_ids": tokens, "labels": tokens}
    kinds = {
        "lora": LoraConfig(task_type="CAUSAL_LM", r=4, target_modules=["c_attn"], lora_dropout=0.1,
                           fan_in_fan_out=True),
        "dora": LoraConfig(task_type="CAUSAL_LM", r=4, target_modules=["c_attn"], use_dora=True,
                           fan_in_fan_out=True),
        "ia3": IA3Config(task_type="CAUSAL_LM", target_modules=["c_attn", "c_proj"],
                         feedforward_modules=["c_proj"], fan_in_fan_out=True),
        "prompt": PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4),
    }  # fmt: skip
    found = {}
    for name, config in kinds.items():
        model = get_peft_model(base(), config)
        torch.manual_seed(1)
        found[name] = train(model, batch, lambda m, b: m(**b).loss, rate=1e-2)
        found[name + " parameters"] = list(model.get_nb_trainable_parameters())
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            again = PeftModel.from_pretrained(base(), folder).eval()
            logits = model.eval()(input_ids=tokens).logits
            found[name + " reloaded"] = (again(input_ids=tokens).logits - logits).abs().max()
        if name == "lora":
            merged = model.merge_and_unload()
            found["merged"] = (merged(input_ids=tokens).logits - logits).abs().max() < 1e-5
            found["merged"] = bool(found["merged"])
    report(**found)


main()
