"""Reports: the summary of a model, the environment, where a step's time goes."""

import subprocess
import sys
import time

import pytest

import rushlight
from rushlight import nn
from rushlight.profiler import where_does_my_step_go
from rushlight.utils import collect_env
from rushlight.utils.summary import summarize


def test_the_summary_of_a_model():
    model = nn.Sequential(nn.Conv2d(1, 2, 3, bias=False), nn.ReLU(), nn.Flatten(), nn.Linear(72, 4))
    model[0].weight.requires_grad_(False)
    found = summarize(model, rushlight.ones(5, 1, 8, 8))
    assert [row.kind for row in found.rows] == ["Sequential", "Conv2d", "ReLU", "Flatten", "Linear"]
    assert [row.output for row in found.rows] == [
        [5, 4],
        [5, 2, 6, 6],
        [5, 2, 6, 6],
        [5, 72],
        [5, 4],
    ]
    assert [row.parameters for row in found.rows] == [310, 18, 0, 0, 292]
    assert (
        found.rows[1].multiply_adds == 5 * 2 * 36 * 9 and found.rows[4].multiply_adds == 5 * 72 * 4
    )
    assert found.multiply_adds == 3240 + 1440 and found.trainable_parameters == 292
    text = str(found)
    assert "[5, 2, 6, 6]" in text and "310 parameters (292 trainable, 18 frozen), 0.001 MB" in text
    assert model.training and not model[0]._forward_hooks


def test_summaries_of_nested_models_and_wrong_calls():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)
    shallow = summarize(encoder, rushlight.ones(3, 1, 8), depth=1)
    assert [row.name for row in shallow.rows] == ["", "layers"]
    assert summarize(nn.LSTM(3, 4), rushlight.ones(5, 2, 3)).rows[0].output[0] == [5, 2, 4]
    with pytest.raises(TypeError, match="'model' to be a Module, got int"):
        summarize(3, rushlight.ones(1))
    with pytest.raises(ValueError, match="give the inputs"):
        summarize(encoder)


def test_the_environment():
    found = collect_env.get_env_info()
    assert found.rushlight_version == rushlight.__version__ and found.memory > 1 << 28
    assert found.packages["numpy"] and found.cpu_count >= 1
    text = collect_env.get_pretty_env_info()
    assert f"Rushlight version: {rushlight.__version__}" in text and "numpy==" in text
    run = [sys.executable, "-m", "rushlight.utils.collect_env"]
    printed = subprocess.run(run, capture_output=True, text=True, check=True, timeout=60).stdout
    assert "Versions of relevant libraries:" in printed


def test_where_a_step_goes():
    model = nn.Linear(200, 200)
    optimizer = rushlight.optim.Adam(model.parameters())

    def batches():
        while True:
            time.sleep(0.02)
            yield rushlight.ones(64, 200)

    def step(batch):
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
        time.sleep(0.01)

    found = where_does_my_step_go(step, batches(), steps=3)
    assert found.phases["data"] >= 0.02 and found.phases["other"] >= 0.01
    assert all(found.phases[name] > 0 for name in ("forward", "backward", "optimizer"))
    assert sum(found.phases.values()) == pytest.approx(found.seconds, rel=0.01)
    assert found.ops["AddmmBackward0"] > 0
    text = str(found)
    assert "data" in text and "AddmmBackward0" in text and "num_workers" in text


def test_a_step_without_data_and_wrong_calls():
    assert where_does_my_step_go(lambda: rushlight.ones(3).exp(), steps=2).phases["data"] < 0.01
    with pytest.raises(ValueError, match="the data end after 3 batches; 7 are needed"):
        where_does_my_step_go(lambda batch: None, [1, 2, 3])
    with pytest.raises(TypeError, match="'step' to be a function, got int"):
        where_does_my_step_go(3)
    assert rushlight.ones(2).exp().shape == (2,)
