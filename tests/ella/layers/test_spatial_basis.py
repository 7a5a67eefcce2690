import pytest
import torch

from ella.layers.spatial_basis import SpatialBasis, initialise_reading, initialise_writing


def test_is_the_interpolation_of_its_anchors_written_out():
    """(K_zz + 1e-4 I)^-1 K_zt, entry by entry, with different frequencies of the axes."""
    torch.manual_seed(0)
    basis = SpatialBasis(3, "omega").double()
    with torch.no_grad():
        basis.frequency.copy_(torch.tensor([0.7, 1.3], dtype=torch.float64))
    grid = [(float(row), float(column)) for row in range(3) for column in range(3)]
    anchors = basis.locations.tolist()

    def kernel(left, right):
        return torch.exp(
            torch.tensor(-((0.7 * (left[0] - right[0])) ** 2 + (1.3 * (left[1] - right[1])) ** 2) / 2, dtype=torch.float64)
        )

    among = torch.stack([torch.stack([kernel(left, right) for right in anchors]) for left in anchors])
    across = torch.stack([torch.stack([kernel(left, right) for right in grid]) for left in anchors])
    expected = torch.linalg.inv(among + 1e-4 * torch.eye(5, dtype=torch.float64)) @ across
    torch.testing.assert_close(basis(), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("extent", "anchors"), [(1, 1), (2, 2), (3, 5), (4, 8), (5, 13)])
def test_anchors_are_half_the_grid_rounded_up_and_in_its_box(extent, anchors):
    basis = SpatialBasis(extent)
    assert basis.locations.shape == (anchors, 2)
    assert basis.locations.min() >= 0
    assert basis.locations.max() <= extent - 1


def test_a_prior_on_theta_makes_values_and_induced_weights_equally_long():
    torch.manual_seed(0)
    plain, whitened = SpatialBasis(4, "u").double(), SpatialBasis(4, "theta").double()
    with torch.no_grad():
        whitened.locations.copy_(plain.locations)
    basis = whitened()
    torch.testing.assert_close(basis @ basis.mT, torch.eye(8, dtype=torch.float64), rtol=1e-7, atol=1e-7)
    # The same functions: each plain one is a combination of the whitened ones.
    torch.testing.assert_close(plain() @ basis.mT @ basis, plain(), rtol=1e-6, atol=1e-6)


def test_anchors_in_one_place_are_no_trouble():
    for prior in ("theta", "u"):
        basis = SpatialBasis(3, prior)
        with torch.no_grad():
            basis.locations.fill_(1.0)
        assert basis().isfinite().all()


def test_frequency_zero_makes_every_function_constant():
    basis = SpatialBasis(4, "omega")
    with torch.no_grad():
        basis.frequency.zero_()
    values = basis()
    torch.testing.assert_close(values, values[:, :1].expand_as(values), rtol=1e-12, atol=1e-12)


def test_what_is_a_weight_and_what_a_hyperparameter():
    for prior, weights in (("u", []), ("theta", []), ("omega", ["frequency"])):
        basis = SpatialBasis(3, prior)
        assert basis.hyperparameters() == ["locations"]
        assert [name for name, _ in basis.named_parameters() if name != "locations"] == weights


def test_slopes_are_derivatives_in_the_frequencies():
    torch.manual_seed(0)
    basis, step = SpatialBasis(3, "omega").double(), 1e-6
    with torch.no_grad():
        slopes = basis.slopes()
        for axis in range(2):
            basis.frequency[axis] += step
            above = basis()
            basis.frequency[axis] -= 2 * step
            below = basis()
            basis.frequency[axis] += step
            torch.testing.assert_close(slopes[axis], (above - below) / (2 * step), rtol=1e-6, atol=1e-6)


def test_anchors_start_on_a_checkerboard_where_values_are_weights():
    basis = SpatialBasis(3)
    assert basis.locations.tolist() == [[0, 0], [0, 2], [1, 1], [2, 0], [2, 2]]
    for extent in (3, 8, 16):
        basis = SpatialBasis(extent)
        rows, columns = basis.locations.long().unbind(1)
        at_anchors = basis()[:, rows * extent + columns]
        torch.testing.assert_close(at_anchors, torch.eye(len(rows), dtype=torch.float64), rtol=0, atol=2e-3)  # the jitter's


@pytest.mark.parametrize("fraction", [0.2, 0.5, 0.75, 1.0])
def test_anchors_are_different_pixels_whatever_their_number(fraction):
    locations = SpatialBasis(4, anchor_fraction=fraction).locations
    assert len(locations) == len(locations.unique(dim=0))


def test_initialisation_sets_the_variance_of_what_is_written_and_of_what_is_read():
    torch.manual_seed(0)
    basis = SpatialBasis(4)
    weight = torch.empty(20_000, 8)
    initialise_writing(weight, basis, variance=3.0)
    assert abs((weight @ basis().float()).square().mean().item() - 3.0) < 0.2
    initialise_reading(weight, basis, variance=3.0)
    maps = 0.5**0.5 * (torch.randn(20_000, 16) + torch.randn(20_000, 1))  # a half of the variance is common to all pixels
    assert abs((weight @ basis().float() * maps).sum(1).square().mean().item() - 3.0) < 0.2


@pytest.mark.parametrize("prior", ["u", "omega", "theta"])
@pytest.mark.parametrize("count", [3, 30])
def test_induced_values_are_those_of_the_basis(prior, count):
    """Whichever side the system is solved for: fewer values than pixels, and more; with both gradients."""
    basis = SpatialBasis(5, prior).double()
    with torch.no_grad():
        basis.locations.add_(0.3 * torch.randn(basis.locations.shape, dtype=torch.float64))
    values = torch.randn(count, basis.n_anchors, dtype=torch.float64, requires_grad=True)
    results = []
    for found in (basis.induce(values), values @ basis()):
        results.append((found, *torch.autograd.grad(found.sin().sum(), [values, basis.locations])))
    torch.testing.assert_close(results[0], results[1], rtol=1e-8, atol=1e-8)
