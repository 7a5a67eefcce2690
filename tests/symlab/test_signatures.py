import inspect

import torch

from symlab.signatures import with_signature


def scaled(tensor: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
    return tensor * factor


def test_the_same_function_with_its_signature_written_down():
    expected = inspect.signature(scaled)
    found = with_signature(scaled)
    assert found is scaled
    assert found.__signature__ == expected
    assert inspect.signature(found).bind(torch.ones(1)).arguments.keys() == {"tensor"}


def test_a_function_with_derivatives_of_its_own_binds_defaults():
    class Scaled(torch.autograd.Function):
        @staticmethod
        @with_signature
        def forward(tensor, factor=2.0):
            return tensor * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.factor = inputs[1] if len(inputs) > 1 else 2.0

        @staticmethod
        def backward(ctx, gradient):
            return gradient * ctx.factor, None

    leaf = torch.ones(3, requires_grad=True)
    Scaled.apply(leaf, 3.0).sum().backward()
    assert leaf.grad.tolist() == [3.0, 3.0, 3.0]
