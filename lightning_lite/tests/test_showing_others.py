"""Batches and results of texts, tables and sounds."""

from __future__ import annotations

import pytest

import rushlight as rl
from lightning_lite import easy
from lightning_lite.easy.data.printed import PrintedTable
from lightning_lite.easy.data.sounds import decibels
from rushlight import nn

RATE = 800


@pytest.fixture
def texts(tmp_path):
    for number in range(12):
        kind = ("up", "down")[number % 2]
        (tmp_path / kind).mkdir(exist_ok=True)
        words = "one two <b> " if kind == "up" else "Two one "
        (tmp_path / kind / f"{number}.txt").write_text(words * (number + 1))
    return tmp_path


class Silent(nn.Module):
    """As many outputs as there are classes: the first one is the largest."""

    def __init__(self, outputs):
        super().__init__()
        self.outputs = nn.Parameter(rl.arange(float(outputs)).neg())

    def forward(self, x, *others):
        return self.outputs.expand(len(x), -1)


class EachWord(Silent):
    """The same for every token."""

    def forward(self, x):
        return self.outputs.expand(*x.shape, -1)


def learner(dls, model, kind=easy.Learner):
    return kind(dls, model, nn.CrossEntropyLoss(), enable_progress_bar=False)


def test_texts(texts):
    dls = easy.TextDataLoaders.from_folder(texts, valid_pct=0.25, seed=1, bs=4)
    shown = dls.show_batch(max_n=3, trunc_at=6)
    assert shown.columns == ["text", "category"] and len(shown) == 3
    for text, kind in shown.rows:
        start = "xxbos one two" if kind == "up" else "xxbos xxmaj two one"
        assert text.startswith(start) and "xxpad" not in text
        assert len(text.split()) <= 7
    longest = shown.rows[0][0]
    assert longest.endswith(" ...") and len(longest.split()) == 7
    assert len(dls.show_batch(max_n=1, trunc_at=None).rows[0][0].split()) > 20
    found = learner(dls, Silent(2)).show_results(max_n=9)
    assert found.columns == ["text", "category", "predicted"] and len(found) == 3
    assert {row[2] for row in found.rows} == {"down"}


def test_a_language_models_texts(texts):
    dls = easy.TextDataLoaders.from_folder(
        texts, valid_pct=0.25, seed=1, bs=2, seq_len=5, is_lm=True
    )
    shown = dls.show_batch()
    assert shown.columns == ["text", "text_"] and len(shown) == 2
    for text, after in shown.rows:
        assert text.split()[1:] == after.split()[:-1]
    found = learner(dls, EachWord(len(dls.vocab))).show_results()
    assert found.columns == ["text", "text_", "predicted"]
    assert found.rows[0][2] == " ".join([dls.vocab[0]] * 5)


def test_tables():
    table = {"kind": ["a", "b"] * 10, "age": [30.0, None] * 10, "rich": ["yes", "no"] * 10}
    dls = easy.TabularDataLoaders.from_df(
        table, cat_names=["kind"], cont_names=["age"], y_names="rich", bs=4, seed=1
    )
    shown = dls.show_batch(max_n=3)
    assert shown.columns == ["kind", "age_na", "age", "rich"] and len(shown) == 3
    for kind, missing, age, rich in shown.rows:
        assert (missing, rich) == (("False", "yes") if kind == "a" else ("True", "no"))
        assert age == "30"
    found = learner(dls, Silent(2), easy.tables.TabularLearner).show_results()
    assert found.columns == [*shown.columns, "rich_pred"] and len(found) == 4
    assert {row[-1] for row in found.rows} == {"no"}


def test_tables_of_numbers():
    table = {"x": [float(each) for each in range(20)], "y": [each / 3 for each in range(20)]}
    table["z"] = [-each for each in table["y"]]
    dls = easy.TabularDataLoaders.from_df(table, cont_names=["x"], y_names=["y", "z"], bs=4)
    for x, y, z in dls.show_batch().rows:
        assert float(y) == pytest.approx(float(x) / 3, abs=1e-4) == -float(z)
    learn = easy.tabular_learner(dls, layers=[4], enable_progress_bar=False)
    found = learn.show_results(max_n=2)
    assert found.columns == ["x", "y", "z", "y_pred", "z_pred"]
    outputs = learn.get_preds()[0][:2].tolist()
    told = [[float(each) for each in row[-2:]] for row in found.rows]
    assert told == [pytest.approx(each, rel=1e-4) for each in outputs]
    other = easy.tabular_learner(
        table, "y", cont_names=["x"], layers=[4], enable_progress_bar=False
    )
    assert other.show_results().columns == ["x", "y", "y_pred"]


def test_a_printed_table():
    shown = PrintedTable(["text", "kind"], [["word " * 20, "<a>"], ["", "b & c"]])
    lines = str(shown).split("\n")
    assert lines[0].split() == ["text", "kind"] and set(lines[1]) == {"-", " "}
    assert len(lines) == 5 and max(map(len, lines)) < 70, "a long cell goes on in the next line"
    assert {line.index("word") for line in lines[2:4]} == {0} and lines[2].endswith("<a>")
    assert lines[4].strip() == "b & c" and lines[4].index("b") == lines[0].index("kind")
    assert repr(shown) == str(shown)
    page = shown._repr_html_()
    assert page.count("<tr>") == 3 and "&lt;a&gt;" in page and "b &amp; c" in page
    assert "<a>" not in page


@pytest.fixture
def sounds():
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    def tone(number):
        return (2 * rl.pi * (100, 300)[number % 2] / RATE * rl.arange(RATE)).sin() / (1 + number)

    block = easy.DataBlock(
        (easy.AudioBlock(RATE, 0.5), easy.CategoryBlock), get_x=tone,
        get_y=lambda number: ("low", "high")[number % 2], splitter=easy.EndSplitter(0.3),
    )  # fmt: skip
    yield block.dataloaders(list(range(10)), bs=4)
    plt.close("all")


def test_sounds(sounds):
    figure = sounds.show_batch(max_n=3, columns=2)
    assert len(figure.axes) == 4
    for ax in figure.axes[:3]:
        x, y = ax.lines[0].get_data()
        assert len(x) == RATE // 2 and x[-1] == pytest.approx(0.5 - 1 / RATE)
        turns = (y[:-1] * y[1:] < 0).sum()
        assert (turns > 200) == (ax.get_title() == "high"), "zero crossings"
    assert len({ax.get_ylim() for ax in figure.axes[:3]}) == 1, "one scale"
    figure = learner(sounds, Silent(2)).show_results()
    titles = [ax.get_title() for ax in figure.axes if ax.get_title()]
    assert titles == ["high\nhigh", "low\nhigh", "high\nhigh"]


def test_sounds_as_spectrograms(sounds):
    for ax in sounds.show_batch(spectrogram=True).axes:
        if ax.images:
            shown = ax.images[0].get_array()
            loudest = shown.mean(1).argmax() / (len(shown) - 1) * RATE / 2
            expected = 300 if ax.get_title() == "high" else 100
            assert loudest == pytest.approx(expected, abs=5)
            assert ax.images[0].get_extent() == pytest.approx((0, 0.5, 0, RATE / 2000))


def test_silence_has_a_spectrogram():
    found = decibels(rl.zeros(600))
    assert found.shape == (257, 1) and bool((found == -80).all())
    assert decibels(rl.randn(100)).shape == (51, 1)
