"""chemprop: messages along the bonds of molecules, trained by Lightning, saved, and asked."""

import tempfile
from pathlib import Path

import numpy as np
import torch
from chemprop import data, featurizers, models, nn
from chemprop.models import load_model, save_model
from common import report
from lightning import pytorch as pl

SMILES = [
    "CCO", "CC(=O)O", "c1ccccc1", "CCN(CC)CC", "C1CCCCC1O", "CC(C)C#N", "O=C(N)c1ccncc1", "CS(=O)C",
    "ClCCBr", "C[C@H](N)C(=O)O", "OC1=CC=CC=C1", "FC(F)F",
]  # fmt: skip


def points(targets, smiles=SMILES, **more):
    return [
        data.MoleculeDatapoint.from_smi(s, y, **more) for s, y in zip(smiles, targets, strict=True)
    ]


def trained(model, dataset, **options):
    """What a few epochs give, and what the model says afterwards."""
    torch.manual_seed(1)
    loader = data.build_dataloader(dataset, batch_size=4, seed=0, num_workers=0)
    held = data.build_dataloader(dataset, batch_size=5, shuffle=False, num_workers=0)
    trainer = pl.Trainer(
        max_epochs=3, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, **options,
    )  # fmt: skip
    trainer.fit(model, loader, held)
    metrics = {name: value for name, value in trainer.callback_metrics.items()}
    return [metrics, torch.cat(trainer.predict(model, held))]


def parts(found, dataset):
    """Kinds of messages, aggregations and losses over one batch."""
    batch = next(iter(data.build_dataloader(dataset, batch_size=12, shuffle=False, num_workers=0)))
    for passing in (nn.BondMessagePassing, nn.AtomMessagePassing):
        for gather in (
            nn.MeanAggregation,
            nn.SumAggregation,
            nn.NormAggregation,
            nn.AttentiveAggregation,
        ):
            torch.manual_seed(2)
            options = {"output_size": 16} if gather is nn.AttentiveAggregation else {}
            messages = passing(d_h=16, depth=2, undirected=passing is nn.BondMessagePassing)
            model = models.MPNN(
                messages, gather(**options), nn.RegressionFFN(input_dim=16, hidden_dim=12)
            )
            out = model(batch.bmg)
            out.square().mean().backward()
            grads = [p.grad for p in model.parameters() if p.grad is not None]
            found[f"{passing.__name__} {gather.__name__}"] = [out, grads[0], grads[-1]]
    found["fingerprint"] = model.fingerprint(batch.bmg)
    found["features"] = [batch.bmg.V, batch.bmg.E, batch.bmg.edge_index, batch.bmg.batch]


def network(head, **options):
    torch.manual_seed(3)
    return models.MPNN(
        nn.BondMessagePassing(d_h=16, depth=2),
        nn.MeanAggregation(),
        head,
        batch_norm=True,
        **options,
    )


def main():
    found = {}
    size = np.array([[float(len(s)), s.count("C") / 2] for s in SMILES])
    dataset = data.MoleculeDataset(points(size))
    scaler = dataset.normalize_targets()
    parts(found, dataset)
    head = nn.RegressionFFN(
        input_dim=16,
        n_tasks=2,
        hidden_dim=16,
        output_transform=nn.UnscaleTransform.from_standard_scaler(scaler),
    )
    model = network(head, metrics=[nn.metrics.RMSE(), nn.metrics.MAE(), nn.metrics.R2Score()])
    found["regression"] = trained(model, dataset)
    with tempfile.TemporaryDirectory() as folder:
        save_model(Path(folder, "m.pt"), model)
        again = load_model(Path(folder, "m.pt"), multicomponent=False).eval()
        batch = next(
            iter(data.build_dataloader(dataset, batch_size=4, shuffle=False, num_workers=0))
        )
        found["kept"] = [again(batch.bmg), model.eval()(batch.bmg)]
    labels = (size[:, :1] > 7).astype(float)
    labels[3] = np.nan  # a target that nobody measured
    classes = data.MoleculeDataset(points(labels, x_d=np.array([0.5, -1.0])))
    model = network(
        nn.BinaryClassificationFFN(input_dim=18, hidden_dim=16),
        metrics=[nn.metrics.BinaryAUROC(), nn.metrics.BinaryAccuracy()],
    )
    found["classes"] = trained(model, classes, gradient_clip_val=1.0)
    for name, head in {
        "variance": nn.MveFFN(input_dim=16), "evidence": nn.EvidentialFFN(input_dim=16),
        "quantiles": nn.QuantileFFN(input_dim=16),
        "kinds": nn.MulticlassClassificationFFN(3, input_dim=16),
    }.items():  # fmt: skip
        values = size[:, :1] % 3 // 1 if name == "kinds" else size[:, :1] / 10
        found[name] = trained(network(head), data.MoleculeDataset(points(values)))
    pairs = [("CCO", "CC=O"), ("CC(=O)O", "CC(=O)OC"), ("CCBr", "CCO"), ("C=C", "CC")]
    reactions = [data.ReactionDatapoint.from_smi(f"{a}>>{b}", [float(len(b))]) for a, b in pairs]
    turn = featurizers.CondensedGraphOfReactionFeaturizer(mode_="REAC_DIFF")
    dataset = data.ReactionDataset(reactions, turn)
    messages = nn.BondMessagePassing(*turn.shape, d_h=16)
    torch.manual_seed(4)
    model = models.MPNN(messages, nn.MeanAggregation(), nn.RegressionFFN(input_dim=16))
    found["reactions"] = trained(model, dataset)
    report(**found)


main()
