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
    """Four elements at a time, or two of a group that has no more, so that few partial sums go to memory: every group but
    the trivial one has 2, 4 or 8 elements."""
    outputs, cosets, inputs, entries = psi.shape
    for row in parallel_range(outputs * cosets * inputs):
        output, coset, channel = row // (cosets * inputs), row // inputs % cosets, row % inputs
        total, own = psi[output, coset, channel], members[coset]
        a, b = expanded[output, own[0], channel], expanded[output, own[1], channel]
        in_a, in_b = places[own[0]], places[own[1]]
        if len(own) == 2:
            for entry in range(entries):
                total[entry] = a[in_a[entry]] + b[in_b[entry]]
            continue
        for four in range(0, len(own), 4):
            a, b = expanded[output, own[four], channel], expanded[output, own[four + 1], channel]
            c, d = expanded[output, own[four + 2], channel], expanded[output, own[four + 3], channel]
            in_a, in_b, in_c, in_d = places[own[four]], places[own[four + 1]], places[own[four + 2]], places[own[four + 3]]
            if four == 0:
                for entry in range(entries):
                    total[entry] = (a[in_a[entry]] + b[in_b[entry]]) + (c[in_c[entry]] + d[in_d[entry]])
            else:
                for entry in range(entries):
                    total[entry] += (a[in_a[entry]] + b[in_b[entry]]) + (c[in_c[entry]] + d[in_d[entry]])
