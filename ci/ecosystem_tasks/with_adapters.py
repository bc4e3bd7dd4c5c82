"""adapters: bottlenecks, low ranks and prefixes in a small BERT, fused, trained, reloaded."""

import tempfile

import adapters
import torch
from adapters import AdapterConfig, BnConfig, CompacterConfig, LoRAConfig, PrefixTuningConfig
from adapters.composition import Fuse, Stack
from common import report, train
from transformers import BertConfig, BertModel

KINDS = {
    "bottleneck": BnConfig(mh_adapter=True, output_adapter=True, reduction_factor=4,
                           non_linearity="relu"),
    "low rank": LoRAConfig(r=2, alpha=4),
    "prefix": PrefixTuningConfig(prefix_length=3, bottleneck_size=8),
    "compact": CompacterConfig(phm_dim=2, reduction_factor=4),
    "scaled": AdapterConfig.load("ia3"),
}  # fmt: skip


def bert():
    torch.manual_seed(0)
    model = BertModel(BertConfig(
        vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    ))  # fmt: skip
    adapters.init(model)
    return model


def loss_of(model, ids):
    return model(ids).last_hidden_state.square().mean()


def main():
    torch.manual_seed(1)
    ids, found = torch.randint(0, 40, (2, 7)), {}
    for name, kind in KINDS.items():
        model = bert()
        torch.manual_seed(2)
        model.add_adapter(name, config=kind)
        model.train_adapter(name)
        found[name] = {"losses": train(model, ids, loss_of, rate=1e-2)}
        learnt = sum(p.numel() for p in model.parameters() if p.requires_grad)
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            model.eval().save_adapter(folder, name)
            again = bert().eval()
            loaded = again.load_adapter(folder, set_active=True)
            gap = (again(ids)[0] - model(ids)[0]).abs().max()
            found[name] |= {"learnt": learnt, "loaded": [loaded, gap]}
    model = bert()
    torch.manual_seed(3)
    for name in ("first", "second"):
        model.add_adapter(name, config="seq_bn")
    model.set_active_adapters(Stack("first", "second"))
    found["stacked"] = model(ids)[0]
    model.add_adapter_fusion(Fuse("first", "second"))
    model.train_adapter_fusion(Fuse("first", "second"))
    found["fused"] = train(model, ids, loss_of)
    found["summary"] = model.adapter_summary(as_dict=True)[0]["#param"]
    report(**found)


main()
