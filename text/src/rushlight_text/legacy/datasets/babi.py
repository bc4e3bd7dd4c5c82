"""Short stories with questions (Weston et al. 2015)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import rushlight as rl
from rushlight_text.legacy.data import Dataset, Example, Field, Iterator

__all__ = ["BABI20", "BABI20Field"]


class BABI20Field(Field):
    """Sentences, or lists of them: the last `memory_size` ones, newest first; ``[B, M, T]``."""

    def __init__(self, memory_size: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.memory_size = memory_size
        self.unk_token = None
        self.batch_first = True

    def preprocess(self, x: Any) -> Any:
        """The tokens of a sentence, or of each of several."""
        return (
            [self.preprocess(each) for each in x] if isinstance(x, list) else super().preprocess(x)
        )

    def pad(self, minibatch: Any) -> Any:
        """Sentences of one length, and stories of one number of them."""
        if not isinstance(minibatch[0][0], list):
            return super().pad(minibatch)
        self.fix_length = max(len(sentence) for story in minibatch for sentence in story)
        padded = []
        for story in minibatch:
            newest = story[::-1][: self.memory_size]
            blank = [[self.pad_token] * self.fix_length] * (self.memory_size - len(newest))
            padded.append([*super().pad(newest), *blank])
        self.fix_length = None
        return padded

    def numericalize(self, arr: Any, device: Any = None) -> Any:
        """``[B, T]`` of sentences, ``[B, M, T]`` of stories."""
        if not isinstance(arr[0][0], list):
            return super().numericalize(arr, device=device)
        return rl.stack([super(BABI20Field, self).numericalize(x, device=device) for x in arr])


class BABI20(Dataset):
    """Fields ``story``, ``query``, ``answer``.

    Args:
        path: the file of a task.
        text_field: of all three.
        only_supporting: only the sentences that the answer needs.
    """

    urls = ("http://www.thespermwhale.com/jaseweston/babi/tasks_1-20_v1-2.tar.gz",)
    name = ""
    dirname = ""

    @staticmethod
    def sort_key(ex: Any) -> int:
        """The length of the question."""
        return len(ex.query)

    def __init__(self, path: str, text_field: Any, only_supporting: bool = False, **kwargs: Any):
        fields = [("story", text_field), ("query", text_field), ("answer", text_field)]
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        triples = _triples(lines, only_supporting)
        examples = [Example.fromlist(triple, fields) for triple in triples]
        super().__init__(examples, fields, **kwargs)

    @classmethod
    def splits(  # type: ignore[override]
        cls,
        text_field: Any,
        path: str | None = None,
        root: str = ".data",
        task: int = 1,
        joint: bool = False,
        tenK: bool = False,  # noqa: N803 - torchtext's name
        only_supporting: bool = False,
        train: str | None = None,
        validation: str | None = None,
        test: str | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Training, validation and test data.

        Args:
            path: folder of the files; default: fetched into `root`.
            task: 1 to 20. joint: train on all of them. tenK: the larger files.
            train, validation, test: names of files in place of the task's.
        """
        if not (isinstance(task, int) and 1 <= task <= 20):
            raise AssertionError(f"BABI20.splits(): task must be from 1 to 20, got {task!r}")
        cls.dirname = os.path.join("tasks_1-20_v1-2", "en-valid-10k" if tenK else "en-valid")
        path = cls.download(root) if path is None else path
        train = train or _file(path, task, joint, "train")
        validation = validation or _file(path, task, joint, "valid")
        return super().splits(
            path,
            root,
            train,
            validation,
            test or f"qa{task}_test.txt",
            text_field=text_field,
            only_supporting=only_supporting,
            **kwargs,
        )

    @classmethod
    def iters(
        cls,
        batch_size: int = 32,
        root: str = ".data",
        memory_size: int = 50,
        task: int = 1,
        joint: bool = False,
        tenK: bool = False,  # noqa: N803 - torchtext's name
        only_supporting: bool = False,
        sort: bool = False,
        shuffle: bool = False,
        device: Any = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Iterators over the splits; arguments as of `splits` and of the iterators."""
        text = BABI20Field(memory_size)
        parts = cls.splits(
            text,
            root=root,
            task=task,
            joint=joint,
            tenK=tenK,
            only_supporting=only_supporting,
            **kwargs,
        )
        text.build_vocab(parts[0])
        return Iterator.splits(
            parts, batch_size=batch_size, sort=sort, shuffle=shuffle, device=device
        )


def _file(path: str, task: int, joint: bool, part: str) -> str:
    if not joint:
        return f"qa{task}_{part}.txt"
    name = f"all_{part}.txt"
    if not os.path.isfile(os.path.join(path, name)):
        texts = [Path(path, f"qa{each}_{part}.txt").read_text() for each in range(1, 21)]
        Path(path, name).write_text("".join(texts))
    return name


def _triples(lines: Iterable[str], only_supporting: bool) -> list[tuple[list[str], str, str]]:
    """Story, question and answer; lines are numbered anew at the beginning of a story."""
    found = []
    story: list[str] = []
    for line in lines:
        number, _, text = line.partition(" ")
        if number == "1":
            story = []
        if "\t" not in text:
            story.append(text.removesuffix("."))
            continue
        question, answer, facts = (part.strip() for part in text.split("\t"))
        kept = [story[int(i) - 1] for i in facts.split()] if only_supporting else story
        found.append(([s for s in kept if s], question.removesuffix("?"), answer))
        story.append("")  # questions are numbered, too
    return found
