"""Where and in which precision a run computes. None of this changes what is computed beyond rounding."""

import contextlib
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from symlab.allocator import keep_freed_memory
from symlab.errors import ConfigError

Precision = Literal["float32", "float64", "bfloat16_mixed"]


@dataclass(frozen=True)
class Hardware:
    """device: ``cpu``, ``cuda``, ``cuda:1``, ...; threads: of the CPU, None takes what torch finds.

    ``bfloat16_mixed`` keeps weights in float32 and runs forward passes under autocast; bfloat16 has float32's range, so no
    loss scaling is needed.
    """

    device: str = "cpu"
    threads: int | None = None
    precision: Precision = "float32"
    channels_last: bool = False
    compile: bool = False
    deterministic: bool = True

    def prepare_process(self) -> torch.device:
        """Set threads, determinism and the use of memory for this process and return the device; a device that is not there
        is an error."""
        device = torch.device(self.device)
        if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
            raise ConfigError(
                f"hardware.device={self.device}: torch sees {torch.cuda.device_count()} CUDA devices; use hardware=cpu"
            )
        if self.threads is not None:
            torch.set_num_threads(self.threads)
        torch.use_deterministic_algorithms(self.deterministic, warn_only=True)
        keep_freed_memory()
        # Otherwise every new tensor is first filled with NaN, which only helps to find reads of what was never written.
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # a property of the module
        return device

    def prepare_model(self, model: nn.Module) -> nn.Module:
        model = model.to(torch.device(self.device), torch.float64 if self.precision == "float64" else torch.float32)
        if self.channels_last:
            model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        if self.compile:
            model.compile()
        return model

    def prepare_inputs(self, inputs: Tensor) -> Tensor:
        """Inputs in the precision and memory layout of the model."""
        inputs = inputs.to(torch.float64 if self.precision == "float64" else torch.float32)
        if self.channels_last and inputs.dim() == 4:
            inputs = inputs.contiguous(memory_format=torch.channels_last)
        return inputs

    def autocast(self) -> contextlib.AbstractContextManager:
        """The context of every forward pass."""
        if self.precision == "bfloat16_mixed":
            return torch.autocast(torch.device(self.device).type, dtype=torch.bfloat16)
        return contextlib.nullcontext()
