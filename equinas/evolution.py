"""Mutation and selection of EquiNAS_E (Section 5.1): which layer may be relaxed, and who survives.

Architectures are lists of groups, first layer to last. Each layer's group is a subgroup of those of all preceding layers
(the local-equivariance constraint). Costs are (1 - validation accuracy, number of parameters), both to be minimised.
"""

from collections.abc import Sequence

from symlab.groups import Group, maximal_subgroups

Mutation = tuple[int, Group]  # layer, its new group
Costs = tuple[float, float]


def mutations(groups: Sequence[Group]) -> list[Mutation]:
    """Every reduction of one layer by one step of the lattice that keeps the constraint: the next layer, and so all later
    ones, must lie inside the new group."""
    found = []
    for layer, group in enumerate(groups):
        for subgroup in maximal_subgroups(group):
            if layer + 1 == len(groups) or groups[layer + 1] <= subgroup:
                found.append((layer, subgroup))
    return found


def dominates(first: Costs, second: Costs) -> bool:
    """No worse in both costs and better in one."""
    return first != second and first[0] <= second[0] and first[1] <= second[1]


def pareto_front(costs: Sequence[Costs]) -> list[int]:
    """Positions of those that nobody dominates."""
    return [index for index, own in enumerate(costs) if not any(dominates(other, own) for other in costs)]


def select(costs: Sequence[Costs], size: int) -> list[int]:
    """The whole Pareto front, then the most accurate of the others until there are ``size``; in order of accuracy, the
    smaller network first where two are equally accurate."""
    chosen = pareto_front(costs)
    others = sorted(set(range(len(costs))) - set(chosen), key=lambda index: costs[index])
    chosen += others[: max(0, size - len(chosen))]
    return sorted(chosen, key=lambda index: costs[index])
