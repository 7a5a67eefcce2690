"""The covariance J Sigma J^T of a linearised network without its Jacobians.

Where a block is one Kronecker product, the Jacobian of an output c in its parameters is J_c = sum_t g_ct a_t^T (the rows
of its ``BlockRule``), and with Sigma = R R^T, R = Delta^-1/2 (V (x) U) diag(1 + x)^-1/2 (``whitened.py``) only rows have
to be
rotated:

    R^T J_c = sum_t (V^T Delta_E^-1/2 g_ct) (U^T Delta_D^-1/2 a_t)^T / sqrt(1 + x).

With one position t, the E x D products are not needed either: J_c Sigma J_c'^T = sum_i g~_ci g~_c'i sum_j a~_j^2 / (1 +
x_ij). A data point costs D^2 + C E^2 instead of C (E^2 D + E D^2).
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call

from symlab.kfac.blocks import KroneckerBlock
from symlab.kfac.layers import Capture, Layer
from symlab.laplace.whitened import Whitened


def rows_suffice(blocks: Sequence[KroneckerBlock]) -> bool:
    """Whether every block is one product of dense factors."""
    return all(block.products == block.inputs.shape[1] == block.outputs.shape[1] == 1 for block in blocks)


def covariance_from_rows(
    model: nn.Module,
    mean: Mapping[str, Tensor],
    layers: list[Layer],
    blocks: Sequence[KroneckerBlock],
    whitened: Sequence[Whitened],
    inputs: Tensor,
) -> tuple[Tensor, Tensor] | None:
    """f (N, C) and J Sigma J^T (N, C, C); None if a layer does not see exactly one row of inputs per data point and
    position."""
    weights = {name: value.detach() for name, value in mean.items()}
    with Capture(layers) as capture, torch.enable_grad():
        outputs = functional_call(model, weights, (inputs,))
    if any(len(use.inputs) != len(inputs) for use in capture.uses):
        return None
    edges, n_data = [use.edge for use in capture.uses], len(inputs)
    signals = torch.eye(outputs.shape[1], dtype=outputs.dtype, device=outputs.device)
    gradients = [
        torch.autograd.grad(outputs, edges, signal.expand_as(outputs), retain_graph=True, allow_unused=True)
        for signal in signals
    ]
    with torch.no_grad():
        seen: dict[str, list[tuple[Tensor, Tensor]]] = {}
        for index, use in enumerate(capture.uses):
            found = [of_class[index] for of_class in gradients]
            if any(gradient is None for gradient in found):
                continue
            for rule in use.layer.rules:
                left = rule.input_rows(use.inputs).reshape(n_data, -1, rule.input_rows(use.inputs).shape[-1])
                right = torch.stack([rule.output_rows(use.inputs, gradient)[0, 0] for gradient in found])
                right = right.reshape(len(found), n_data, -1, right.shape[-1]).transpose(0, 1)
                seen.setdefault(use.layer.full_names(rule)[0], []).append((left, right))
        total = torch.zeros(n_data, len(signals), len(signals), dtype=torch.float64, device=outputs.device)
        for block, white in zip(blocks, whitened, strict=True):
            if block.names[0] in seen:
                uses = seen[block.names[0]]
                total += _covariance(white, torch.cat([a for a, _ in uses], 1), torch.cat([g for _, g in uses], 2))
    return outputs.detach(), total


def _covariance(white: Whitened, inputs: Tensor, outputs: Tensor) -> Tensor:
    """Rows a (N, T, D) and g (N, C, T, E) of one block -> (N, C, C)."""
    root = white.precision.rsqrt().to(inputs.dtype)
    on_outputs, on_inputs = (root[0, :, 0], 1.0) if root.shape[1] > 1 else (1.0, root[0, 0])
    a = (inputs * on_inputs) @ white.inputs.vectors[0, 0].to(inputs.dtype)
    g = (outputs * on_outputs) @ white.outputs.vectors[0, 0].to(inputs.dtype)
    share = white.prior_values()[0].to(inputs.dtype)  # 1 / (1 + x): (E, D)
    if a.shape[1] == 1:
        a, g = a[:, 0], g[:, :, 0]
        return torch.einsum("nci,ni,ndi->ncd", g, a.square() @ share.mT, g).double()
    half = (torch.einsum("ncti,ntj->ncij", g, a) * share.sqrt()).flatten(2)
    return (half @ half.mT).double()
