import torch

from symlab.models import MLP


def test_shapes_and_parameter_count():
    model = MLP((1, 28, 28), 10, [1000], activation="tanh")
    assert model(torch.zeros(2, 1, 28, 28)).shape == (2, 10)
    assert sum(parameter.numel() for parameter in model.parameters()) == 795_010  # LILA's MLP


def test_without_hidden_layers_it_is_linear():
    model = MLP((6,), 3, []).double()
    first, second = torch.randn(4, 6, dtype=torch.float64), torch.randn(4, 6, dtype=torch.float64)
    zero = model(torch.zeros(4, 6, dtype=torch.float64))
    torch.testing.assert_close(model(first + second) + zero, model(first) + model(second))
