"""One pass over the data by several threads.

On a processor the operations of a fit are many and small, and two threads that share every one of them spend much of their
time waiting
for each other. So chunks of data are shared out instead: each worker has a replica of the model (the same weights, hooks
of its own) and sums of its own, which are added at the end. Chunks go to workers in turn, so the result does not depend on
who is faster.
"""

import copy
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import torch
from torch import Tensor, nn

from symlab.kfac.kronecker import FactorSums

# Data points of a worker's chunk: below the first, starting threads costs more than they save; above the second, nothing is
# won by more of them.
SMALLEST_SHARE, LARGEST_SHARE = 32, 256


def share_out(calls: Sequence[Callable[[], object]], threads: int) -> None:
    """Make all calls, by ``threads`` workers that compute with one thread each; the calls start in the given order."""
    before = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=partial(torch.set_num_threads, 1)) as pool:
            for done in [pool.submit(call) for call in calls]:
                done.result()
    finally:
        torch.set_num_threads(before)


class KroneckerEstimator:
    """Adds up factors batch by batch; ``finish()`` at the end. ``sums_for(model)`` makes empty sums for a model or a
    replica of it."""

    def __init__(self, model: nn.Module, sums_for: Callable[[nn.Module], FactorSums], memory_budget: int, threads: int):
        self.model, self.sums_for, self.memory_budget, self.threads = model, sums_for, memory_budget, threads
        self.workers = [sums_for(model)]
        self.chunk: int | None = None
        self.turn = 0
        self.waiting: list[tuple[Tensor, Tensor]] = []

    def add(self, inputs: Tensor, targets: Tensor) -> None:
        """Small batches wait until there is enough for every worker; large ones are cut."""
        if self.chunk is None:  # the first few data points tell what one costs
            few = min(2, len(inputs))
            self._choose_chunk(inputs, self.workers[0].add(inputs[:few], targets[:few]))
            inputs, targets = inputs[few:], targets[few:]
        if self.waiting and inputs.shape[1:] != self.waiting[0][0].shape[1:]:
            self._flush()
        self.waiting.append((inputs, targets))
        assert self.chunk is not None
        if sum(len(each) for _, each in self.waiting) >= self.chunk * len(self.workers):
            self._flush()

    def _choose_chunk(self, inputs: Tensor, cost: float) -> None:
        if inputs.device.type == "cpu" and self.workers[0].nbytes < self.memory_budget:
            self.workers += [self.sums_for(_replica(self.model)) for _ in range(self.threads - 1)]
        self.chunk = max(1, min(LARGEST_SHARE, int(self.memory_budget / len(self.workers) / cost)))

    def _flush(self) -> None:
        if not self.waiting:
            return
        inputs, targets = (torch.cat(parts) if len(parts) > 1 else parts[0] for parts in zip(*self.waiting, strict=True))
        self.waiting = []
        assert self.chunk is not None
        size = min(self.chunk, max(SMALLEST_SHARE, -(-len(inputs) // len(self.workers))))
        places = [slice(begin, begin + size) for begin in range(0, len(inputs), size)]
        if len(self.workers) == 1 or len(places) == 1:
            for place in places:
                self.workers[0].add(inputs[place], targets[place])
            return
        shares: list[list[slice]] = [[] for _ in self.workers]
        for place in places:
            shares[self.turn % len(self.workers)].append(place)
            self.turn += 1
        self._work(inputs, targets, shares)

    def _work(self, inputs: Tensor, targets: Tensor, shares: list[list[slice]]) -> None:
        def work(worker: FactorSums, share: list[slice]) -> None:
            for place in share:
                worker.add(inputs[place], targets[place])

        share_out([partial(work, *pair) for pair in zip(self.workers, shares, strict=True)], len(self.workers))

    def finish(self) -> FactorSums:
        """Work on what still waits and add up the workers' sums."""
        self._flush()
        while len(self.workers) > 1:
            self.workers[0] += self.workers.pop()
        return self.workers[0]


def _replica(model: nn.Module) -> nn.Module:
    """Modules of its own, tensors in common."""
    tensors = [*model.parameters(), *model.buffers()]
    return copy.deepcopy(model, {id(tensor): tensor for tensor in tensors})
