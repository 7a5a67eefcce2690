"""The two passes between the rows of psi and those of W (``equinas.expansion.Rows``), compiled.

    spread     W[d, g, c, n] = psi[d, t(g), c, sources[g, n]]
    collect    psi[d, t, c, n] = sum over the g of t of W[d, g, c, places[g, n]]

Layout: psi (d, cosets, c, n), W (d, |W|, c, n); all indices are unsigned.
"""

import numpy as np

from symlab.compiled import compiled_for_threads, parallel_range


@compiled_for_threads
def spread(psi: np.ndarray, cosets: np.ndarray, sources: np.ndarray, expanded: np.ndarray) -> None:
    outputs, elements, inputs, entries = expanded.shape
    for row in parallel_range(outputs * elements):
        output, element = row // elements, row % elements
        own, of_coset, into = sources[element], psi[output, cosets[element]], expanded[output, element]
        for channel in range(inputs):
            taken, given = of_coset[channel], into[channel]
            for entry in range(entries):
                given[entry] = taken[own[entry]]


@compiled_for_threads
def collect(expanded: np.ndarray, members: np.ndarray, places: np.ndarray, psi: np.ndarray) -> None:
    """Two elements at a time, so that half as many partial sums go to memory: every group but the trivial one has an even
    number of them."""
    outputs, cosets, inputs, entries = psi.shape
    for row in parallel_range(outputs * cosets * inputs):
        output, coset, channel = row // (cosets * inputs), row // inputs % cosets, row % inputs
        total, own = psi[output, coset, channel], members[coset]
        for pair in range(0, len(own), 2):
            first, second = expanded[output, own[pair], channel], expanded[output, own[pair + 1], channel]
            in_first, in_second = places[own[pair]], places[own[pair + 1]]
            if pair == 0:
                for entry in range(entries):
                    total[entry] = first[in_first[entry]] + second[in_second[entry]]
            else:
                for entry in range(entries):
                    total[entry] += first[in_first[entry]] + second[in_second[entry]]
