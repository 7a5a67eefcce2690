"""Networks between tensors, as a configuration describes them: what goes in and out, and which network does it.

A ``Signature`` is the type of a map: s scalars and v vectors of R^(p, q) -> c tensors of rank r. A network factory builds
the network for it. The MLP knows only the sizes, the equivariant ones the group, which acts on R^(p, q):

    component      of O(p, q): all of it ("full"), determinant 1 ("special"), the exponentials alone ("connected")
    prior          variances of an RPP-EMLP's equivariant and free weights
"""

from dataclasses import dataclass
from typing import Literal, Protocol

from torch import Tensor, nn

from emlp_rpp.groups import SO, Group, O, Trivial
from emlp_rpp.groups.orthogonal import algebra, signature
from emlp_rpp.groups.weights import orthogonal_weights
from emlp_rpp.networks import EMLP, MLP, transform_batch
from emlp_rpp.pathways import PathwayEMLP, PathwayPrior
from emlp_rpp.representations import Representation, Scalar, T, V
from symlab.errors import ConfigError

Component = Literal["full", "special", "connected"]


@dataclass(frozen=True)
class Signature:
    """``space``: the p and q of R^(p, q)."""

    space: tuple[int, int]
    scalars: int = 0
    vectors: int = 0
    output_rank: int = 0
    output_copies: int = 1

    @property
    def dimension(self) -> int:
        return sum(self.space)

    def source(self, group: Group) -> Representation:
        return (self.scalars * Scalar + self.vectors * V)(self._acting(group))

    def target(self, group: Group) -> Representation:
        return (self.output_copies * T(self.output_rank))(self._acting(group))

    def _acting(self, group: Group) -> Group:
        if group.dimension != self.dimension:
            raise ConfigError(f"{group} acts on {group.dimension} coordinates, the data's vectors have {self.dimension}")
        return group

    @property
    def sizes(self) -> tuple[int, int]:
        """Of input and output."""
        trivial = Trivial(self.dimension)
        return self.source(trivial).size, self.target(trivial).size

    def orthogonal(self, component: Component) -> Group:
        p, q = self.space
        if component == "full":
            return O(p, q)
        if component == "special":
            return SO(p, q)
        form = signature(p, q)
        return Group(f"SO+({p},{q})", algebra=algebra(form), weights=orthogonal_weights(form.tolist()))


class NetworkFactory(Protocol):
    def build(self, signature: Signature) -> nn.Module: ...


@dataclass(frozen=True)
class Plain:
    """An MLP."""

    channels: int = 384
    layers: int = 3

    def build(self, signature: Signature) -> nn.Module:
        return MLP(*signature.sizes, channels=self.channels, layers=self.layers)


class Augmented(nn.Module):
    """A network to be trained on ``augment(x, y)``, pairs moved by random elements of the group of their representations."""

    def __init__(self, network: nn.Module, source: Representation, target: Representation):
        super().__init__()
        self.network, self.source, self.target = network, source, target

    def forward(self, x: Tensor) -> Tensor:
        return self.network(x)

    def augment(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """(B, n) and (B, m), each row with an element of its own, drawn from torch's global generator.

        # Paper: prints rho(g)^-1 f(rho(g) x) for the prediction; for orthogonal rho and for scalars its loss is this one.
        """
        return transform_batch(x, y, self.source, self.target)


@dataclass(frozen=True)
class AugmentedPlain:
    """An MLP trained with augmentation by a component of O(p, q)."""

    component: Component = "full"
    channels: int = 384
    layers: int = 3

    def build(self, signature: Signature) -> nn.Module:
        group = signature.orthogonal(self.component)
        network = Plain(self.channels, self.layers).build(signature)
        return Augmented(network, signature.source(group), signature.target(group))


@dataclass(frozen=True)
class Orthogonal:
    """An EMLP of a component of O(p, q)."""

    component: Component = "full"
    channels: int = 384
    layers: int = 3

    def build(self, signature: Signature) -> nn.Module:
        return Equivariant(signature.orthogonal(self.component), self.channels, self.layers).build(signature)


@dataclass(frozen=True)
class Equivariant:
    """An EMLP of a group given by name."""

    group: Group
    channels: int = 384
    layers: int = 3

    def build(self, signature: Signature) -> nn.Module:
        source, target = signature.source(self.group), signature.target(self.group)
        return EMLP(source, target, channels=self.channels, layers=self.layers)


@dataclass(frozen=True)
class Pathways:
    """An RPP-EMLP of a group given by name; ``subgroup`` is kept exactly, none of it where it is None."""

    group: Group
    prior: PathwayPrior
    channels: int = 384
    layers: int = 3
    subgroup: Group | None = None

    def build(self, signature: Signature) -> nn.Module:
        source, target = signature.source(self.group), signature.target(self.group)
        return PathwayEMLP(source, target, self.channels, self.layers, self.prior, subgroup=self.subgroup)


def tensor_map(
    input_shape: tuple[int, ...],
    n_outputs: int,
    network: NetworkFactory,
    space: tuple[int, int],
    scalars: int,
    vectors: int,
    output_rank: int,
) -> nn.Module:
    """(B, scalars + vectors (p + q)) -> (B, (p + q)^output_rank)."""
    signature = Signature(space, scalars, vectors, output_rank)
    if signature.sizes != (*input_shape, n_outputs):
        raise ConfigError(
            f"model: {scalars} scalars and {vectors} vectors of R^{space} -> a tensor of rank {output_rank} are "
            f"{signature.sizes[0]} -> {signature.sizes[1]} numbers, the data have {input_shape[0]} -> {n_outputs}"
        )
    return network.build(signature)
