import pytest
import torch

from symlab.transformations.exponential import affine_exponential

# (A, t): nothing, pure generators, equal eigenvalues, a nilpotent matrix, half a turn, large entries
CASES = {
    "zero": ([[0.0, 0.0], [0.0, 0.0]], [0.0, 0.0]),
    "translation": ([[0.0, 0.0], [0.0, 0.0]], [0.3, -0.7]),
    "rotation": ([[0.0, -1.2], [1.2, 0.0]], [0.2, 0.1]),
    "half a turn": ([[0.0, -3.14159], [3.14159, 0.0]], [1.0, 0.0]),
    "equal scales": ([[0.5, 0.0], [0.0, 0.5]], [0.2, 0.1]),
    "opposite scales": ([[0.5, 0.0], [0.0, -0.5]], [0.2, 0.1]),
    "nilpotent": ([[0.0, 2.0], [0.0, 0.0]], [0.2, 0.1]),
    "large": ([[3.0, -4.0], [2.0, -5.0]], [2.0, 3.0]),
}


def by_torch(linear: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
    generator = torch.cat([linear, shift[..., None]], -1)
    return torch.linalg.matrix_exp(torch.cat([generator, torch.zeros_like(generator[..., :1, :])], -2))[..., :2, :]


def draw(count: int, spread: float) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    values = spread * torch.randn(count, 6, dtype=torch.float64, generator=generator)
    return values[:, :4].reshape(count, 2, 2), values[:, 4:]


@pytest.mark.parametrize("case", CASES)
def test_single_matrices_and_their_gradients(case):
    linear, shift = (torch.tensor(part, dtype=torch.float64, requires_grad=True) for part in CASES[case])
    found, expected = affine_exponential(linear, shift), by_torch(linear, shift)
    torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-13)
    weights = torch.linspace(-1, 2, 6, dtype=torch.float64).reshape(2, 3)
    ours = torch.autograd.grad((found * weights).sum(), (linear, shift))
    theirs = torch.autograd.grad((expected * weights).sum(), (linear, shift))
    torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-11)
    assert torch.autograd.gradcheck(affine_exponential, (linear, shift))


@pytest.mark.parametrize("spread", [1e-6, 0.1, 1.0, 3.0])
def test_batches_of_any_shape(spread):
    linear, shift = draw(60, spread)
    found = affine_exponential(linear.reshape(3, 20, 2, 2), shift.reshape(3, 20, 2))
    expected = by_torch(linear, shift).reshape(3, 20, 2, 3)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12 * float(expected.abs().max()))


def test_single_precision():
    linear, shift = draw(50, 1.0)
    found = affine_exponential(linear.float(), shift.float())
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), by_torch(linear, shift), rtol=2e-5, atol=2e-5)


def test_shapes_without_values():
    assert affine_exponential(torch.zeros(4, 2, 2, device="meta"), torch.zeros(4, 2, device="meta")).shape == (4, 2, 3)


def test_no_matrices():
    assert affine_exponential(torch.zeros(0, 2, 2), torch.zeros(0, 2)).shape == (0, 2, 3)
