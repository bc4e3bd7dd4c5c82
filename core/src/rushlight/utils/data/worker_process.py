"""The main function of the data loader's worker processes."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import random
import signal
import threading
import time
import traceback
from dataclasses import dataclass
from typing import Any

import rushlight
from rushlight._utils.exceptions import ExceptionWrapper
from rushlight.machine import np
from rushlight.tensor.shared_memory import SharedBlock
from rushlight.tensor.tensor import make_tensor
from rushlight.utils.data import channel as channels
from rushlight.utils.data import random_states, workers
from rushlight.utils.data.iteration import pipe_settings
from rushlight.utils.data.position import load_dataset_state, stream_state

HELLO = -1  # the order of the message that a worker sends first
BEGIN = -2  # and of the one that starts a pass
_REPORT_SIZE = 1 << 14


@dataclass
class Plan:
    """What one worker is to do."""

    number: int
    count: int
    dataset: Any
    make_fetcher: Any
    base_seed: int
    worker_init_fn: Any
    main_process: int
    with_dataset_state: bool


def work(plan: Plan, channel, inherited) -> None:
    """Take index lists from the channel and answer with batches, until it closes.

    `inherited` are the loader's ends of all channels, which a forked process holds copies of: left
    open, the end of the loader would not be seen.
    """
    for each in inherited:
        each.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process decides what Ctrl-C ends
    threading.Thread(target=_watch, args=(plan.main_process,), daemon=True).start()
    report = SharedBlock.create(_REPORT_SIZE)
    crash_file = os.dup(report.descriptor)
    faulthandler.enable(crash_file)
    try:
        channel.send(_report_tensor(report), 0, HELLO)
        _Worker(plan, channel).run()
    except (EOFError, ConnectionError):  # the loader is gone: so are we
        return
    except BaseException:
        os.write(crash_file, traceback.format_exc().encode()[-_REPORT_SIZE // 2 :])
        raise
    finally:
        faulthandler.disable()
        os.close(crash_file)


def _report_tensor(block):
    """A block's bytes as a tensor, to be sent without a copy."""
    return make_tensor(np.asarray(block), rushlight.uint8)


def _watch(main_process):
    """End this process when the main one has ended without a word, whatever it is doing."""
    parent = multiprocessing.parent_process()
    forked_by_main = os.getppid() == main_process
    while True:
        time.sleep(1.0)
        if forked_by_main:
            gone = os.getppid() != main_process
        else:  # started by a fork server, which outlives nobody
            gone = parent is not None and not parent.is_alive()
        if gone:
            os._exit(1)


class _Worker:
    """A worker's state between messages."""

    def __init__(self, plan, channel):
        self.plan, self.channel, self.fetcher, self.failed = plan, channel, None, None
        self.where = f"in DataLoader worker process {plan.number}"
        from rushlight.machine import threads

        threads.set_num_threads(1)
        seed = plan.base_seed + plan.number
        random.seed(seed)
        rushlight.manual_seed(seed)
        np.random.seed(workers._generate_state(plan.base_seed, plan.number))
        workers.set_worker_info(workers.WorkerInfo(plan.number, plan.count, seed, plan.dataset))
        try:
            if plan.worker_init_fn is not None:
                plan.worker_init_fn(plan.number)
        except Exception:  # reported as the answer to the first task
            self.failed = ExceptionWrapper(where=self.where)
        self.last_print = random_states.fingerprint()

    def run(self):
        """Answer messages until there are no more; EOFError then."""
        while True:
            text, files, epoch, order = self.channel.receive()
            message = channels.unpack(text, files)
            if order == BEGIN:
                self._begin(*message)
                continue
            answer = self._answer(message)
            state = self._state()
            try:
                self.channel.send((answer, state), epoch, order)
            except (EOFError, ConnectionError):
                raise
            except Exception:  # the batch cannot be pickled
                failed = ExceptionWrapper(where=self.where)
                self.channel.send((failed, state), epoch, order)
            del answer, message, text

    def _begin(self, resume, shared_seed):
        """Start a pass, or go on in the middle of one; the seed is for data pipes."""
        if self.failed is not None:
            return
        try:
            if resume is not None:
                load_dataset_state(self.plan.dataset, resume.get("dataset_state"))
            if shared_seed is not None:
                pipes = pipe_settings(self.plan.dataset, "IterDataPipe")
                pipes.seed_pipes(self.plan.dataset, shared_seed)
            self.fetcher = self.plan.make_fetcher(self.plan.dataset)
            if resume is not None:
                stream_state.restore(self.fetcher, resume)
                if resume.get("random_state") is not None:
                    random_states.restore(resume["random_state"])
        except Exception:
            self.failed = ExceptionWrapper(where=self.where)

    def _answer(self, indices):
        if self.failed is not None:
            failed, self.failed = self.failed, None
            return failed
        try:
            return self.fetcher.fetch(indices)
        except StopIteration:
            if hasattr(self.fetcher, "dataset_iter"):
                return workers._IterableDatasetStopIteration(self.plan.number)
            return ExceptionWrapper(where=self.where)
        except Exception:
            return ExceptionWrapper(where=self.where)

    def _state(self):
        """What has changed in this worker since its last answer, for exact resumption."""
        state = {}
        now = random_states.fingerprint()
        if now != self.last_print:
            self.last_print, state["random_state"] = now, random_states.snapshot()
        if self.plan.with_dataset_state:
            state["dataset_state"] = self.plan.dataset.state_dict()
        if self.fetcher is not None:
            state.update(stream_state.capture(self.fetcher))
        return state


def exception_text(report) -> str:
    """What a worker wrote about its end, if anything."""
    return report.numpy().tobytes().split(b"\0", 1)[0].decode(errors="replace").strip()
