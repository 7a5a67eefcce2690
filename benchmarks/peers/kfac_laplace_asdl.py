"""laplace-torch with the backend asdl."""

from laplace.curvature import AsdlGGN
from torch import nn

from benchmarks.kfac_workloads import Batch
from benchmarks.peers.kfac_worker import Factors, answer_request
from benchmarks.peers.laplace_fitting import fit_laplace


def fit(network: nn.Sequential, batches: list[Batch]) -> Factors:
    return fit_laplace(AsdlGGN, network, batches)


if __name__ == "__main__":
    answer_request(fit, ("laplace-torch", "asdfghjkl"))
