"""laplace-torch with the backend backpack."""

from laplace.curvature import BackPackGGN
from torch import nn

from benchmarks.kfac_workloads import Batch
from benchmarks.peers.kfac_worker import Factors, answer_request
from benchmarks.peers.laplace_fitting import fit_laplace


def fit(network: nn.Sequential, batches: list[Batch]) -> Factors:
    return fit_laplace(BackPackGGN, network, batches)


def notes(workload: str) -> str:
    return "" if workload == "mlp" else "B of a convolution is of the reduce kind, A of the expand kind"


if __name__ == "__main__":
    answer_request(fit, ("laplace-torch", "backpack-for-pytorch"), notes)
