"""On the real data sets, fetched if they are not there: ``make test-data`` (root: SYMLAB_DATA, else ./data)."""

import hashlib
import os
from pathlib import Path

import pytest
import torch

from symlab.data.pipeline import build
from symlab.data.sources.cifar10 import MD5_PREFIXES, Cifar10
from symlab.data.sources.fashion_mnist import FashionMnist
from symlab.data.sources.first_galaxies import FirstGalaxies
from symlab.data.sources.isic import LABELS, Isic2019
from symlab.data.sources.mnist import Mnist
from symlab.data.uci import CHECKSUMS, load_uci
from symlab.data.variants import Quadrants

pytestmark = pytest.mark.data

ROOT = os.environ.get("SYMLAB_DATA", "data")


def has(name: str) -> bool:
    return any((Path(root) / name).exists() for root in ROOT.split(os.pathsep))


def test_mnist() -> None:
    raw = Mnist().load(ROOT)
    assert torch.bincount(raw.train.targets).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert float(raw.train.inputs.double().mean() / 255) == pytest.approx(0.1307, abs=1e-4)


def test_fashion_mnist() -> None:
    raw = FashionMnist().load(ROOT)
    assert torch.bincount(raw.train.targets).tolist() == [6000] * 10
    assert float(raw.train.inputs.double().mean() / 255) == pytest.approx(0.2860, abs=1e-4)


def test_cifar10_is_the_published_binary_version() -> None:
    raw = Cifar10().load(ROOT)
    folder = raw.origin.removeprefix("local ") if raw.origin.startswith("local ") else f"{ROOT.split(os.pathsep)[0]}/cifar10"
    for name, prefix in MD5_PREFIXES.items():
        assert hashlib.md5(Path(folder, name).read_bytes(), usedforsecurity=False).hexdigest().startswith(prefix)
    assert torch.bincount(raw.train.targets).tolist() == [5000] * 10
    means = (raw.train.inputs.double().mean(dim=(0, 2, 3)) / 255).tolist()
    assert means == pytest.approx([0.4914, 0.4822, 0.4465], abs=1e-4)


def test_first_galaxies() -> None:
    raw = FirstGalaxies().load(ROOT)
    assert raw.validation is not None
    assert torch.bincount(raw.train.targets).tolist() == [395, 824, 291, 248]
    assert torch.bincount(raw.validation.targets).tolist() == torch.bincount(raw.test.targets).tolist() == [50] * 4


def test_quadrant_mnist() -> None:
    dataset = build(Mnist(), ROOT, Quadrants("digit_and_quadrant"), resolution=32, train_size=400, test_size=400)
    assert (dataset.input_shape, dataset.n_classes) == ((1, 32, 32), 40)


@pytest.mark.skipif(not has(f"HAM10000/{LABELS.name}"), reason="ISIC needs a registration and is not fetched")
def test_isic() -> None:
    raw = Isic2019(resolution=16).load(ROOT)
    counts = torch.bincount(torch.cat([raw.train.targets, raw.test.targets]), minlength=9)
    assert counts.tolist() == [1113, 6705, 514, 130, 1099, 115, 142, 197, 0]
    assert "10,015 (HAM10000) of 25,331" in raw.notes[0]


@pytest.mark.skipif(not has("uci/wine"), reason="the UCI tables are not in a local root")
@pytest.mark.parametrize(
    ("name", "shape"), [("energy", (768, 8)), ("fertility", (100, 9)), ("pendulum", (630, 9)), ("wine", (1599, 11))]
)
def test_uci(name: str, shape: tuple[int, int]) -> None:
    assert name in CHECKSUMS
    for split in range(10):
        dataset = load_uci(name, ROOT, split=split)  # type: ignore[arg-type]
        assert (len(dataset.train) + len(dataset.test), *dataset.input_shape) == shape
        assert abs(len(dataset.test) - shape[0] / 10) < 1.5
