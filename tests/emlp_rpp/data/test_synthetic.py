"""Targets against their formulas written index by index, and their symmetry under random elements of the groups."""

import itertools
import math

import numpy as np
import pytest
import torch

from emlp_rpp.data.synthetic import Inertia, ModifiedInertia, O5Invariant, Scattering, Task, build
from emlp_rpp.groups import Embedded, Group, Lorentz, O
from emlp_rpp.representations import Representation, Scalar, T, V
from symlab.errors import DataError

TYPES = {
    O5Invariant(): (O(5), 2 * V, Scalar),
    Inertia(): (O(3), 5 * Scalar + 5 * V, T(2)),
    Scattering(): (Lorentz(), 4 * V, Scalar),
}
every_task = pytest.mark.parametrize("task", TYPES, ids=lambda task: task.name)


def represented(task: Task) -> tuple[Group, Representation, Representation]:
    group, source, target = TYPES[task]
    return group, source(group), target(group)


@every_task
def test_targets_transform_as_their_types_say(task: Task):
    generator = np.random.default_rng(1)
    group, source, target = represented(task)
    inputs = task.sample(20, generator)
    assert inputs.shape == (20, source.size)
    for _ in range(5):
        element = group.random_element(generator)
        moved = task.targets(inputs @ source.matrix(element).T)
        np.testing.assert_allclose(moved, task.targets(inputs) @ target.matrix(element).T, rtol=1e-8, atol=1e-10)


@every_task
def test_scales_are_left_as_they_are_by_the_group(task: Task):
    generator = np.random.default_rng(2)
    group, source, _ = represented(task)
    inputs = task.sample(50, generator)
    moved = inputs @ source.matrix(group.random_element(generator)).T
    if task.scale(inputs) is None:
        assert task.scale(moved) is None
    else:
        assert task.scale(moved) == pytest.approx(task.scale(inputs))


def test_the_invariant_function_by_hand():
    first, second = [0.3, -1.0, 0.2, 0.5, 2.0], [1.0, 0.1, -0.4, 0.0, 0.7]
    length, other = math.sqrt(sum(x * x for x in first)), math.sqrt(sum(x * x for x in second))
    expected = math.sin(length) - other**3 / 2 + sum(x * y for x, y in zip(first, second)) / (length * other)
    assert O5Invariant().targets(np.array([first + second]))[0, 0] == pytest.approx(expected)


def test_the_inertia_by_sums_over_masses():
    inputs = Inertia().sample(3, np.random.default_rng(0))
    for row, result in zip(inputs, Inertia().targets(inputs)):
        expected = np.zeros((3, 3))
        for mass, x in zip(row[:5], row[5:].reshape(5, 3)):
            expected += mass * ((x @ x) * np.eye(3) - np.outer(x, x))
        np.testing.assert_allclose(result.reshape(3, 3), expected)
    assert (inputs[:, :5] > 0).all()


@pytest.mark.parametrize("form", ["printed", "released"])
def test_the_modified_inertia_by_products_of_matrices(form: str):
    z = np.array([[0.0], [0.0], [1.0]])
    inputs = Inertia().sample(4, np.random.default_rng(0))
    task = ModifiedInertia(strength=0.3, form=form)  # type: ignore[arg-type]
    for inertia, result in zip(Inertia().targets(inputs).reshape(-1, 3, 3), task.targets(inputs).reshape(-1, 3, 3)):
        added = inertia @ inertia @ z @ z.T @ inertia if form == "printed" else inertia @ z @ z.T
        np.testing.assert_allclose(result, inertia + 0.3 * added, rtol=1e-12)


def test_the_modified_inertia_is_broken_to_rotations_about_z():
    generator = np.random.default_rng(1)
    task = ModifiedInertia()
    inputs = task.sample(20, generator)
    for group, holds in ((Embedded(O(2)), True), (O(3), False)):
        source, target = (5 * Scalar + 5 * V)(group), T(2)(group)
        element = group.random_element(generator)
        moved = task.targets(inputs @ source.matrix(element).T)
        assert np.allclose(moved, task.targets(inputs) @ target.matrix(element).T) == holds


def test_scattering_by_contraction_of_every_index():
    eta = np.diag([1.0, -1.0, -1.0, -1.0])
    inputs = Scattering().sample(3, np.random.default_rng(0))
    for row, result in zip(inputs, Scattering().targets(inputs)):
        p, p_out, q, q_out = row.reshape(4, 4)
        q_low, q_out_low = eta @ q, eta @ q_out
        total = 0.0
        for m, n in itertools.product(range(4), repeat=2):
            upper = (p[m] * p_out[n] + p[n] * p_out[m]) / 2 - (p @ eta @ p_out - p @ eta @ p) * eta[m, n]
            lower = (q_low[m] * q_out_low[n] + q_low[n] * q_out_low[m]) / 2
            lower -= (q @ eta @ q_out - q @ eta @ q) * eta[m, n]
            total += 4 * upper * lower
        assert result[0] == pytest.approx(total)


@every_task
def test_data_are_a_function_of_the_seed_and_nested(task: Task):
    small, large = build(task, 30, 10, 20, seed=1), build(task, 100, 10, 20, seed=1)
    assert torch.equal(small.train.inputs, large.train.inputs[:30])
    assert torch.equal(small.train.targets, large.train.targets[:30])
    assert torch.equal(small.test.targets, large.test.targets)
    assert small.fingerprint() == build(task, 30, 10, 20, seed=1).fingerprint()
    assert small.fingerprint() != build(task, 30, 10, 20, seed=2).fingerprint()
    rows = torch.cat([split.inputs for split in large.splits.values()])
    assert len(torch.unique(rows, dim=0)) == len(rows)
    assert large.n_outputs == represented(task)[2].size


@pytest.mark.parametrize("task", [O5Invariant(), Scattering()], ids=lambda task: task.name)
def test_inputs_get_an_invariant_scale_and_targets_are_standardised(task: Task):
    data = build(task, 5000, 10, 10)
    assert data.mean == (0.0,) * len(data.mean)
    assert len(set(data.std)) == 1
    assert float(data.train.targets.mean()) == pytest.approx(0, abs=0.1)
    assert float(data.train.targets.std()) == pytest.approx(1, abs=0.1)
    raw = task.targets(data.train.inputs.double().numpy())
    np.testing.assert_allclose(data.train.targets * data.target_std + data.target_mean, raw, rtol=1e-3, atol=1e-4)


def test_inertia_stays_as_drawn():
    data = build(Inertia(), 50, 10, 10)
    assert torch.equal(data.normalise(data.train.inputs), data.train.inputs)
    raw = Inertia().targets(data.train.inputs.double().numpy())
    np.testing.assert_allclose(data.train.targets, raw, rtol=1e-3, atol=1e-4)


def test_sizes_are_checked():
    with pytest.raises(DataError, match=r"data\.train_size=0"):
        build(Inertia(), 0)
