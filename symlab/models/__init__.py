"""Networks without a symmetry of their own, used by several methods."""

from symlab.models.lenet import LeNet
from symlab.models.mlp import MLP
from symlab.models.resnet import FixupResNet
from symlab.models.wide_resnet import FixupWideResNet

__all__ = ["MLP", "FixupResNet", "FixupWideResNet", "LeNet"]
