import pytest
import torch

from symlab.errors import ConfigError
from symlab.models import MLP
from symlab.trainer.prior_ascent import FitPlan, PriorAscent
from symlab.trainer.protocol import TrainingPlan


def ascent_on(data, view=None, **options) -> PriorAscent:
    torch.manual_seed(0)
    model = MLP(data.input_shape, data.n_outputs, [4]).double()
    return PriorAscent(model, TrainingPlan(len(data.train), 20, 4), data, 0, FitPlan(**options), 0.5, view)


@pytest.mark.parametrize(("structure", "different"), [("scalar", 1), ("layer", 2), ("tensor", 4)])
def test_one_precision_for_all_for_each_layer_or_for_each_tensor(blobs, structure, different):
    ascent = ascent_on(blobs, prior_structure=structure, prior_steps=3)
    assert set(ascent.precisions().values()) == {0.5}
    ascent.update(ascent.fit(0))
    precisions = ascent.precisions()
    assert set(precisions) == {name for name, _ in ascent.model.named_parameters()}
    assert len(set(precisions.values())) == different


@pytest.mark.parametrize(("structure", "kind"), [("diagonal", "ggn"), ("kfac", "empirical"), ("full", "ggn")])
def test_other_curvature(blobs, structure, kind):
    ascent = ascent_on(blobs, structure=structure, kind=kind)
    usual = ascent_on(blobs).fit(0).log_marginal_likelihood().item()
    other = ascent.fit(0).log_marginal_likelihood().item()
    assert other != pytest.approx(usual, rel=1e-6)
    assert other == pytest.approx(usual, rel=0.5)


def test_every_call_sees_the_same_random_view(blobs):
    def view(inputs, generator):
        return inputs + torch.rand(inputs.shape, generator=generator).to(inputs)

    ascent = ascent_on(blobs, view, fit_size=30, fit_batch_size=16)
    first, again, later = (torch.cat([inputs for inputs, _ in ascent.batches(epoch)]) for epoch in (0, 0, 1))
    assert len(first) == 30
    assert torch.equal(first, again)
    assert not torch.equal(first, later)
    plain = torch.cat([inputs for inputs, _ in ascent_on(blobs, fit_size=30, fit_batch_size=16).batches(0)])
    assert not torch.equal(first - plain, (first - plain)[:1].expand_as(first))  # each batch with noise of its own
    assert ((first - plain) >= 0).all()


def test_values_that_make_no_sense_are_refused_by_name():
    with pytest.raises(ConfigError, match=r"learner\.every=0"):
        FitPlan(every=0)
