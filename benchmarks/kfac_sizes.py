"""One measurement of our own fit, or of our hyperparameter gradient, in this process: argument and answer in JSON.

The hyperparameter is the matrix of an affine map applied to the inputs, six numbers eta: images are sampled on the grid
(I + eta) (x, y, 1), so the whole network depends on it. Data come in batches made on the fly; nothing of size N is kept.
"""

import json
import sys
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from benchmarks.kfac_workloads import CLASSES, WORKLOADS, build_network
from benchmarks.measuring import measure_extra_memory, measure_seconds
from symlab.kfac import Classification
from symlab.laplace import Laplace

BATCH = 500


class Warped(nn.Module):
    """The network on warped images; vectors are taken as 28 x 28 images."""

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network
        self.eta = nn.Parameter(torch.full((2, 3), 0.05))

    def forward(self, inputs: Tensor) -> Tensor:
        images = inputs.view(-1, 1, 28, 28) if inputs.dim() == 2 else inputs
        matrix = (torch.eye(2, 3) + self.eta).expand(len(images), 2, 3)
        grid = nn.functional.affine_grid(matrix, list(images.shape), align_corners=True)
        return self.network(nn.functional.grid_sample(images, grid, align_corners=True).view(inputs.shape))


def batches(workload: str, samples: int) -> Iterator[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(1)
    for start in range(0, samples, BATCH):
        size = min(BATCH, samples - start)
        inputs = torch.randn(size, *WORKLOADS[workload].input_shape, generator=generator)
        yield inputs, torch.randint(CLASSES, (size,), generator=generator)


def main() -> None:
    request = json.loads(sys.argv[1])
    torch.set_num_threads(request["threads"])
    workload, samples = request["workload"], request["samples"]
    model = Warped(build_network(workload))

    def fit(count: int) -> Laplace:
        return Laplace.fit(model, Classification(), batches(workload, count), exclude=["eta"])

    def gradient(count: int) -> list[Tensor]:
        return fitted.hyperparameter_gradient(batches(workload, count), [model.eta])

    fitted = fit(BATCH)
    task: Callable[[int], object] = fit if request["task"] == "fit" else gradient
    task(4)
    memory = measure_extra_memory(lambda: task(samples))
    seconds = measure_seconds(lambda: task(samples), repeats=1 if samples > 1000 else 3, warmups=0)
    print(json.dumps({"seconds": sorted(seconds)[len(seconds) // 2], "megabytes": memory / 1e6}))


if __name__ == "__main__":
    main()
