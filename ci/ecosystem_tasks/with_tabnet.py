"""pytorch-tabnet: a classifier, a regressor and pretraining of tables, masks, saved and loaded."""

import tempfile

import numpy as np
import torch
from common import report
from pytorch_tabnet.pretraining import TabNetPretrainer
from pytorch_tabnet.tab_model import TabNetClassifier, TabNetRegressor

SIZES = {"n_d": 4, "n_a": 4, "n_steps": 2, "verbose": 0, "seed": 0, "device_name": "cpu"}
FIT = {"max_epochs": 3, "batch_size": 32, "virtual_batch_size": 16, "num_workers": 0}


def main():
    random = np.random.default_rng(0)
    x = random.normal(size=(96, 6)).astype(np.float32)
    x[:, 5] = random.integers(0, 4, 96)
    labels, values = (x[:, 0] > 0).astype(int), x[:, :1] * 2 + x[:, 1:2]
    found = {}
    model = TabNetClassifier(cat_idxs=[5], cat_dims=[4], cat_emb_dim=2, **SIZES)
    model.fit(x[:64], labels[:64], eval_set=[(x[64:], labels[64:])], eval_metric=["auc"], **FIT)
    found["losses"] = [float(v) for v in model.history["loss"]]
    found["auc"] = [float(v) for v in model.history["val_0_auc"]]
    found["probabilities"] = torch.as_tensor(model.predict_proba(x[64:]))
    found["importances"] = torch.as_tensor(model.feature_importances_)
    explained, masks = model.explain(x[64:])
    found["masks"] = [torch.as_tensor(explained), torch.as_tensor(masks[0])]
    with tempfile.TemporaryDirectory() as folder:
        again = TabNetClassifier()
        again.load_model(model.save_model(f"{folder}/model"))
        found["again"] = torch.as_tensor(again.predict_proba(x[64:]))
    before = TabNetPretrainer(mask_type="entmax", **SIZES)
    before.fit(x[:64, :5], eval_set=[x[64:, :5]], pretraining_ratio=0.5, **FIT)
    found["pretraining"] = [float(v) for v in before.history["loss"]]
    model = TabNetRegressor(mask_type="entmax", **SIZES)
    model.fit(x[:64, :5], values[:64], from_unsupervised=before, **FIT)
    found["regression"] = torch.as_tensor(model.predict(x[64:, :5]))
    report(**found)


main()
