"""Thin matrices beside frozen layers."""

import pytest

import rushlight as rl
from rushlight_text.models.pretrained import build_model
from rushlight_text.nn import LoRALinear, add_lora, lora_state_dict, merge_lora

SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "vocab_size": 20,
}


def model_and_batch():
    rl.manual_seed(0)
    model = build_model("bert-base-uncased", "sequence-classification", **SIZES).eval()
    return model, rl.randint(3, 20, (6, 5)), rl.arange(6) % 2


def test_training_changes_the_thin_matrices_alone():
    model, ids, labels = model_and_batch()
    before = model(ids).logits
    frozen = {name: value.clone() for name, value in model.state_dict().items()}
    add_lora(model, rank=4)
    assert rl.allclose(model(ids).logits, before)  # the product begins at zero
    trained = [name for name, p in model.named_parameters() if p.requires_grad]
    assert len(trained) == 2 * 2 * 2 + 2 and all("lora_" in n or "classifier" in n for n in trained)
    optimizer = rl.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.05)
    losses = []
    for _ in range(30):
        loss = model(ids, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    assert set(lora_state_dict(model)) == set(trained)
    after = model(ids).logits
    merge_lora(model)
    assert rl.allclose(model(ids).logits, after, atol=1e-5)
    assert list(model.state_dict()) == list(frozen)
    changed = {n for n, v in model.state_dict().items() if not rl.equal(v, frozen[n])}
    assert changed == {
        f"bert.encoder.layer.{n}.attention.self.{part}.weight"
        for n in range(2)
        for part in ("query", "value")
    } | {"classifier.weight", "classifier.bias"}
    assert all(p.requires_grad for p in model.parameters())


def test_adapters_are_loaded_again():
    model, ids, labels = model_and_batch()
    other, _, _ = model_and_batch()
    for each in (model, other):
        add_lora(each, rank=2, train=None)
    with rl.no_grad():
        for parameter in lora_state_dict(model).values():
            parameter.normal_()
    other.load_state_dict(lora_state_dict(model), strict=False)
    assert rl.equal(other(ids).logits, model(ids).logits)


def test_wrong_names_and_ranks():
    model, _, _ = model_and_batch()
    with pytest.raises(ValueError, match="no linear layer is called 'nothing'"):
        add_lora(model, "nothing")
    with pytest.raises(ValueError, match="rank must be positive, got 0"):
        LoRALinear(rl.nn.Linear(2, 2), rank=0)
