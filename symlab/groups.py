"""Rotations by multiples of 90 degrees and reflections, acting on square grids: C_n and D_n for n in {1, 2, 4}.

An element (r, m) is rho^r s^m: the reflection s (left and right change places) is done first if m is 1, then r turns rho by
90 degrees counterclockwise. With s rho = rho^-1 s,

    (r, m) (q, n) = (r + (-1)^m q mod 4, m + n mod 2).

An element acts on images by [g x](y) = x(g^-1 y), images being (..., H, H). A subgroup H splits a group into cosets H t:
every g is h t with one h of H and one representative t, the neutral element among them (EquiNAS Section 4.1).
"""

from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from symlab.errors import ConfigError

Element = tuple[int, int]
NEUTRAL: Element = (0, 0)
QUARTER_TURNS = 4


def multiply(first: Element, second: Element) -> Element:
    """The element that acts as ``second``, then ``first``."""
    turn = first[0] + (-second[0] if first[1] else second[0])
    return turn % QUARTER_TURNS, (first[1] + second[1]) % 2


def inverse(element: Element) -> Element:
    turn, mirrored = element
    return (turn, 1) if mirrored else (-turn % QUARTER_TURNS, 0)


def act(element: Element, images: Tensor) -> Tensor:
    """[g x](y) = x(g^-1 y) on images (..., H, H)."""
    turn, mirrored = element
    return torch.rot90(images.flip(-1) if mirrored else images, turn, (-2, -1))


@cache
def pixel_sources(element: Element, extent: int) -> tuple[int, ...]:
    """The action as an index: pixel i of ``act(element, image)``, row by row, is pixel ``pixel_sources[i]`` of the image."""
    pixels = torch.arange(extent**2, device="cpu").view(extent, extent)  # on the CPU, whatever the default device is
    return tuple(act(element, pixels).flatten().tolist())


@dataclass(frozen=True)
class Group:
    """A subgroup of D4 with its elements in a fixed order, the neutral one first."""

    name: str
    elements: tuple[Element, ...]

    def __len__(self) -> int:
        return len(self.elements)

    def __le__(self, other: "Group") -> bool:
        return set(self.elements) <= set(other.elements)

    def __lt__(self, other: "Group") -> bool:
        return self <= other and len(self) < len(other)

    def __str__(self) -> str:
        return self.name

    def position(self, element: Element) -> int:
        return self.elements.index(element)


def cyclic(order: int) -> Group:
    """C_n: rotations by 360/n degrees."""
    _refuse_unless_on_the_grid("C", order)
    return Group(f"C{order}", tuple((turn, 0) for turn in range(0, QUARTER_TURNS, QUARTER_TURNS // order)))


def dihedral(order: int) -> Group:
    """D_n: the rotations of C_n, and the reflection s before each of them."""
    _refuse_unless_on_the_grid("D", order)
    rotations = cyclic(order).elements
    return Group(f"D{order}", rotations + tuple((turn, 1) for turn, _ in rotations))


def _refuse_unless_on_the_grid(family: str, order: int) -> None:
    if order not in (1, 2, 4):
        raise ConfigError(f"{family}{order} does not map the pixel grid to itself: choose {family}1, {family}2 or {family}4")


C1, C2, C4 = cyclic(1), cyclic(2), cyclic(4)
D1, D2, D4 = dihedral(1), dihedral(2), dihedral(4)
GROUPS = (C1, D1, C2, D2, C4, D4)


def named(name: str) -> Group:
    """The group of that name, e.g. "D4"."""
    for group in GROUPS:
        if group.name == name:
            return group
    raise ConfigError(f"there is no group {name!r} on the pixel grid: choose one of {', '.join(map(str, GROUPS))}")


def subgroups(group: Group) -> tuple[Group, ...]:
    """The members of ``GROUPS`` inside the group, itself among them, smallest first."""
    return tuple(candidate for candidate in GROUPS if candidate <= group)


def maximal_subgroups(group: Group) -> tuple[Group, ...]:
    """One step down the lattice: smaller members of ``GROUPS`` with none in between."""
    smaller = [candidate for candidate in GROUPS if candidate < group]
    return tuple(candidate for candidate in smaller if not any(candidate < other for other in smaller))


def common_subgroup(groups: tuple[Group, ...]) -> Group:
    """The largest member of ``GROUPS`` that all of them contain."""
    return max((candidate for candidate in GROUPS if all(candidate <= group for group in groups)), key=len)


@cache
def representatives(subgroup: Group, group: Group) -> tuple[Element, ...]:
    """R with group = union of the cosets H r, r of R, the neutral element first."""
    if not subgroup <= group:
        raise ConfigError(f"{subgroup} is no subgroup of {group}: choose one of {', '.join(map(str, subgroups(group)))}")
    chosen: list[Element] = []
    covered: set[Element] = set()
    for element in group.elements:
        if element not in covered:
            chosen.append(element)
            covered |= {multiply(other, element) for other in subgroup.elements}
    return tuple(chosen)


@cache
def factor(element: Element, subgroup: Group, group: Group) -> tuple[Element, Element]:
    """g -> (h, t) with g = h t, h of the subgroup, t a representative."""
    for representative in representatives(subgroup, group):
        candidate = multiply(element, inverse(representative))
        if candidate in subgroup.elements:
            return candidate, representative
    raise ConfigError(f"{element} is no element of {group}")
