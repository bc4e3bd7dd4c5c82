"""The training loop of ``text/zoo``: rates, the clock, and going on from a checkpoint."""

import datetime
import importlib.util
import sys
from pathlib import Path

import pytest

import rushlight as rl


@pytest.fixture(scope="module")
def fitting():
    path = Path(__file__).parents[1] / "zoo" / "fitting.py"
    if not path.is_file():
        pytest.skip("the trainers are in the repository alone")
    spec = importlib.util.spec_from_file_location("zoo_fitting", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_rates(fitting):
    plan = fitting.Plan(lr=1.0, tokens=10, epochs=10, decay=4, warm=5)
    assert [plan.rate(0.1, step) for step in (0, 3, 4, 100)] == [0.2, 0.8, 1.0, 1.0]
    assert [plan.rate(e, 100) for e in (5.9, 6, 7, 9.5, 10)] == [1.0, 1.0, 0.75, 0.125, 0.0]


def test_the_clock_begins_the_decay(fitting):
    later = datetime.datetime.now() + datetime.timedelta(minutes=20)
    if later.day != datetime.datetime.now().day:
        pytest.skip("a time of this day is needed")
    plan = fitting.Plan(1.0, 10, epochs=30, decay=4, until=later.strftime("%H:%M"))
    plan.look_at_the_clock(3, 60.0)  # 19 to 20 epochs are left
    assert plan.epochs == 8 and plan.until
    assert plan.rate(3.99, 1000) == 1.0  # the rate does not fall yet
    plan.look_at_the_clock(4, 280.0)
    assert plan.epochs == 8 and plan.until is None
    plan.look_at_the_clock(5, 1.0)
    assert plan.epochs == 8


PAIRS = [([3 + n % 5, 3 + n // 5, 1], [3 + n // 5, 3 + n % 5, 1]) for n in range(25)]


def course(fitting, folder, **times):
    rl.manual_seed(0)
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    model = fitting.encoder_decoder(16, 1, 2, 8, 6, dropout=0.1, **ids)
    plan = fitting.Plan(lr=1e-2, tokens=30, epochs=4, decay=2, warm=4, average=0.9, **times)
    return fitting.Course(model, plan, folder, lambda averaged, epoch: f"{epoch}")


def test_a_course_goes_on(fitting, tmp_path):
    whole = course(fitting, tmp_path / "a")
    first = whole.run(PAIRS)
    assert whole.recipe() == "--epochs 4 --decay 2" and whole.epoch == 4
    part = course(fitting, tmp_path / "b", stop=2)
    part.run(PAIRS)
    assert part.recipe() == "--epochs 4 --decay 2 --stop 2"
    rest = course(fitting, tmp_path / "b")
    again = rest.run(PAIRS)
    assert rest.step == whole.step
    for ours, theirs in zip(again.parameters(), first.parameters(), strict=True):
        assert rl.allclose(ours, theirs, atol=1e-5)


def test_a_course_learns(fitting, tmp_path):
    taught = course(fitting, tmp_path)
    taught.plan.epochs, taught.plan.decay = 40, 10
    before = taught.loss_of(fitting.tensors(PAIRS)).item()
    taught.run(PAIRS)
    assert taught.loss_of(fitting.tensors(PAIRS)).item() < 0.7 * before


def test_batches_hold_every_pair(fitting):
    import random

    rows = [([1] * (1 + n % 7), [1] * (1 + n % 4) + [n]) for n in range(50)]
    batches = fitting.pair_batches(rows, 20, random.Random(0))
    assert sorted(t[-1] for b in batches for _, t in b) == list(range(50))
    assert max(len(b) * max(len(t) for _, t in b) for b in batches) <= 20
    ids, mask, labels = fitting.tensors(batches[0])
    assert ids.shape == mask.shape and int((labels == -100).sum()) == sum(
        labels.shape[1] - len(target) for _, target in batches[0]
    )
