"""Data pipes, compared with PyTorch's."""

from __future__ import annotations

import random

import pytest

import rushlight

torch = pytest.importorskip("torch")

_CALLS = """
list(wrap(range(5)).map(lambda x: 2 * x)) ; list(wrap(range(7)).batch(3))
len(wrap([1, 2, 3]).batch(2)) ; list(wrap(range(7)).batch(3, drop_last=True))
list(wrap(range(9)).filter(lambda x: x % 2 == 0))
list(wrap([(1, 2), (3, 4)]).map(lambda x: -x, input_col=1))
list(wrap([(1, 2), (3, 4)]).map(lambda x: -x, input_col=0, output_col=1))
list(wrap([(1, 2), (3, 4)]).map(lambda x: -x, input_col=0, output_col=-1))
list(wrap([(1, 2, 5), (3, 4, 6)]).map(lambda x, y: x * y, input_col=[0, 2]))
list(wrap([[[1, 2], [3]], [[4]]]).unbatch())
list(wrap([[[1, 2], [3]], [[4]]]).unbatch(unbatch_level=2))
list(wrap([[[1, 2], [3]], [[4]]]).unbatch(-1)) ; list(wrap([1, 2]).concat(wrap([3])))
list(wrap("ab").zip(wrap([1, 2, 3]))) ; list(wrap([1, 2]).mux(wrap([3, 4, 5])))
list(wrap(range(8)).groupby(lambda x: x % 3))
list(wrap(range(8)).groupby(lambda x: x % 3, group_size=2))
list(wrap(range(8)).groupby(lambda x: x % 3, keep_key=True))
list(wrap(range(20)).shuffle(buffer_size=5).set_seed(3))
list(wrap(range(20)).shuffle().set_seed(4)) ; list(wrap(range(20)).shuffle().set_shuffle(False))
list(home.manual_seed(7) and wrap(range(9)).shuffle()) ; list(wrap(range(7)).sharding_filter())
[t.tolist() for t in wrap(range(4)).batch(2).collate()] ; wrap(range(4)).batch(0)
wrap([1]).map(lambda x: x, output_col=0) ; list(wrap([1]).filter(lambda x: 3))
list(iters.Sampler(wrap([5, 6]))) ; len(wrap(iter([1]))) ; iters.Concater() ; wrap([1]).nothing
list(maps.SequenceWrapper([1, 2, 3]).map(lambda x: x + 1))
maps.SequenceWrapper([1, 2, 3]).batch(2)[1]
list(maps.SequenceWrapper(list("abc")).shuffle().set_seed(5))
len(maps.SequenceWrapper([1, 2]).concat(maps.SequenceWrapper([3])))
maps.SequenceWrapper([1, 2]).concat(maps.SequenceWrapper([3]))[2]
maps.SequenceWrapper([1]).zip(maps.SequenceWrapper([2]))[0]
"""


@pytest.mark.filterwarnings("ignore:Lambda function")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of PyTorch's
@pytest.mark.parametrize("line", _CALLS.strip().splitlines())
def test_pipes_give_what_they_give_there(line):
    for text in line.split(" ; "):
        found = []
        for home in (rushlight, torch):
            pipes = __import__(f"{home.__name__}.utils.data.datapipes", fromlist=["iter", "map"])
            names = {"home": home, "iters": pipes.iter, "maps": pipes.map}
            names["wrap"] = pipes.iter.IterableWrapper
            try:
                found.append(eval(text, names))  # noqa: S307
            except Exception as error:
                found.append(type(error))
        assert found[0] == found[1], text


def test_files_are_listed_and_read(tmp_path):
    for name in ("b.txt", "a.txt", "c.bin"):
        (tmp_path / name).write_text(name)
    iters = rushlight.utils.data.datapipes.iter
    found = iters.FileLister(str(tmp_path), "*.txt").open_files().read_from_stream()
    assert [text for _, text in found] == ["a.txt", "b.txt"]


def test_classes_become_methods_and_loaders_read_pipes():
    data = rushlight.utils.data

    @data.functional_datapipe(f"doubled_{random.randrange(10**9)}")
    class Doubled(data.IterDataPipe):
        """Every item twice."""

        def __init__(self, source):
            self.source = source

        def __iter__(self):
            for item in self.source:
                yield from (item, item)

    pipe = Doubled(data.datapipes.iter.IterableWrapper(range(3)))
    assert [x.tolist() for x in data.DataLoader(pipe, batch_size=4)] == [[0, 0, 1, 1], [2, 2]]
    with pytest.raises(Exception, match="already taken"):
        data.IterDataPipe.register_datapipe_as_function("map", Doubled)
    with pytest.raises(TypeError, match="can only decorate"):
        data.functional_datapipe("nothing")(dict)


def test_workers_have_parts_of_a_pipe():
    data = rushlight.utils.data
    pipe = data.datapipes.iter.IterableWrapper(range(10)).sharding_filter()
    loader = data.DataLoader(pipe, batch_size=2, num_workers=2)
    assert sorted(x for batch in loader for x in batch.tolist()) == list(range(10))
