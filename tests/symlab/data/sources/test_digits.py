from pathlib import Path

import torch

from symlab.data.sources.digits import Digits


def test_digits(tmp_path: Path) -> None:
    raw = Digits().load(str(tmp_path / "never made"))
    assert len(raw.train) + len(raw.test) == 1797
    assert len(raw.test) == 359
    assert raw.train.inputs.shape[1:] == (1, 8, 8)
    assert raw.train.inputs.dtype == torch.uint8
    assert int(raw.train.inputs.max()) == 255
    assert set(raw.test.targets.tolist()) == set(range(10))
    assert not (tmp_path / "never made").exists()


def test_the_split_is_fixed_by_its_seed() -> None:
    first, again, other = (Digits(split_seed=seed).load("") for seed in (0, 0, 1))
    assert torch.equal(first.test.inputs, again.test.inputs)
    assert not torch.equal(first.test.inputs, other.test.inputs)
