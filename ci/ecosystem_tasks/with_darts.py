"""darts: N-BEATS, a recurrent network, a TCN and TSMixer with covariates, saved and loaded."""

import logging
import tempfile

import numpy as np
import torch
from common import report
from darts import TimeSeries
from darts.dataprocessing.transformers import Scaler
from darts.models import NBEATSModel, RNNModel, TCNModel, TSMixerModel
from darts.utils.likelihood_models.torch import GaussianLikelihood


def main():
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    logging.getLogger("darts").setLevel(logging.ERROR)
    random = np.random.default_rng(0)
    values = np.sin(np.arange(80) / 4) + random.normal(size=80) / 10
    series = TimeSeries.from_values(values.astype(np.float32))
    past = TimeSeries.from_values((np.arange(80) % 7 / 7).astype(np.float32))
    series = Scaler().fit_transform(series)
    quiet = {
        "accelerator": "cpu", "enable_progress_bar": False, "logger": False,
        "enable_model_summary": False,
    }  # fmt: skip
    options = {
        "input_chunk_length": 12, "batch_size": 16, "n_epochs": 2, "random_state": 0,
        "pl_trainer_kwargs": quiet,
    }  # fmt: skip
    models = {
        "nbeats": NBEATSModel(
            output_chunk_length=4, num_stacks=1, num_blocks=1, layer_widths=8, **options
        ),
        "rnn": RNNModel(model="GRU", hidden_dim=8, training_length=16, **options),
        "tcn": TCNModel(output_chunk_length=4, num_filters=3, dropout=0.0, **options),
        "tsmixer": TSMixerModel(
            output_chunk_length=4, hidden_size=8, ff_size=8, num_blocks=1, dropout=0.0, **options
        ),
    }
    found = {}
    for name, model in models.items():
        covariates = {"past_covariates": past} if name in ("nbeats", "tsmixer") else {}
        model.fit(series, **covariates)
        found[name] = torch.as_tensor(model.predict(4, series=series, **covariates).values().copy())
    with tempfile.TemporaryDirectory() as folder:
        models["tcn"].save(f"{folder}/model.pt")
        again = TCNModel.load(f"{folder}/model.pt", pl_trainer_kwargs=quiet)
        found["again"] = torch.as_tensor(again.predict(4, series=series).values().copy())
    model = RNNModel(
        model="LSTM", hidden_dim=8, training_length=16, likelihood=GaussianLikelihood(), **options
    )
    model.fit(series)
    drawn = model.predict(4, num_samples=8, random_state=3)
    found["likelihood"] = torch.as_tensor(drawn.all_values().copy())
    report(**found)


main()
