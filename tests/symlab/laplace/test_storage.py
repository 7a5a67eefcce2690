import pytest
import torch
from torch import Tensor, nn

from symlab.errors import ConfigError
from symlab.kfac.likelihoods import Classification, Regression
from symlab.laplace import Laplace
from tests.symlab.laplace.cases import kfac_blocks, small_network
from tests.symlab.laplace.fits import INPUTS, classifier, regressor


@pytest.mark.parametrize("make", [classifier, lambda: classifier("unit", joint=False), regressor, lambda: regressor(None)])
def test_stored_fits_come_back_bit_by_bit(make, tmp_path) -> None:
    laplace = make()
    laplace.optimise_prior(steps=3, learn_noise=laplace.n_outputs is not None)
    laplace.save(tmp_path / "fit.pt")
    model = small_network()
    nn.init.zeros_(model[0].weight)  # theta* is part of the fit
    loaded = Laplace.load(tmp_path / "fit.pt", model)
    assert torch.equal(loaded.prior.log_precision, laplace.prior.log_precision)
    for name, block in laplace.blocks.items():
        again = loaded.blocks[name]
        assert (again.names, again.shapes, again.rows) == (block.names, block.shapes, block.rows)
        assert torch.equal(again.inputs, block.inputs)
        assert torch.equal(again.outputs, block.outputs)
    assert torch.equal(loaded.log_marginal_likelihood(), laplace.log_marginal_likelihood())
    assert loaded.effective_parameters() == laplace.effective_parameters()
    first, second = (fit.predict(INPUTS) for fit in (laplace, loaded))
    for have, want in zip(values_of(second), values_of(first), strict=True):
        assert torch.equal(have, want)
    assert not loaded.model[0].weight.any()


def values_of(prediction) -> list[Tensor]:
    return [prediction] if isinstance(prediction, Tensor) else [prediction.mean, prediction.variance]


def test_a_model_that_does_not_fit_is_refused_by_name(tmp_path) -> None:
    classifier().save(tmp_path / "fit.pt")
    with pytest.raises(ConfigError, match=r"2\.weight has shape \(4, 4\) instead of \(3, 4\); 2\.bias has shape \(4,\)"):
        Laplace.load(tmp_path / "fit.pt", small_network(n_outputs=4))
    with pytest.raises(ConfigError, match=r"0\.bias is missing"):
        Laplace.load(tmp_path / "fit.pt", nn.Sequential(nn.Linear(2, 4, bias=False), nn.Tanh(), nn.Linear(4, 3)))
    fit = classifier()
    with pytest.raises(ConfigError, match=r"does not fit the curvature: 2\.weight"):
        Laplace(small_network(n_outputs=4), fit.likelihood, fit.blocks, fit.log_likelihood, 9)


def test_files_of_other_versions_and_foreign_likelihoods(tmp_path) -> None:
    class Foreign:
        hessian = Classification.hessian

    model = small_network()
    blocks = kfac_blocks(model, Classification(), INPUTS, joint=True)
    Laplace(model, Foreign(), blocks, -4.0, 9).save(tmp_path / "fit.pt")
    with pytest.raises(ConfigError, match="has a likelihood of its own"):
        Laplace.load(tmp_path / "fit.pt", model)
    own = Foreign()
    assert Laplace.load(tmp_path / "fit.pt", model, own).likelihood is own
    torch.save({"version": 99}, tmp_path / "other.pt")
    with pytest.raises(ConfigError, match="version 99 cannot be read"):
        Laplace.load(tmp_path / "other.pt", model)


def test_a_given_regression_takes_the_stored_noise(tmp_path) -> None:
    laplace = regressor()
    laplace.optimise_prior(steps=3, learn_noise=True)
    laplace.save(tmp_path / "fit.pt")
    given = Regression(noise=9.0)
    loaded = Laplace.load(tmp_path / "fit.pt", small_network(), given)
    assert loaded.likelihood is given
    assert torch.equal(loaded.log_marginal_likelihood(), laplace.log_marginal_likelihood())
    with pytest.raises(ConfigError, match="of a regression, not of Classification"):
        Laplace.load(tmp_path / "fit.pt", small_network(), Classification())
