"""The straightforward step and ours are the same: loss and every gradient."""

import pytest
import torch

from benchmarks.bench_invariant_weights import compare
from benchmarks.invariant_weights_steps import PlainStep, build


@pytest.mark.parametrize("kind", ["rff", "relu"])
def test_both_steps_agree(kind):
    learner, batch = build(kind, batch=6, units=12, samples=3, side=8)
    plain = PlainStep(learner)
    loss = plain.loss(batch, 0)
    loss.backward()
    likelihood, divergence, _ = learner.bound(batch.inputs, batch.targets, ("step", 0))
    ours = divergence / learner.plan.train_size - likelihood
    ours.backward()
    assert ours.item() == pytest.approx(loss.item(), rel=1e-5)
    model = learner.model
    pairs = [(model.transformations.eta, plain.eta), (model.head.weights(), plain.mean)]
    if kind == "relu":
        pairs += [(model.basis.filters, plain.filters), (model.basis.bias, plain.bias)]
    for ours_of, theirs in pairs:
        torch.testing.assert_close(ours_of.grad.float(), theirs.grad, rtol=1e-3, atol=1e-4)
    factors = torch.stack([factor.grad for factor in model.head.factors])
    torch.testing.assert_close(factors, plain.factor.grad, rtol=1e-3, atol=1e-5)


def test_a_comparison_has_times_and_agreement():
    speed, agreement = compare("rff", 4, 8, 2, repeats=1)
    assert speed.ours is not None
    assert speed.ours > 0
    assert agreement.holds
