"""What a fit says about each parameter tensor: all that ELLA App. D inspects."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symlab.laplace.laplace import Laplace


@dataclass(frozen=True)
class TensorSummary:
    """With delta the tensor's prior precision, P its size and gamma its effective number of parameters: delta (the mean over
    the tensor where it is not one number), |theta|^2 / P and gamma / P."""

    prior_precision: float
    mean_square: float
    normalised_effective_parameters: float


def summarise(laplace: "Laplace") -> dict[str, TensorSummary]:
    """By parameter name, at the present prior precisions."""
    effective = laplace.effective_parameters()
    summaries = {}
    for name, tensor in laplace.mean.items():
        precision = laplace.prior.precision_of_parameter(name).detach().mean().item()
        mean_square = tensor.double().square().mean().item()
        summaries[name] = TensorSummary(precision, mean_square, effective[name] / tensor.numel())
    return summaries
