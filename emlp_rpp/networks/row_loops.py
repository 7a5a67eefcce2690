"""The sums of ``emlp_rpp.networks.small_products``, compiled: for every row r of the result

    total[r] = sum_j a[begin_a[r] + steps_a[j]] * b[begin_b[r] + steps_b[j]]         along the batch

Layout: a, b and total (rows, batch); all row numbers are unsigned.
"""

import numpy as np

from symlab.compiled import compiled, compiled_for_threads, parallel_range


def _products_of_row(
    a: np.ndarray,
    b: np.ndarray,
    begin_a: np.uint64,
    begin_b: np.uint64,
    steps_a: np.ndarray,
    steps_b: np.ndarray,
    total: np.ndarray,
) -> None:
    """Four products at a time, so that the sum so far is read and written a quarter as often."""
    batch, summands = len(total), len(steps_a)
    first = summands % 4
    if first == 0:
        total[:] = 0
    for j in range(first):
        x, y = a[begin_a + steps_a[j]], b[begin_b + steps_b[j]]
        if j == 0:
            for n in range(batch):
                total[n] = x[n] * y[n]
        else:
            for n in range(batch):
                total[n] += x[n] * y[n]
    for j in range(first, summands, 4):
        x0, y0 = a[begin_a + steps_a[j]], b[begin_b + steps_b[j]]
        x1, y1 = a[begin_a + steps_a[j + 1]], b[begin_b + steps_b[j + 1]]
        x2, y2 = a[begin_a + steps_a[j + 2]], b[begin_b + steps_b[j + 2]]
        x3, y3 = a[begin_a + steps_a[j + 3]], b[begin_b + steps_b[j + 3]]
        for n in range(batch):
            total[n] += (x0[n] * y0[n] + x1[n] * y1[n]) + (x2[n] * y2[n] + x3[n] * y3[n])


_add_up_row = compiled(_products_of_row)


@compiled
def add_up_products(
    a: np.ndarray,
    b: np.ndarray,
    begin_a: np.ndarray,
    begin_b: np.ndarray,
    steps_a: np.ndarray,
    steps_b: np.ndarray,
    total: np.ndarray,
) -> None:
    for row in range(len(total)):
        _add_up_row(a, b, begin_a[row], begin_b[row], steps_a, steps_b, total[row])


@compiled_for_threads
def share_out_products(
    a: np.ndarray,
    b: np.ndarray,
    begin_a: np.ndarray,
    begin_b: np.ndarray,
    steps_a: np.ndarray,
    steps_b: np.ndarray,
    total: np.ndarray,
) -> None:
    for row in parallel_range(len(total)):
        _add_up_row(a, b, begin_a[row], begin_b[row], steps_a, steps_b, total[row])
