import io
import zipfile
from pathlib import Path

import pytest
import torch

from symlab.data.checksums import checksum_of_file
from symlab.data.dataset import RawImages, Split
from symlab.data.sources import rotmnist
from symlab.data.sources.rotmnist import RotMnist, parse_amat
from symlab.errors import DataError

NAMES = ("mnist_all_rotation_normalized_float_train_valid.amat", "mnist_all_rotation_normalized_float_test.amat")


def amat(count: int) -> str:
    """Image n has the value n/count in pixel n, and label n modulo 10."""
    lines = []
    for number in range(count):
        values = ["0.0"] * 784
        values[number] = str(number / count)
        lines.append("   ".join([*values, f"{number % 10}.0"]))
    return "\n".join(lines) + "\n"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotmnist, "N_TRAIN", 12)
    monkeypatch.setattr(rotmnist, "N_TEST", 50)


@pytest.fixture
def fake_mnist(monkeypatch: pytest.MonkeyPatch) -> None:
    class FakeMnist:
        def load(self, root: str) -> RawImages:
            generator = torch.Generator().manual_seed(0)
            images = torch.randint(0, 256, (70, 1, 28, 28), generator=generator).to(torch.uint8)
            targets = torch.arange(70) % 10
            return RawImages("MNIST", Split(images[:60], targets[:60]), Split(images[60:], targets[60:]), 10, "fake")

    monkeypatch.setattr(rotmnist, "Mnist", FakeMnist)


def test_lines_are_images_and_labels() -> None:
    split = parse_amat(io.StringIO(amat(20)), 20, "file")
    assert split.inputs.shape == (20, 1, 28, 28)
    assert split.inputs.view(20, 784)[10, 10] == 128  # 0.5 * 255, rounded to even
    assert split.targets.tolist() == [number % 10 for number in range(20)]


@pytest.mark.parametrize("text", ["1 2 3\n", "a b c\n", amat(3), amat(2).replace("0.5", "1.5")])
def test_another_table_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="file is not"):
        parse_amat(io.StringIO(text), 2, "file")


@pytest.mark.parametrize("folder", ["rotmnist", "mnist_rotation_new", "."])
def test_larochelles_files(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    for name, count in zip(NAMES, (12, 50)):
        (tmp_path / folder / name).write_text(amat(count))
    raw = RotMnist().load(str(tmp_path))
    assert (len(raw.train), len(raw.test), raw.name, raw.notes) == (12, 50, "rotMNIST", ())


def test_larochelles_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mnist_rotation_new.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, count in zip(NAMES, (12, 50)):
            archive.writestr(name, amat(count))
    with pytest.raises(DataError, match=r"mnist_rotation_new\.zip is damaged"):
        RotMnist().load(str(tmp_path))
    monkeypatch.setattr(rotmnist, "_ARCHIVE_CHECKSUM", checksum_of_file(path, "md5"))
    assert len(RotMnist().load(str(tmp_path)).test) == 50


@pytest.mark.usefixtures("fake_mnist")
def test_regeneration_says_so(tmp_path: Path) -> None:
    raw = RotMnist(regeneration_seed=3, stand_in_for="Galaxy10").load(str(tmp_path))
    assert (len(raw.train), len(raw.test), raw.name) == (12, 50, "rotMNIST (regenerated)")
    assert raw.notes == (
        "rotMNIST was regenerated from MNIST with seed 3: Larochelle's files were not found.",
        "rotMNIST in the place of Galaxy10.",
    )


@pytest.mark.usefixtures("fake_mnist")
def test_regeneration_is_deterministic(tmp_path: Path) -> None:
    first, again, other = (RotMnist(regeneration_seed=seed).load(str(tmp_path)) for seed in (0, 0, 1))
    assert torch.equal(first.train.inputs, again.train.inputs)
    assert not torch.equal(first.train.inputs, other.train.inputs)
