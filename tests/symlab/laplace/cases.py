"""Curvature blocks of every shape, and small networks with their curvature written out densely."""

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev

from symlab.kfac.blocks import KroneckerBlock
from symlab.kfac.likelihoods import Likelihood


def random_block(
    shapes: dict[str, tuple[int, ...]],
    inputs: tuple[int, int, int],
    outputs: tuple[int, int, int],
    rank: int = 10,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
) -> KroneckerBlock:
    """``inputs`` = (p, a, d), ``outputs`` = (p, b, e): sums of ``rank`` outer products each."""
    generator = torch.Generator().manual_seed(seed)

    def gram(size: tuple[int, int, int]) -> Tensor:
        root = torch.randn(*size, rank, generator=generator, dtype=torch.float64)
        return (root @ root.mT).to(dtype)

    return KroneckerBlock(tuple(shapes), tuple(shapes.values()), gram(inputs), gram(outputs), rows=7.0)


BLOCKS = {
    "linear": random_block({"w": (3, 4)}, (1, 1, 4), (1, 1, 3)),
    "joint": random_block({"w": (3, 4), "b": (3,)}, (1, 1, 5), (1, 1, 3)),
    "grouped": random_block({"w": (4, 3)}, (2, 1, 3), (2, 1, 2)),
    "joint grouped": random_block({"w": (4, 3, 2), "b": (4,)}, (2, 1, 7), (2, 1, 2)),
    "block-diagonal": random_block({"w": (6, 4)}, (1, 2, 2), (1, 3, 2)),
    "grouped and block-diagonal": random_block({"w": (8, 3)}, (2, 3, 1), (2, 2, 2)),
    "diagonal": random_block({"w": (2, 3)}, (6, 1, 1), (6, 1, 1)),
    "full": random_block({"w": (3, 2), "b": (3,)}, (1, 1, 1), (1, 1, 9), rank=12),
    "rank one": random_block({"w": (3, 4)}, (1, 1, 4), (1, 1, 3), rank=1),
    "no curvature": random_block({"w": (3, 4), "b": (3,)}, (1, 1, 5), (1, 1, 3), rank=0),
}


def precisions(block: KroneckerBlock) -> list[Tensor]:
    """One precision of every shape that the block takes."""
    p, e, d = block.products, block.n_outputs, block.n_inputs
    shapes = dict.fromkeys([(), (p, 1, 1), (1, e, 1), (p, e, 1), (1, 1, d), (p, 1, d)])
    generator = torch.Generator().manual_seed(1)
    return [torch.rand(shape, generator=generator, dtype=torch.float64) * 3 + 0.05 for shape in shapes]


def flattened(block: KroneckerBlock, values: Tensor) -> Tensor:
    """Values broadcastable to (p, E, D) in the order of ``block.dense()``."""
    whole = values.expand(block.products, block.n_outputs, block.n_inputs)
    return torch.cat([part.reshape(-1) for part in block.split(whole)])


def dense_precision(block: KroneckerBlock, precision: Tensor, scale: float | Tensor = 1.0) -> Tensor:
    return scale * block.dense().double() + torch.diag(flattened(block, precision))


def small_network(n_outputs: int = 3, dtype: torch.dtype = torch.float64) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, n_outputs)).to(dtype)


def dense_jacobian(model: nn.Module, inputs: Tensor) -> Tensor:
    """(N, C, P), parameters in the model's order."""
    parameters = {name: value.detach() for name, value in model.named_parameters()}
    jacobians = jacrev(lambda values: functional_call(model, values, (inputs,)))(parameters)
    return torch.cat([jacobian.flatten(2) for jacobian in jacobians.values()], -1).detach()


def full_block(model: nn.Module, likelihood: Likelihood, inputs: Tensor) -> dict[str, KroneckerBlock]:
    """The exact Gauss-Newton matrix as one block."""
    jacobian, curvature = dense_jacobian(model, inputs), likelihood.hessian(model(inputs)).detach()
    matrix = torch.einsum("nci,ncd,ndj->ij", jacobian, curvature, jacobian)
    names = tuple(name for name, _ in model.named_parameters())
    shapes = tuple(tuple(parameter.shape) for parameter in model.parameters())
    return {names[0]: KroneckerBlock(names, shapes, matrix.new_ones(1, 1, 1, 1), matrix[None, None], rows=1.0)}


def kfac_blocks(model: nn.Sequential, likelihood: Likelihood, inputs: Tensor, joint: bool) -> dict[str, KroneckerBlock]:
    """Kronecker factors of each Linear layer by their definition; weight and bias jointly or apart."""
    blocks, activations = {}, inputs
    for index, layer in enumerate(model):
        if isinstance(layer, nn.Linear):
            rest = model[index + 1 :]
            jacobian = torch.stack([jacrev(rest)(output) for output in layer(activations)])
            outputs = torch.einsum("nci,ncd,ndj->ij", jacobian, likelihood.hessian(model(inputs)), jacobian)
            given = torch.cat([activations, torch.ones_like(activations[:, :1])], 1) if joint else activations
            weight, bias = f"{index}.weight", f"{index}.bias"
            names = (weight, bias) if joint else (weight,)
            shapes = (tuple(layer.weight.shape), tuple(layer.bias.shape))[: len(names)]
            factors = (given.T @ given)[None, None].detach(), outputs[None, None].detach()
            blocks[weight] = KroneckerBlock(names, shapes, *factors, rows=float(len(inputs)))
            if not joint:
                ones = torch.full((1, 1, 1, 1), float(len(inputs)), dtype=inputs.dtype)
                blocks[bias] = KroneckerBlock((bias,), (tuple(layer.bias.shape),), ones, factors[1], float(len(inputs)))
        activations = layer(activations)
    return blocks


def diagonal_blocks(model: nn.Module, likelihood: Likelihood, inputs: Tensor) -> dict[str, KroneckerBlock]:
    """The diagonal of the exact Gauss-Newton matrix, a block per parameter tensor."""
    full = full_block(model, likelihood, inputs)
    diagonal = next(iter(full.values())).dense().diagonal()
    blocks, start = {}, 0
    for name, parameter in model.named_parameters():
        part = diagonal[start : start + parameter.numel()].reshape(-1, 1, 1, 1)
        blocks[name] = KroneckerBlock((name,), (tuple(parameter.shape),), torch.ones_like(part), part, rows=1.0)
        start += parameter.numel()
    return blocks


def dense_curvature(model: nn.Module, blocks: dict[str, KroneckerBlock]) -> Tensor:
    """(P, P) of all blocks, in the model's order of parameters."""
    names = [name for name, _ in model.named_parameters()]
    sizes = dict(zip(names, [parameter.numel() for parameter in model.parameters()], strict=True))
    starts = {name: sum(sizes[before] for before in names[:place]) for place, name in enumerate(names)}
    matrix = torch.zeros(sum(sizes.values()), sum(sizes.values()), dtype=torch.float64)
    for block in blocks.values():
        where = torch.cat([torch.arange(starts[name], starts[name] + sizes[name]) for name in block.names])
        matrix[where[:, None], where[None, :]] = block.dense().double()
    return matrix
