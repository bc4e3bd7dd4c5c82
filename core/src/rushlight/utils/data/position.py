"""Where a pass over a loader stands: writing it down, and going on from there.

The layout of the dictionaries follows torchdata's StatefulDataLoader. A pass is resumed by making
the sampler's iterator anew with the random numbers of its first time and skipping what was handed
out; a stateful sampler, dataset or stream (one with ``state_dict`` and ``load_state_dict``) is
asked instead. Random number generators are put where they stood, those of workers too.
"""

from __future__ import annotations

import itertools

from rushlight.utils.data import random_states


def is_stateful(value) -> bool:
    """Whether a value writes down and takes over states of its own."""
    return all(callable(getattr(value, name, None)) for name in ("state_dict", "load_state_dict"))


def stateful_sampler(index_sampler):
    """The sampler that knows its own position: the batch sampler or the one inside it, or None."""
    for sampler in (index_sampler, getattr(index_sampler, "sampler", None)):
        if sampler is not None and is_stateful(sampler):
            return sampler
    return None


def own_generators(loader) -> list:
    """The generators that a loader and its samplers own, each once."""
    found: list = []
    # Loaders that imitate ours, as fastai's, have no batch sampler.
    batches = getattr(loader, "batch_sampler", None)
    samplers = (getattr(loader, "sampler", None), batches, getattr(batches, "sampler", None))
    for owner in (loader, *samplers):
        generator = getattr(owner, "generator", None)
        if hasattr(generator, "get_state") and all(generator is not each for each in found):
            found.append(generator)
    return found


def load_dataset_state(dataset, state) -> None:
    """Give a dataset its state back, if there is one."""
    if state is not None:
        dataset.load_state_dict(state)


class stream_state:
    """The position inside a stream: the iterator's own state, or how many batches were taken."""

    @staticmethod
    def capture(fetcher) -> dict:
        """What can be asked from the fetcher of a stream; nothing for one of items."""
        if not hasattr(fetcher, "dataset_iter"):
            return {}
        own = fetcher.dataset_iter
        found = own.state_dict() if is_stateful(own) else None
        return {"fetcher_state": {"dataset_iter_state": found, "fetcher_ended": fetcher.ended}}

    @staticmethod
    def restore(fetcher, saved) -> None:
        """Bring a new fetcher to where the old one was."""
        if not hasattr(fetcher, "dataset_iter"):
            return
        state = saved.get("fetcher_state") or {}
        if state.get("dataset_iter_state") is not None:
            fetcher.dataset_iter.load_state_dict(state["dataset_iter_state"])
        elif saved.get("dataset_state") is None:
            for _ in range(saved["taken"]):
                fetcher.skip(saved["batch"])
        fetcher.ended = bool(state.get("fetcher_ended", False))


class Position:
    """Where one pass stands; kept by the loader, written by the iterator."""

    def __init__(self, loader):
        self.start = {
            "random_state": random_states.snapshot(),
            "generators": random_states.generator_states(own_generators(loader)),
        }
        self.draws_seed = True  # False for a further pass of persistent workers
        self.base_seed, self.length = None, loader._IterableDataset_len_called
        self.yielded, self.finished = 0, False
        self.drawn, self.ahead = 0, []  # batches of the sampler before here; later ones handed out
        self.sampler_state = None
        self.workers = [{"taken": 0} for _ in range(loader.num_workers)]
        self.last_worker = loader.num_workers - 1
        self.fetcher = None  # without workers

    def take_over(self, resumption) -> None:
        """Count on from where a resumed pass was."""
        main = resumption.main
        self.yielded, self.drawn = main["_num_yielded"], main["_sampler_iter_yielded"]
        self.ahead, self.sampler_state = [], main["_sampler_iter_state"]
        self.skipped_ahead = list(main["_handed_out_ahead"])
        self.length, self.last_worker = main["_IterableDataset_len_called"], resumption.last_worker
        self.workers = resumption.workers or self.workers

    def main_state(self) -> dict:
        """The part that does not depend on workers."""
        return {
            "_sampler_iter_state": self.sampler_state,
            "_sampler_iter_yielded": self.drawn,
            "_handed_out_ahead": sorted(self.ahead),
            "_num_yielded": self.yielded,
            "_IterableDataset_len_called": self.length,
            "_shared_seed": None,
            "_base_seed": self.base_seed,
            "_draws_seed": self.draws_seed,
            "_start": self.start,
            "_random_state": random_states.snapshot(),
        }


def state_dict(loader) -> dict:
    """The loader's position in plain types and tensors."""
    position = loader._position
    if position is None:
        position = Position(loader)
        position.finished = True  # the next iterator begins a pass
    main = position.main_state()
    main["_generators"] = random_states.generator_states(own_generators(loader))
    if not loader.num_workers:
        stream = {} if position.fetcher is None else stream_state.capture(position.fetcher)
        stateful = is_stateful(loader.dataset)
        return {
            **main,
            "fetcher_state": stream.get("fetcher_state"),
            "dataset_state": loader.dataset.state_dict() if stateful else None,
            "_iterator_finished": position.finished,
        }
    snapshots = {f"worker_{i}": {"worker_id": i, **s} for i, s in enumerate(position.workers)}
    return {
        "_snapshot": {
            "_snapshot_step": position.yielded,
            "_last_yielded_worker_id": position.last_worker,
            "_main_snapshot": {"_num_workers": loader.num_workers, **main},
            "_worker_snapshots": snapshots,
        },
        "_steps_since_snapshot": 0,
        "_iterator_finished": position.finished,
    }


class Resumption:
    """A state that the next iterator starts from."""

    def __init__(self, loader, state):
        if not isinstance(state, dict) or "_iterator_finished" not in state:
            raise ValueError(
                "load_state_dict(): expected what state_dict() of a DataLoader returned; got "
                f"{type(state).__name__}"
            )
        whole = state.get("_snapshot")
        self.main = state if whole is None else whole["_main_snapshot"]
        count = self.main.get("_num_workers", 0)
        if count != loader.num_workers:
            raise ValueError(
                f"load_state_dict(): the state is of a loader with num_workers={count}, this one "
                f"has num_workers={loader.num_workers}"
            )
        self.finished, self.loader = state["_iterator_finished"], loader
        self.workers, self.last_worker = [], count - 1
        if whole is not None:
            snapshots = whole["_worker_snapshots"]
            self.workers = [dict(snapshots[f"worker_{i}"]) for i in range(count)]
            self.last_worker = whole["_last_yielded_worker_id"]
        self.own = {key: state.get(key) for key in ("fetcher_state", "dataset_state")}

    def rewind(self) -> None:
        """Generators as they stood when the pass began."""
        start = self.main["_start"]
        random_states.restore(start["random_state"])
        generators = own_generators(self.loader)
        random_states.restore_generators(generators, start["generators"])

    def settle(self) -> None:
        """The process's generators as they stood when the state was written down. Those of samplers
        have moved on by the same draws as then."""
        random_states.restore(self.main["_random_state"])

    def begin_anew(self) -> None:
        """All generators as they stood when the state was written down, between two passes."""
        self.settle()
        generators = own_generators(self.loader)
        random_states.restore_generators(generators, self.main["_generators"])

    def prepare_sampler(self, index_sampler) -> bool:
        """Give a stateful sampler its state; False if the sampler is an ordinary one."""
        own, state = stateful_sampler(index_sampler), self.main["_sampler_iter_state"]
        if own is None or state is None:
            return False
        own.load_state_dict(state)
        return True

    def skipped(self, iterator):
        """An index sampler's iterator behind what was handed out."""
        drawn, ahead = self.main["_sampler_iter_yielded"], set(self.main["_handed_out_ahead"])
        found = sum(1 for _ in itertools.islice(iterator, drawn))
        if found < drawn:
            raise RuntimeError(
                f"load_state_dict(): the sampler ends after {found} batches, the state was "
                f"written after {drawn}: the loader must be made with the same data"
            )
        if not ahead:
            return iterator
        return (each for number, each in enumerate(iterator, drawn) if number not in ahead)

    def stream(self, batch) -> dict:
        """What a fetcher without workers needs to go on."""
        return {**self.own, "taken": self.main["_num_yielded"], "batch": batch}

    def worker(self, number, batch) -> dict:
        """What one worker needs to go on."""
        return {**self.workers[number], "batch": batch}
