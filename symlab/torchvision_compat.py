"""Makes ``import torchvision`` work beside a CPU-only torch.

The torchvision wheel of the package index is built for CUDA. Beside a CPU-only torch its compiled library does not load, so
the operators it would define do not exist, and torchvision's import fails when it attaches shape functions to two of them
(``operator torchvision::nms does not exist``). Data sets, models, utils and transforms.v2 need none of these operators:
declaring their schemas is enough. Where the compiled library loads, nothing is declared.

This module is the only place that knows of it: use ``from symlab.torchvision_compat import torchvision``.
"""

import importlib.util
from pathlib import Path

import torch

_SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)

# A torch.library fragment lives as long as this object does.
_fragment: torch.library.Library | None = None


def _compiled_library_loads() -> bool:
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("torchvision is not installed: run `make setup`")
    libraries = sorted(Path(spec.origin).parent.glob("_C*.so")) + sorted(Path(spec.origin).parent.glob("_C*.pyd"))
    if not libraries:
        return False
    try:
        torch.ops.load_library(str(libraries[0]))
    except OSError:
        return False
    return True


def _declare_missing_operators() -> None:
    global _fragment
    if _fragment is not None or _compiled_library_loads():
        return
    _fragment = torch.library.Library("torchvision", "FRAGMENT")
    for schema in _SCHEMAS:
        _fragment.define(schema)


_declare_missing_operators()

import torchvision  # noqa: E402  (the declarations above must come first)

__all__ = ["torchvision"]
