"""One pass over the data by several threads.

On a processor the operations on feature maps are many and small, and two threads that share every one of them spend much of
their time waiting for each other. So chunks of data are shared out instead: each worker has a replica of the model (the same
weights, hooks of its own) and sums of its own, which are added at the end. Data are worked on in rounds, one chunk of equal
size for every worker, so that none waits for another and the result does not depend on who is faster; what does not fill a
round waits for more, and the rest at the end is shared out evenly.

Networks of vectors do little but large matrix products, which threads share well: there is one worker, with one set of
factors, and its chunks are larger.
"""

import copy
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial

import torch
from torch import Tensor, nn

from symlab.kfac.kronecker import FactorSums

# Data points of a worker's chunk: below the first, starting threads costs more than they save; above the second (feature
# maps) or third (vectors), more memory is taken than time is saved.
SMALLEST_SHARE, LARGEST_SHARE, LARGEST_OF_VECTORS = 32, 256, 512


class Team:
    """Threads that compute with one thread each. They stay for several calls of ``share_out``, since what libraries keep for
    each thread, memory above all, would otherwise be set up anew for every one of them."""

    def __init__(self, threads: int):
        self.pool = ThreadPoolExecutor(threads)

    def share_out(self, calls: Sequence[Callable[[], object]]) -> None:
        """Make all calls; they start in the given order."""
        before = torch.get_num_threads()
        try:
            calling = [self.pool.submit(_call_with_one_thread, call) for call in calls]
            wait(calling)
            for done in calling:
                done.result()
        finally:
            torch.set_num_threads(before)

    def close(self) -> None:
        self.pool.shutdown()


def _call_with_one_thread(call: Callable[[], object]) -> None:
    torch.set_num_threads(1)
    call()


def share_out(calls: Sequence[Callable[[], object]], threads: int) -> None:
    """Make all calls, by ``threads`` workers that compute with one thread each; the calls start in the given order."""
    team = Team(threads)
    try:
        team.share_out(calls)
    finally:
        team.close()


class KroneckerEstimator:
    """Adds up factors batch by batch; ``finish()`` at the end. ``sums_for(model)`` makes empty sums for a model or a
    replica of it."""

    def __init__(self, model: nn.Module, sums_for: Callable[[nn.Module], FactorSums], memory_budget: int, threads: int):
        self.model, self.sums_for, self.memory_budget, self.threads = model, sums_for, memory_budget, threads
        self.workers = [sums_for(model)]
        self.team: Team | None = None
        self.chunk: int | None = None
        self.waiting: list[tuple[Tensor, Tensor]] = []

    def add(self, inputs: Tensor, targets: Tensor) -> None:
        """Small batches wait until there is enough for every worker; large ones are cut."""
        if self.chunk is None:
            self.chunk = self._choose_chunk(inputs)
        if self.waiting and inputs.shape[1:] != self.waiting[0][0].shape[1:]:
            self._work(everything=True)
        self.waiting.append((inputs, targets))
        if sum(len(each) for _, each in self.waiting) >= self.chunk * len(self.workers):
            self._work(everything=False)

    def _choose_chunk(self, inputs: Tensor) -> int:
        """The first few data points tell what one costs, and who works. A batch that makes one or more chunks of good size
        is cut evenly, so that nothing is left over and copied to the next."""
        first = self.workers[0]
        cost = first.reserve(inputs[:2])
        if first.sees_maps and inputs.device.type == "cpu" and first.nbytes < self.memory_budget:
            self.workers += [self.sums_for(_replica(self.model)) for _ in range(self.threads - 1)]
        workers = len(self.workers)
        if workers > 1:
            self.team = Team(workers)
        largest = LARGEST_SHARE if first.sees_maps else LARGEST_OF_VECTORS
        chunk = max(1, min(largest, int(self.memory_budget / workers / cost)))
        if len(inputs) < chunk * workers / 2:
            return chunk
        rounds = -(-len(inputs) // (chunk * workers))
        return -(-len(inputs) // (rounds * workers))

    def _work(self, everything: bool) -> None:
        """On all whole rounds of what waits, and on ``everything`` else too."""
        if not self.waiting:
            return
        inputs, targets = (torch.cat(parts) if len(parts) > 1 else parts[0] for parts in zip(*self.waiting, strict=True))
        assert self.chunk is not None
        workers = len(self.workers)
        shares: list[list[slice]] = [[] for _ in self.workers]
        whole = len(inputs) // (self.chunk * workers) * workers
        for index in range(whole):
            shares[index % workers].append(slice(index * self.chunk, (index + 1) * self.chunk))
        done = whole * self.chunk
        if everything:
            even = max(SMALLEST_SHARE, -(-(len(inputs) - done) // workers))
            size = min(self.chunk, even)
            for index, begin in enumerate(range(done, len(inputs), size)):
                shares[index % workers].append(slice(begin, begin + size))
            done = len(inputs)
        self.waiting = [(inputs[done:], targets[done:])] if done < len(inputs) else []

        def work(worker: FactorSums, share: list[slice]) -> None:
            for place in share:
                worker.add(inputs[place], targets[place])

        calls = [partial(work, *pair) for pair in zip(self.workers, shares, strict=True) if pair[1]]
        if self.team is None or len(calls) == 1:
            for call in calls:
                call()
        else:
            self.team.share_out(calls)

    def finish(self) -> FactorSums:
        """Work on what still waits and add up the workers' sums."""
        self._work(everything=True)
        if self.team is not None:
            self.team.close()
        while len(self.workers) > 1:
            self.workers[0] += self.workers.pop()
        return self.workers[0]


def _replica(model: nn.Module) -> nn.Module:
    """Modules of its own, tensors in common."""
    tensors = [*model.parameters(), *model.buffers()]
    return copy.deepcopy(model, {id(tensor): tensor for tensor in tensors})
