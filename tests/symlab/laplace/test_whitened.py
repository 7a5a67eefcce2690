import torch

from symlab.laplace.spectrum import Spectrum
from symlab.laplace.whitened import _tiles
from tests.symlab.laplace.cases import BLOCKS, dense_precision, precisions


def test_shares_of_prior_and_data_add_up_on_either_side() -> None:
    for block in BLOCKS.values():
        for precision in precisions(block):
            whitened = Spectrum(block).whiten(precision)
            for side, other in (("inputs", block.n_outputs), ("outputs", block.n_inputs)):
                together = whitened.prior_share(side) + whitened.effective_parameters(side)
                torch.testing.assert_close(together, torch.full_like(together, other), rtol=1e-12, atol=1e-12)
                torch.testing.assert_close(whitened.prior_share(side).sum(), whitened.prior_share(), rtol=1e-12, atol=1e-12)


def test_gradient_in_log_precision_is_the_prior_share() -> None:
    block = BLOCKS["joint"]
    for precision in precisions(block):
        whitened = Spectrum(block).whiten(precision)
        moved = precision.log().requires_grad_()
        (wanted,) = torch.autograd.grad(torch.logdet(dense_precision(block, moved.exp())), moved)
        have = (whitened.gradient_in_precision() * whitened.precision).reshape(precision.shape)
        torch.testing.assert_close(have, wanted, rtol=1e-10, atol=1e-10)


def test_tiles_visit_everything_once(monkeypatch) -> None:
    monkeypatch.setattr("symlab.laplace.whitened._TILE", 7)
    for shape in ((3, 2, 2), (3, 4, 3), (2, 3, 9), (20, 1, 1)):
        visits = torch.zeros(shape)
        for products, outputs in _tiles(*shape):
            visits[products, outputs] += 1
        assert torch.equal(visits, torch.ones(shape))
