"""Networks as configurations describe them."""

import numpy as np
import pytest
import torch

from emlp_rpp.groups import SO, Lorentz, O, ProperLorentz, ProperOrthochronousLorentz
from emlp_rpp.models import AugmentedPlain, Equivariant, Orthogonal, Pathways, Plain, Signature, tensor_map
from emlp_rpp.pathways import PathwayEMLP, PathwayPrior
from emlp_rpp.representations import T
from emlp_rpp.solver import invariant_basis
from symlab.errors import ConfigError

CASES = {"O(5)": Signature((5, 0), 0, 2, 0), "inertia": Signature((3, 0), 5, 5, 2), "Lorentz": Signature((1, 3), 0, 4, 0)}
every_case = pytest.mark.parametrize("signature", CASES.values(), ids=CASES)


@every_case
@pytest.mark.parametrize("component", ["full", "special", "connected"])
def test_networks_are_equivariant_under_their_component(signature: Signature, component: str):
    torch.manual_seed(0)
    group = signature.orthogonal(component)  # type: ignore[arg-type]
    network = Orthogonal(component, 40, 2).build(signature).double()  # type: ignore[arg-type]
    generator = np.random.default_rng(0)
    x = torch.randn(6, signature.sizes[0], dtype=torch.float64) / 2
    element = group.random_element(generator, spread=0.3)
    source = torch.tensor(signature.source(group).matrix(element))
    target = torch.tensor(signature.target(group).matrix(element))
    with torch.no_grad():
        torch.testing.assert_close(network(x @ source.T), network(x) @ target.T, rtol=1e-6, atol=1e-8)


def test_components_are_the_groups_of_the_thesis():
    lorentz = CASES["Lorentz"]
    assert lorentz.orthogonal("full").dimension == 4
    assert lorentz.orthogonal("connected") == ProperOrthochronousLorentz()
    assert CASES["O(5)"].orthogonal("special") == SO(5) == CASES["O(5)"].orthogonal("connected")
    assert CASES["inertia"].orthogonal("full") == O(3)
    # O(1,3) and SO(1,3) by other generators of the same groups: the same invariant tensors
    for component, group in (("full", Lorentz()), ("special", ProperLorentz())):
        ours = invariant_basis(T(4)(lorentz.orthogonal(component))).dense()  # type: ignore[arg-type]
        theirs = invariant_basis(T(4)(group)).dense()
        torch.testing.assert_close(ours @ ours.T, theirs @ theirs.T)


@every_case
def test_sizes_of_maps(signature: Signature):
    n_inputs, n_outputs = signature.sizes
    pathways = Pathways(signature.orthogonal("full"), PathwayPrior(), 40, 1)
    for network in (Plain(8, 1), AugmentedPlain("full", 8, 1), Orthogonal("full", 40, 1), pathways):
        built = tensor_map(
            (n_inputs,), n_outputs, network, signature.space, signature.scalars, signature.vectors, signature.output_rank
        )
        assert built(torch.randn(3, n_inputs)).shape == (3, n_outputs)


def test_what_does_not_fit_the_data_is_refused():
    with pytest.raises(ConfigError, match="10 -> 1 numbers, the data have 20 -> 9"):
        tensor_map((20,), 9, Plain(), (5, 0), 0, 2, 0)
    with pytest.raises(ConfigError, match=r"SO\(2\) acts on 2 coordinates"):
        Equivariant(SO(2)).build(CASES["inertia"])


def test_pathways_are_of_the_group_and_the_prior_that_are_named():
    prior = PathwayPrior(10.0, 2.0)
    network = Pathways(O(3), prior, 40, 2, subgroup=SO(3)).build(CASES["inertia"])
    assert isinstance(network, PathwayEMLP)
    assert (network.prior, network.rep_in.group, len(network.blocks)) == (prior, O(3), 2)
    assert network.output.residual.rep_in.group == SO(3)
