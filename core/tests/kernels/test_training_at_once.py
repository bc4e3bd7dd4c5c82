"""Whole training steps in several Python threads, and a fork in mid-training."""

from __future__ import annotations

import json
import os
import threading

import pytest

import rushlight as torch
from rushlight import nn


class Training:
    """A small image model and a recurrent one with their optimizer, the same for equal seeds."""

    def __init__(self, seed):
        torch.manual_seed(seed)
        self.images = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.GELU(), nn.Flatten(), nn.Linear(32 * 64, 40),
        )  # fmt: skip
        self.sequences = nn.LSTM(12, 40, batch_first=True)
        self.head = nn.Linear(40, 10)
        parts = (self.images, self.sequences, self.head)
        self.optimizer = torch.optim.Adam([p for part in parts for p in part.parameters()])
        self.x, self.s = torch.randn(24, 3, 16, 16), torch.randn(24, 9, 12)
        self.y = torch.randint(0, 10, (24,))

    def steps(self, count):
        losses = []
        for _ in range(count):
            self.optimizer.zero_grad()
            features = self.images(self.x) + self.sequences(self.s)[0][:, -1]
            loss = nn.functional.cross_entropy(self.head(features), self.y)
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return losses


@pytest.fixture(params=[2, 5])
def pool(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(before)


def test_four_python_threads_train(pool):
    wanted = [Training(seed).steps(6) for seed in range(4)]
    assert all(losses[-1] < losses[0] for losses in wanted)
    trainings, got = [Training(seed) for seed in range(4)], [None] * 4

    def body(k):
        got[k] = trainings[k].steps(6)

    group = [threading.Thread(target=body, args=(k,)) for k in range(4)]
    for thread in group:
        thread.start()
    for thread in group:
        thread.join(timeout=300)
    assert got == wanted


def test_fork_in_mid_training(pool):
    wanted = Training(0).steps(6)
    training = Training(0)
    assert training.steps(3) == wanted[:3]
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.write(writer, json.dumps(training.steps(3)).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    assert training.steps(3) == wanted[3:]
    with os.fdopen(reader) as pipe:
        assert json.load(pipe) == wanted[3:]
    assert os.waitpid(child, 0)[1] == 0
