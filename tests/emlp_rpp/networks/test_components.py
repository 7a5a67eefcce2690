from itertools import product

import numpy as np
from scipy.sparse.csgraph import connected_components as by_scipy

from emlp_rpp.networks.components import connected_components


def test_components_are_those_of_the_graph():
    generator = np.random.default_rng(0)
    for outputs, inputs in product((1, 3, 6), (1, 4, 5)):
        linked = generator.random((outputs, inputs)) < 0.25
        links = [(int(o), int(i)) for o, i in np.argwhere(linked)]
        found = connected_components(outputs, inputs, links)
        graph = np.block([[np.zeros((outputs, outputs)), linked], [linked.T, np.zeros((inputs, inputs))]])
        _, labels = by_scipy(graph, directed=False)
        expected = set()
        for label in set(labels[:outputs]):
            members = np.flatnonzero(labels == label)
            expected.add((tuple(m for m in members if m < outputs), tuple(m - outputs for m in members if m >= outputs)))
        assert {(tuple(o), tuple(i)) for o, i in found} == expected
