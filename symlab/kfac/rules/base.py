"""What a layer tells about the curvature of its parameters.

For one data point, the Jacobian of the network's outputs f (C) in a block of parameters theta, a matrix (E, D), is a sum
over the positions t at which the layer uses theta,

    J = sum_t g_t (x) a_t,      a_t: (D,) what theta is applied to,   g_t = (df/d(theta a_t))^T: (E, C).

KFAC replaces the sum over data points and positions of Kronecker products by a product of sums, in one of two settings
(Eschenhagen et al., 2023):
    expand   H ~ 1/(N T) [sum_{n,t} a a^T] (x) [sum_{n,t} g Lambda g^T]
    reduce   H ~ 1/N [sum_n a a^T] (x) [sum_n g Lambda g^T],   a = mean_t a_t,  g = sum_t g_t

A ``BlockRule`` says, for one block, what the rows a and g are; the rest (hooks, backward passes, sums) is shared. To teach
symlab a new layer, give its class a method ``curvature_rules(self, options) -> list[BlockRule]``, or pass
``rules={LayerClass: function}`` to ``symlab.kfac.estimate``; a test class that inherits
``tests.kfac_contract.RuleContract`` checks it against the dense block.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from symlab.kfac.grams import accumulate_gram

Sharing = Literal["expand", "reduce"]
BiasBlock = Literal["separate", "joint"]


@dataclass(frozen=True)
class RuleOptions:
    """``sharing`` over positions; ``bias``: a block of its own (exact) or the last column of the weight's block."""

    sharing: Sharing = "expand"
    bias: BiasBlock = "separate"


class BlockRule(ABC):
    """One block: ``names`` are its parameters as the layer calls them, flattened and joined to p matrices (E, D)."""

    names: tuple[str, ...]
    output_blocks: int = 1  # diagonal blocks of the output factor
    outputs_see_inputs: bool = True  # whether ``output_rows`` looks at the values of the layer's inputs

    @abstractmethod
    def input_rows(self, inputs: Tensor) -> Tensor:
        """Layer inputs (N, ...) -> rows a as (p, a, Q, R, d)."""

    @abstractmethod
    def output_rows(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        """Layer inputs (N, ...) and output gradients (N, ...) of one signal -> rows g as (p, b, Q, R, e)."""

    def joined_output_rows(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        """The rows of K signals, gradients (K, N, ...), one below the other: (p, b, Q, K R, e), or K Q stacks of R rows."""
        if len(gradients) == 1 or not self.outputs_see_inputs:
            return self.output_rows(inputs, gradients.flatten(0, 1))
        return torch.cat([self.output_rows(inputs, of_signal) for of_signal in gradients], 3)

    @abstractmethod
    def count(self, inputs: Tensor) -> int:
        """The number of terms of each sum, N or N T."""

    def output_twin(self, inputs: Tensor) -> "BlockRule | None":
        """Another rule of this layer whose output factor is the same for inputs of this shape, so that it is summed once."""
        return None

    def accumulate_inputs(self, total: Tensor, inputs: Tensor) -> None:
        """Add the Gram matrix of ``input_rows`` to ``total`` (p, a, d, d), on and above the diagonal; may be done faster."""
        accumulate_gram(total, self.input_rows(inputs))


RuleFactory = Callable[[nn.Module, RuleOptions], list[BlockRule]]
Rules = Mapping[type[nn.Module], RuleFactory]


class ExactBlock(BlockRule):
    """A block whose Jacobian is taken as it is: D = 1, a = 1 and g = the whole gradient of each data point.

    Right for small tensors: biases, scales of normalisation layers, single scalars. Subclasses define ``gradient_rows``.
    """

    def __init__(self, name: str, twin: BlockRule | None = None):
        self.names, self.twin = (name,), twin

    @abstractmethod
    def gradient_rows(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        """The gradient of each data point in the flattened parameter: (N, E)."""

    def input_rows(self, inputs: Tensor) -> Tensor:
        return inputs.new_ones(1, 1, 1, len(inputs), 1)

    def output_rows(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        return self.gradient_rows(inputs, gradients)[None, None, None]

    def count(self, inputs: Tensor) -> int:
        return len(inputs)
