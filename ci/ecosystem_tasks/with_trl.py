"""trl: a small language model fine-tuned, by preferences and by rewards, and a reward model."""

import tempfile
from pathlib import Path

import torch
from common import report
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    PreTrainedTokenizerFast,
)
from trl import (
    DPOConfig,
    DPOTrainer,
    GRPOConfig,
    GRPOTrainer,
    KTOConfig,
    KTOTrainer,
    RewardConfig,
    RewardTrainer,
    RLOOConfig,
    RLOOTrainer,
    SFTConfig,
    SFTTrainer,
)

WORDS = (
    "the a cat dog bird sat ran flew on in mat tree sky fast slow and then it was good bad".split()
)
CHATS = [
    ("the cat", "sat on the mat", "flew in the sky"), ("a bird", "flew in a tree", "ran on it"),
    ("the dog", "ran fast and then sat", "was slow"), ("it was", "good", "bad and slow"),
]  # fmt: skip


def tokenizer():
    marks = ["<pad>", "<s>", "</s>", "<unk>"]
    words = {word: i for i, word in enumerate([*marks, *WORDS])}
    plain = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="<pad>", bos_token="<s>", eos_token="</s>",
        unk_token="<unk>", padding_side="left",
    )  # fmt: skip


def model(kind=LlamaForCausalLM, **options):
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(WORDS) + 4, hidden_size=16, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2, max_position_embeddings=64, pad_token_id=0, bos_token_id=1,
        eos_token_id=2, **options,
    )  # fmt: skip
    return kind(config)


def options(folder, name, **more):
    return {
        "output_dir": str(Path(folder, name)), "per_device_train_batch_size": 2, "max_steps": 3,
        "logging_steps": 1, "report_to": [], "save_strategy": "no", "use_cpu": True, "seed": 3,
        "learning_rate": 1e-2, "bf16": False, "gradient_checkpointing": False,
        "disable_tqdm": True, **more,
    }  # fmt: skip


def logged(trainer):
    """What the trainer wrote down at every step, but for its times."""
    trainer.train()
    rows = []
    for row in trainer.state.log_history[:-1]:
        kept = {k: v for k, v in row.items() if "time" not in k and "per_second" not in k}
        rows.append({k: v for k, v in kept.items() if isinstance(v, (int, float)) and v == v})
    weights = sum(p.detach().double().abs().sum() for p in trainer.model.parameters())
    return [rows, weights]


def words_reward(completions, **_):
    """How many different words there are: a reward of the task."""
    return [len(set(text.split())) / 8 for text in completions]


def preferences(folder, found, common):
    """Training from pairs of a good and a bad answer, and from answers with a label."""
    pairs = Dataset.from_list(
        [{"prompt": p, "chosen": f" {a}", "rejected": f" {b}"} for p, a, b in CHATS]
    )
    for loss in ("sigmoid", "ipo"):
        settings = DPOConfig(**options(folder, loss, loss_type=loss, max_length=16))
        trainer = DPOTrainer(model(), model(), args=settings, train_dataset=pairs, **common)
        found[f"preferences {loss}"] = logged(trainer)
    said = Dataset.from_list(
        [{"prompt": p, "completion": f" {t}", "label": t == a} for p, a, b in CHATS for t in (a, b)]
    )
    settings = KTOConfig(**options(folder, "kto", max_length=16))
    trainer = KTOTrainer(model(), model(), args=settings, train_dataset=said, **common)
    found["labelled"] = logged(trainer)
    settings = RewardConfig(**options(folder, "reward", max_length=16))
    judge = model(LlamaForSequenceClassification, num_labels=1)
    trainer = RewardTrainer(judge, args=settings, train_dataset=pairs, **common)
    found["reward"] = logged(trainer)


def rewards(folder, found, common):
    """Training by a reward of what the model itself says."""
    base = str(Path(folder, "base"))
    model().save_pretrained(base)
    prompts = Dataset.from_list([{"prompt": prompt} for prompt, _, _ in CHATS])
    kinds = {"grpo": (GRPOConfig, GRPOTrainer), "rloo": (RLOOConfig, RLOOTrainer)}
    for name, (config, kind) in kinds.items():
        more = {"num_generations": 2, "max_completion_length": 6, "beta": 0.1}
        trainer = kind(
            LlamaForCausalLM.from_pretrained(base), reward_funcs=words_reward,
            args=config(**options(folder, name, **more)), train_dataset=prompts, **common,
        )  # fmt: skip
        found[name] = logged(trainer)


def main():
    found, words = {}, tokenizer()
    common = {"processing_class": words}
    with tempfile.TemporaryDirectory() as folder:
        text = Dataset.from_list([{"text": f"{p} {a}"} for p, a, _ in CHATS])
        settings = SFTConfig(**options(folder, "sft", max_length=16))
        trainer = SFTTrainer(model(), args=settings, train_dataset=text, **common)
        found["fine-tuned"] = logged(trainer)
        trainer.save_model(folder)
        again = LlamaForCausalLM.from_pretrained(folder).eval()
        tokens = words(["the cat sat", "a bird"], return_tensors="pt", padding=True)
        kept = {key: tokens[key] for key in ("input_ids", "attention_mask")}
        found["said"] = again.generate(**kept, max_new_tokens=6, do_sample=False)
        preferences(folder, found, common)
        rewards(folder, found, common)
    report(**found)


main()
