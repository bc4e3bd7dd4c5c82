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
    loss = fitting.translation_loss(model)
    return fitting.Course(model, plan, folder, lambda averaged, epoch: f"{epoch}", loss)


def test_a_course_goes_on(fitting, tmp_path):
    whole = course(fitting, tmp_path / "a")
    first = whole.run(PAIRS)
    assert whole.recipes() == ["--epochs 4 --decay 2 --lr 0.01"] and whole.epoch == 4
    part = course(fitting, tmp_path / "b", stop=2)
    part.run(PAIRS)
    assert part.recipes() == ["--epochs 4 --decay 2 --lr 0.01 --stop 2"]
    rest = course(fitting, tmp_path / "b")
    again = rest.run(PAIRS)
    assert rest.step == whole.step
    for ours, theirs in zip(again.parameters(), first.parameters(), strict=True):
        assert rl.allclose(ours, theirs, atol=1e-5)


def test_a_longer_plan_goes_on_where_one_is_done(fitting, tmp_path):
    course(fitting, tmp_path).run(PAIRS)
    further = course(fitting, tmp_path)
    further.plan.epochs, further.plan.lr = 6, 5e-3
    rates = []
    further.report = lambda *_: str(rates.append(further.optimizer.param_groups[0]["lr"]))
    further.run(PAIRS)
    recipes = ["--epochs 4 --decay 2 --lr 0.01", "--epochs 6 --decay 2 --lr 0.005"]
    assert further.epoch == 6 and further.recipes() == recipes
    assert 5e-3 > rates[0] > 2.5e-3 > rates[1] > 0
    again = course(fitting, tmp_path)
    again.plan.epochs, again.plan.lr = 6, 5e-3
    again.run(PAIRS)
    assert again.recipes() == recipes and again.step == further.step


def test_a_course_learns(fitting, tmp_path):
    taught = course(fitting, tmp_path)
    taught.plan.epochs, taught.plan.decay = 40, 10
    before = taught.loss_of(PAIRS).item()
    taught.run(PAIRS)
    assert taught.loss_of(PAIRS).item() < 0.7 * before


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


def test_equal_batches_hold_every_pair(fitting):
    import random

    rows = [([0] * (3 + n % 7), [1] * (n % 7) + [n]) for n in range(50)]
    batches = fitting.equal_batches(rows, 20, random.Random(0))
    assert sorted(t[-1] for b in batches for _, t in b) == list(range(50))
    assert all(len({len(t) for _, t in b}) == 1 for b in batches)
    assert max(len(b) * len(b[0][1]) for b in batches) <= 20 < sum(map(len, batches))
    again = fitting.equal_batches(rows, 20, random.Random(1))
    assert again != batches


def test_an_aligned_network_learns(fitting, tmp_path):
    from rushlight_text.zoo.aligned import AlignedTransformer

    rl.manual_seed(0)
    model = AlignedTransformer(8, 8, width=16, encoder_layers=1, decoder_layers=1, heads=2)
    plan = fitting.Plan(lr=1e-2, tokens=40, epochs=20, decay=5, warm=4, average=0.9)
    loss, batches = fitting.aligned_loss(model), fitting.equal_batches
    pairs = [([0, 2 + n % 5, 2 + n // 5, 1], [n // 5, n % 5]) for n in range(25)]
    before = loss(pairs).item()
    taught = fitting.Course(model, plan, tmp_path, lambda *_: "", loss, batches).run(pairs)
    assert loss(pairs).item() < 0.7 * before
    found, _ = taught.search(rl.tensor([letters for letters, _ in pairs]), 2)
    right = [best[0] == pieces for best, (_, pieces) in zip(found.tolist(), pairs, strict=True)]
    assert sum(right) >= 23
