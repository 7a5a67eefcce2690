"""Networks that see S copies of each data point, n-major (N S, ...), and are averaged over them."""

from torch import Tensor, nn


class CopyAverage(nn.Module):
    """The mean over copies. A module, so that ``symlab.kfac`` can see where a network is averaged."""

    def forward(self, features: Tensor, n_data: int) -> Tensor:
        """(N S, ...) -> (N, ...)"""
        return features.unflatten(0, (n_data, -1)).mean(1)
