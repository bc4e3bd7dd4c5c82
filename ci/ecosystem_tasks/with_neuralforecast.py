"""neuralforecast: NHITS, an LSTM, PatchTST and TiDE on two series, saved and loaded."""

import logging
import tempfile

import numpy as np
import pandas
import torch
from common import report
from neuralforecast import NeuralForecast
from neuralforecast.losses.pytorch import DistributionLoss
from neuralforecast.models import LSTM, NHITS, PatchTST, TiDE


def main():
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    random, rows = np.random.default_rng(0), []
    for name in ("a", "b"):
        for day, date in enumerate(pandas.date_range("2020-01-01", periods=60)):
            rows.append({"unique_id": name, "ds": date, "y": np.sin(day / 4) + random.normal() / 9})
    options = {
        "h": 4, "input_size": 8, "max_steps": 3, "random_seed": 1, "accelerator": "cpu",
        "enable_progress_bar": False, "logger": False, "enable_checkpointing": False,
        "enable_model_summary": False,
    }  # fmt: skip
    models = [
        NHITS(mlp_units=3 * [[8, 8]], **options),
        LSTM(encoder_hidden_size=8, decoder_hidden_size=8, encoder_dropout=0.0, **options),
        PatchTST(
            encoder_layers=1, n_heads=2, hidden_size=8, linear_hidden_size=8, patch_len=4,
            dropout=0.0, fc_dropout=0.0, attn_dropout=0.0, head_dropout=0.0, **options,
        ),
        TiDE(
            hidden_size=8, decoder_output_dim=4, temporal_decoder_dim=8, dropout=0.0,
            loss=DistributionLoss("Normal", level=[80], return_params=False), **options,
        ),
    ]  # fmt: skip
    forecast = NeuralForecast(models=models, freq="D")
    forecast.fit(pandas.DataFrame(rows), val_size=0)
    out = forecast.predict()
    names = [n for n in out.columns if n in ("NHITS", "LSTM", "PatchTST")]
    found = {name: torch.as_tensor(out[name].to_numpy(copy=True)) for name in names}
    found["columns"] = list(out.columns)
    found["weights"] = [
        float(sum(p.double().sum() for p in model.parameters())) for model in models
    ]
    with tempfile.TemporaryDirectory() as folder:
        forecast.save(folder, overwrite=True, save_dataset=True)
        again = NeuralForecast.load(folder).predict()
    found["again"] = torch.as_tensor(again["NHITS"].to_numpy(copy=True))
    report(**found)


main()
