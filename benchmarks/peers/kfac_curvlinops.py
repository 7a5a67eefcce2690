"""curvlinops: ``KFACLinearOperator`` with the exact GGN (type 2), expand setting, weight and bias apart."""

from curvlinops import KFACLinearOperator
from torch import nn

from benchmarks.kfac_workloads import Batch
from benchmarks.peers.kfac_worker import Factors, answer_request


def fit(network: nn.Sequential, batches: list[Batch]) -> Factors:
    samples = sum(len(labels) for _, labels in batches)
    operator = KFACLinearOperator(
        network,
        nn.CrossEntropyLoss(),
        list(network.parameters()),
        batches,
        fisher_type="type-2",
        kfac_approx="expand",
        check_deterministic=False,
        num_data=samples,
    )
    operator.compute_kronecker_factors()
    inputs, gradients = operator._input_covariances, operator._gradient_covariances
    return [(inputs[name], gradients[name].mul_(samples)) for name in inputs]


if __name__ == "__main__":
    answer_request(fit, ("curvlinops-for-pytorch",))
