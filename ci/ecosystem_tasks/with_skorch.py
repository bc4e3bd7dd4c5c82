"""skorch: a network as an estimator of scikit-learn, in a grid search, pickled."""

import pickle

import numpy as np
import torch
from common import report
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import EarlyStopping, EpochScoring


class Net(torch.nn.Module):
    """Two lines."""

    def __init__(self, width=8, outputs=2):
        super().__init__()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(5, width), torch.nn.ReLU(), torch.nn.Linear(width, outputs)
        )

    def forward(self, x):
        return self.net(x)


def main():
    numbers = np.random.default_rng(0)
    x = numbers.normal(size=(80, 5)).astype("float32")
    y = (x.sum(1) > 0).astype("int64")
    torch.manual_seed(0)
    net = NeuralNetClassifier(
        Net, criterion=torch.nn.CrossEntropyLoss, max_epochs=4, lr=0.1, verbose=0,
        callbacks=[EpochScoring("accuracy", lower_is_better=False), EarlyStopping(patience=5)],
        iterator_train__shuffle=True,
    )  # fmt: skip
    net.fit(x, y)
    found = {
        "losses": net.history[:, "train_loss"], "valid": net.history[:, "valid_loss"],
        "accuracy": net.history[:, "accuracy"], "scores": torch.tensor(net.predict_proba(x)),
    }  # fmt: skip
    again = pickle.loads(pickle.dumps(net))
    found["pickled"] = float(np.abs(again.predict_proba(x) - net.predict_proba(x)).max())
    torch.manual_seed(1)
    search = GridSearchCV(net, {"module__width": [2, 6]}, cv=2, scoring="accuracy", refit=False)
    search.fit(x, y)
    found["search"] = search.cv_results_["mean_test_score"].tolist()
    torch.manual_seed(2)
    whole = make_pipeline(
        StandardScaler(), NeuralNetRegressor(Net, module__outputs=1, verbose=0, max_epochs=3)
    )
    whole.fit(x, x.sum(1, keepdims=True))
    found["pipeline"] = torch.tensor(whole.predict(x))
    report(**found)


main()
