"""Slow and obvious versions of the mathematics, in the arithmetic of autograd alone: what fast paths are compared with."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev

from symlab.kfac.likelihoods import Likelihood


def jacobian(model: nn.Module, inputs: Tensor, names: Sequence[str]) -> Tensor:
    """d outputs / d parameters, flattened and joined in the order of ``names``: (N, C, P)."""
    parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}

    def outputs_of(chosen: dict[str, Tensor]) -> Tensor:
        return functional_call(model, {**parameters, **chosen}, (inputs,))

    found = jacrev(outputs_of)({name: parameters[name] for name in names})
    return torch.cat([found[name].detach().flatten(2) for name in names], 2)


def dense_ggn(model: nn.Module, likelihood: Likelihood, inputs: Tensor, names: Sequence[str]) -> Tensor:
    """sum_n J_n^T Lambda_n J_n: (P, P)."""
    jacobians = jacobian(model, inputs, names)
    hessians = likelihood.hessian(model(inputs)).detach()
    return torch.einsum("ncp,ncd,ndq->pq", jacobians, hessians, jacobians)


def output_hessian(likelihood: Likelihood, outputs: Tensor, targets: Tensor) -> Tensor:
    """Lambda by two derivatives of the log likelihood of each data point: (N, C, C)."""
    return torch.stack(
        [
            -jacrev(jacrev(lambda f, t=target: likelihood.log_likelihood(f[None], t[None])))(output).detach()
            for output, target in zip(outputs.detach(), targets, strict=True)
        ]
    )


def layer_rows(layer: nn.Module, inputs: Tensor, positions: Callable[[Tensor], Tensor]) -> Tensor:
    """What one matrix row of the layer's weight is multiplied with at every position, (N, T, D): d y[n, t, o] / d W[o],
    for o = 0.

    ``positions`` brings the layer's output to (N, T, E). Found by differentiation, so independent of how patches are taken.
    """
    parameters = {name: parameter.detach() for name, parameter in layer.named_parameters()}

    def first_output(weight: Tensor) -> Tensor:
        return positions(functional_call(layer, {**parameters, "weight": weight}, (inputs,)))[..., 0]

    return jacrev(first_output)(parameters["weight"])[:, :, 0].flatten(2).detach()


def output_gradients(
    model: nn.Module, layer: nn.Module, inputs: Tensor, positions: Callable[[Tensor], Tensor]
) -> tuple[Tensor, Tensor]:
    """The layer's input, and d f_c / d (output of the layer), (N, C, T, E), one class at a time."""
    caught: list[tuple[Tensor, Tensor]] = []
    handle = layer.register_forward_hook(lambda module, arguments, output: caught.append((arguments[0], output)))
    outputs = model(inputs)
    handle.remove()
    ((layer_input, layer_output),) = caught
    gradients = []
    for index in range(outputs.shape[1]):
        (gradient,) = torch.autograd.grad(outputs[:, index].sum(), layer_output, retain_graph=True)
        gradients.append(positions(gradient))
    return layer_input.detach(), torch.stack(gradients, 1).detach()


def finite_difference(function: Callable[[Tensor], Tensor], point: Tensor, step: float = 1e-5) -> Tensor:
    """Central differences of a scalar function, entry by entry."""
    gradient = torch.zeros_like(point)
    for index in range(point.numel()):
        direction = torch.zeros_like(point).reshape(-1)
        direction[index] = step
        direction = direction.reshape(point.shape)
        gradient.view(-1)[index] = (function(point + direction) - function(point - direction)) / (2 * step)
    return gradient
