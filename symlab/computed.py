"""What a run that is computed in one go, instead of trained, hands back."""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Computed:
    """``metrics`` for the record, a ``remark`` where a reader must know how they came about, ``arrays`` for figures, and
    ``notes``, sentences to be shown at every table that used the run."""

    metrics: dict[str, float] = field(default_factory=dict)
    remark: str = ""
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
