"""Training steps of the peer's EMLP, compiled, in its own environment: the same request as ``emlp_steps_ours``.

The repairs are those of ``emlp_peer``. The first step, which compiles, is not counted.
"""

import json
import os
import statistics
import sys
import time

os.environ["TQDM_DISABLE"] = "1"

import jax

if not hasattr(jax.sharding, "PmapSharding"):
    jax.sharding.PmapSharding = type("PmapSharding", (), {})

import numpy as np
import objax
from emlp.groups import O
from emlp.nn.objax import EMLP
from emlp.reps import Scalar, T, V

from benchmarks.emlp_steps import BATCH, CHANNELS, LAYERS, LEARNING_RATE, STEPS


def main() -> None:
    request = json.loads(sys.argv[1])
    step = STEPS[request["step"]]
    group = O(step.n)
    source = step.vectors * V + step.scalars * Scalar if step.scalars else step.vectors * V
    network = EMLP(source, T(step.target), group=group, ch=CHANNELS, num_layers=LAYERS)
    optimizer = objax.optimizer.Adam(network.vars())
    generator = np.random.default_rng(0)
    x, y = (jax.numpy.asarray(generator.standard_normal((BATCH, size)), dtype="float32") for size in step.sizes)

    gradients = objax.GradValues(lambda a, b: ((network(a) - b) ** 2).mean(), network.vars())

    @objax.Function.with_vars(network.vars() + gradients.vars() + optimizer.vars())
    def train(a, b):  # type: ignore[no-untyped-def]
        found, loss = gradients(a, b)
        optimizer(lr=LEARNING_RATE, grads=found)
        return loss[0]

    compiled = objax.Jit(train)
    seconds = []
    for repeat in range(request["repeats"] + 1):
        started = time.perf_counter()
        compiled(x, y).block_until_ready()
        if repeat:
            seconds.append(time.perf_counter() - started)
    print(json.dumps({"emlp": statistics.median(seconds)}))


if __name__ == "__main__":
    main()
