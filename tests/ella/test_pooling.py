import pytest
import torch

from ella.pooling import PolyphasePool
from symlab.errors import ConfigError


def test_keeps_the_component_of_largest_norm_of_each_sample():
    """Oracle: the four strided slices, compared one sample at a time."""
    features = torch.randn(6, 3, 8, 4, dtype=torch.float64)
    pooled = PolyphasePool()(features)
    for sample, kept in zip(features, pooled, strict=True):
        components = [sample[:, row::2, column::2] for row in (0, 1) for column in (0, 1)]
        strongest = max(components, key=lambda component: component.abs().max())
        assert torch.equal(kept, strongest)


def test_a_negative_extreme_counts():
    features = torch.zeros(1, 1, 2, 2)
    features[0, 0, 1, 0], features[0, 0, 0, 1] = -2.0, 1.0
    assert PolyphasePool()(features).item() == -2.0


def test_commutes_with_translations_up_to_a_translation():
    features = torch.randn(2, 3, 8, 8)
    pooled = PolyphasePool()(features)
    for shift in [(1, 0), (0, 1), (2, 3), (5, 7)]:
        moved = PolyphasePool()(features.roll(shift, (2, 3)))
        for sample in range(2):
            shifts = [pooled[sample].roll((row, column), (1, 2)) for row in range(4) for column in range(4)]
            assert any(torch.equal(moved[sample], candidate) for candidate in shifts)


def test_odd_sizes_are_refused():
    with pytest.raises(ConfigError, match="even sizes, got 5 x 4"):
        PolyphasePool()(torch.zeros(1, 1, 5, 4))
