"""gluonts: DeepAR and a feed-forward network from its Trainer, predictors saved and loaded."""

import tempfile
from pathlib import Path

import lightning
import numpy as np
import torch
from common import report
from gluonts.dataset.common import ListDataset
from gluonts.model.predictor import Predictor
from gluonts.torch.distributions import NormalOutput, StudentTOutput
from gluonts.torch.model.deepar import DeepAREstimator
from gluonts.torch.model.simple_feedforward import SimpleFeedForwardEstimator


def main():
    random = np.random.default_rng(0)
    values = [np.sin(np.arange(60) / 4 + i) + random.normal(size=60) / 10 for i in range(3)]
    data = ListDataset(
        [{"start": "2020-01-01", "target": v.astype(np.float32)} for v in values], freq="D"
    )
    options = {
        "max_epochs": 2, "enable_progress_bar": False, "logger": False,
        "enable_model_summary": False, "accelerator": "cpu",
    }  # fmt: skip
    found = {}
    for name, make in {
        "feedforward": lambda: SimpleFeedForwardEstimator(
            prediction_length=5, context_length=10, hidden_dimensions=[8], batch_size=8,
            num_batches_per_epoch=4, distr_output=StudentTOutput(), trainer_kwargs=options,
        ),
        "deepar": lambda: DeepAREstimator(
            freq="D", prediction_length=5, context_length=10, num_layers=1, hidden_size=8,
            dropout_rate=0.0, batch_size=8, num_batches_per_epoch=4, distr_output=NormalOutput(),
            trainer_kwargs=options,
        ),
    }.items():  # fmt: skip
        lightning.seed_everything(0, verbose=False)
        predictor = make().train(data)
        found[name] = list(predictor.prediction_net.state_dict().values())[:4]
        torch.manual_seed(1)
        forecasts = [f for f in predictor.predict(data, num_samples=20)]
        found[f"{name} mean"] = [torch.as_tensor(f.mean) for f in forecasts]
        found[f"{name} quantile"] = torch.as_tensor(forecasts[0].quantile(0.9))
        with tempfile.TemporaryDirectory() as folder:
            predictor.serialize(Path(folder))
            again = Predictor.deserialize(Path(folder))
        torch.manual_seed(1)
        found[f"{name} again"] = torch.as_tensor(
            next(iter(again.predict(data, num_samples=20))).mean
        )
    report(**found)


main()
