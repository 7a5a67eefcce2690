"""laplace-torch's Kronecker-factored fit with a given backend, up to and without its eigendecomposition.

``ParametricLaplace.fit`` is what ``KronLaplace.fit`` calls to sum the factors over the batches; only factors are compared.
"""

from typing import Any

from laplace import KronLaplace
from laplace.baselaplace import ParametricLaplace
from torch import nn

from benchmarks.kfac_workloads import Batch
from benchmarks.peers.kfac_worker import Factors


class Loader(list[Batch]):
    """Ready batches with the ``dataset`` attribute whose length laplace-torch reads: no collation is timed."""

    @property
    def dataset(self) -> range:
        return range(sum(len(labels) for _, labels in self))


def fit_laplace(backend: Any, network: nn.Sequential, batches: list[Batch]) -> Factors:
    """(A, B) of each weight."""
    laplace = KronLaplace(network, "classification", backend=backend)
    ParametricLaplace.fit(laplace, Loader(batches))
    return [(block[1], block[0]) for block in laplace.H.kfacs if len(block) == 2]
