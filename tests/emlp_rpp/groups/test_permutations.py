"""Schreier-Sims against plain enumeration."""

import random

from emlp_rpp.groups.permutations import PermutationGroup, compose, invert


def closure(generators: list[tuple[int, ...]], degree: int) -> set[tuple[int, ...]]:
    known = {tuple(range(degree))}
    waiting = list(known)
    while waiting:
        element = waiting.pop()
        for generator in generators:
            product = compose(generator, element)
            if product not in known:
                known.add(product)
                waiting.append(product)
    return known


def test_order_and_membership_agree_with_enumeration():
    chooser = random.Random(0)
    for degree in (3, 4, 5, 6):
        for _ in range(6):
            generators = []
            for _ in range(2):
                images = list(range(degree))
                moved = chooser.sample(images, chooser.randint(2, degree))
                for source, target in zip(moved, moved[1:] + moved[:1]):
                    images[source] = target
                generators.append(tuple(images))
            elements, group = closure(generators, degree), PermutationGroup(generators, degree)
            assert group.order() == len(elements)
            other = tuple(chooser.sample(range(degree), degree))
            assert (other in group) == (other in elements)
            assert invert(generators[0]) in group
