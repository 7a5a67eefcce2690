"""laplace-torch with the backend curvlinops."""

from laplace.curvature import CurvlinopsGGN
from torch import nn

from benchmarks.kfac_workloads import Batch
from benchmarks.peers.kfac_worker import Factors, answer_request
from benchmarks.peers.laplace_fitting import fit_laplace


def fit(network: nn.Sequential, batches: list[Batch]) -> Factors:
    return fit_laplace(CurvlinopsGGN, network, batches)


if __name__ == "__main__":
    answer_request(fit, ("laplace-torch", "curvlinops-for-pytorch"))
