"""pytorch-forecasting: data sets of series, N-BEATS, a temporal fusion transformer and DeepAR."""

import numpy as np
import pandas
import torch
from common import report, train
from pytorch_forecasting import DeepAR, NBeats, TemporalFusionTransformer, TimeSeriesDataSet
from pytorch_forecasting.data import GroupNormalizer
from pytorch_forecasting.metrics import SMAPE, NormalDistributionLoss, QuantileLoss


def table():
    """Two series of forty days."""
    random, rows = np.random.default_rng(0), []
    for name in ("a", "b"):
        for day in range(40):
            value = 2 + np.sin(day / 3) + random.normal() / 10
            rows.append({"series": name, "day": day, "value": value, "price": day % 5 / 5})
    return pandas.DataFrame(rows)


def data(**options):
    """The data set of windows."""
    return TimeSeriesDataSet(
        table(), time_idx="day", target="value", group_ids=["series"], max_encoder_length=10,
        max_prediction_length=4, time_varying_unknown_reals=["value"],
        target_normalizer=GroupNormalizer(groups=["series"]), **options,
    )  # fmt: skip


def fit(model, batch):
    """Losses of training, and the prediction after it."""
    x, y = batch

    def loss_of(m, _):
        return m.loss(m(x)["prediction"], y)

    losses = train(model, batch, loss_of, rate=1e-2)
    model.eval()
    with torch.no_grad():
        out = model(x)["prediction"]
    return {"losses": losses, "prediction": out}


def main():
    torch.manual_seed(0)
    found = {}
    plain = data()
    batch = next(iter(plain.to_dataloader(train=False, batch_size=8)))
    found["target"] = batch[0]["decoder_target"]
    found["encoder"] = batch[0]["encoder_cont"]
    model = NBeats.from_dataset(plain, widths=[8, 16], loss=SMAPE())
    found["nbeats"] = fit(model, batch)
    rich = data(
        time_varying_known_reals=["price", "day"], static_categoricals=["series"],
        add_relative_time_idx=True, add_encoder_length=True,
    )  # fmt: skip
    batch = next(iter(rich.to_dataloader(train=False, batch_size=8)))
    model = TemporalFusionTransformer.from_dataset(
        rich, hidden_size=8, attention_head_size=2, hidden_continuous_size=4, dropout=0.0,
        loss=QuantileLoss([0.1, 0.5, 0.9]),
    )  # fmt: skip
    found["fusion"] = fit(model, batch)
    out = model(batch[0])
    found["attention"] = model.interpret_output(out, reduction="sum")["attention"]
    series = data(time_varying_known_reals=["price"])
    batch = next(iter(series.to_dataloader(train=False, batch_size=8)))
    model = DeepAR.from_dataset(
        series, hidden_size=8, rnn_layers=2, dropout=0.0, loss=NormalDistributionLoss()
    )
    model.train()
    found["deepar"] = train(
        model, batch, lambda m, b: m.loss(m(b[0])["prediction"], b[1]), rate=1e-2
    )
    a, b = torch.rand(3, 4) + 1, torch.rand(3, 4) + 1
    found["smape"] = SMAPE()(a, b)
    report(**found)


main()
