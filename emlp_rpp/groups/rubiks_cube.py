"""The Rubik's cube group as permutations of its 48 movable facets, from the geometry of the cube.

A facet is a pair (position, normal): the position of its cubie in {-1, 0, 1}^3 and the outward direction of the facet. A
quarter turn of the face with normal n rotates every facet whose cubie has <position, n> = 1 by -90 degrees about n:
clockwise as seen from outside. Centres do not move and are left out. The order is asserted in the tests:

    8! 3^7 12! 2^11 / 2 = 43252003274489856000
"""

from itertools import product

import numpy as np

from emlp_rpp.groups.group import Group
from emlp_rpp.groups.permutations import permutation_matrix

ORDER = 43_252_003_274_489_856_000
FACES = {"U": (0, 0, 1), "D": (0, 0, -1), "F": (0, -1, 0), "B": (0, 1, 0), "L": (-1, 0, 0), "R": (1, 0, 0)}
Facet = tuple[tuple[int, ...], tuple[int, ...]]


def facets() -> list[Facet]:
    """All 48, face by face."""
    found: list[Facet] = []
    for normal in FACES.values():
        for position in product((-1, 0, 1), repeat=3):
            if np.dot(position, normal) == 1 and sum(map(abs, position)) > 1:
                found.append((position, normal))
    return found


def _turned(vector: tuple[int, ...], axis: tuple[int, ...]) -> tuple[int, ...]:
    """Rotate by -90 degrees about ``axis``: the part along it stays, the rest x becomes x cross axis."""
    along = np.dot(vector, axis) * np.array(axis)
    return tuple((along + np.cross(vector, axis)).tolist())


def quarter_turn(face: str) -> list[int]:
    """The permutation of facets: entry i is where facet i goes."""
    axis, every = FACES[face], facets()
    number = {facet: index for index, facet in enumerate(every)}
    images = []
    for position, normal in every:
        moves = np.dot(position, axis) == 1
        images.append(number[_turned(position, axis), _turned(normal, axis)] if moves else number[position, normal])
    return images


class RubiksCube(Group):
    def __init__(self) -> None:
        super().__init__("Rubik's cube", discrete=[permutation_matrix(quarter_turn(face)) for face in FACES])
