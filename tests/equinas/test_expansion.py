import itertools

import pytest
import torch

from equinas.expansion import KernelShape, expand, relax_kernel
from symlab.errors import ConfigError
from symlab.groups import C4, D2, D4, GROUPS, Group, act, factor, inverse, multiply, representatives
from tests.equinas.cases import PAIRS


def shapes(group: Group, whole: Group = D4) -> list[KernelShape]:
    lifting = KernelShape.lifting(group, 2, 2 * len(whole), 3, whole)
    return [lifting, KernelShape.regular(group, 2 * len(whole), len(whole), 3, whole)]


def entry_of(weight, shape: KernelShape, output, g, source, h):
    """psi[(d, t), (c, s)](g'^-1 h') as an image in the frame of g', written out: (K, K)."""
    part, coset = factor(g, shape.group, shape.whole)
    found = representatives(shape.group, shape.whole)
    row = output * shape.cosets + found.index(coset)
    if shape.is_lifting:
        return act(part, weight[row, source])
    other, column = factor(h, shape.group, shape.whole)
    relative = shape.group.position(multiply(inverse(part), other))
    return act(part, weight[row, source * shape.cosets + found.index(column), relative])


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize("kind", [0, 1], ids=["lifting", "regular"])
def test_the_expanded_kernel_written_out(group, kind):
    """Eqs. 1 and 2 for every pair of channels."""
    shape = shapes(group)[kind]
    weight = torch.randn(shape.weight, dtype=torch.float64)
    found = expand(weight, shape)
    assert found.shape == shape.expanded
    for output, (position, g) in itertools.product(range(shape.outputs), enumerate(D4.elements)):
        sources = [(0, None)] if shape.is_lifting else enumerate(D4.elements)
        for source, (place, h) in itertools.product(range(shape.inputs), sources):
            column = source if shape.is_lifting else source * 8 + place
            expected = entry_of(weight, shape, output, g, source, h)
            assert torch.equal(found[output * 8 + position, column], expected)


@pytest.mark.parametrize("kind", [0, 1], ids=["lifting", "regular"])
def test_gradients_are_those_of_a_gather(kind):
    for group in (C4, D2, D4):
        shape = shapes(group)[kind]
        weight = torch.randn(shape.weight, dtype=torch.float64, requires_grad=True)
        coefficients = torch.randn(shape.expanded, dtype=torch.float64)
        (found,) = torch.autograd.grad((expand(weight, shape) * coefficients).sum(), weight)
        # expand is linear and only moves entries, so its transpose applied to a basis gives the same sums
        indices = expand(torch.arange(weight.numel(), dtype=torch.float64).view(shape.weight), shape).long()
        expected = torch.zeros(weight.numel(), dtype=torch.float64).index_add_(0, indices.flatten(), coefficients.flatten())
        torch.testing.assert_close(found.flatten(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("group", "subgroup"), PAIRS, ids=str)
def test_equation_4_written_out(group, subgroup):
    """psi~[(d, t), (c, s)](g') = psi[d, c](t^-1 g' s), where channels are those of the group itself."""
    shape = KernelShape.regular(group, 2 * len(group), len(group), 3)
    weight = torch.randn(shape.weight)
    relaxed = relax_kernel(weight, shape, subgroup)
    chosen = representatives(subgroup, group)
    for (row, t), (column, s), source in itertools.product(enumerate(chosen), enumerate(chosen), range(2)):
        for position, part in enumerate(subgroup.elements):
            element = multiply(multiply(inverse(t), part), s)
            # psi(x) as a function of the plane too: t^-1 g' s also turns the image, by t^-1
            expected = act(t, weight[0, source, group.position(element)])
            assert torch.equal(relaxed[row, source * len(chosen) + column, position], expected)


@pytest.mark.parametrize(("group", "subgroup"), PAIRS, ids=str)
@pytest.mark.parametrize("kind", [0, 1], ids=["lifting", "regular"])
def test_a_relaxed_kernel_expands_to_the_same(group, subgroup, kind):
    shape = shapes(group)[kind]
    weight = torch.randn(shape.weight)
    relaxed = relax_kernel(weight, shape, subgroup)
    assert relaxed.numel() == weight.numel() * len(group) // len(subgroup)
    assert torch.equal(expand(relaxed, shape.relaxed(subgroup)), expand(weight, shape))


def test_what_does_not_fit_is_refused():
    with pytest.raises(ConfigError, match="odd"):
        KernelShape.regular(D4, 8, 8, 4)
    with pytest.raises(ConfigError, match="no subgroup"):
        KernelShape.regular(D2, 8, 8, 3, D4).relaxed(C4)
    with pytest.raises(ConfigError, match="no subgroup"):
        KernelShape.regular(D4, 8, 8, 3, C4)
