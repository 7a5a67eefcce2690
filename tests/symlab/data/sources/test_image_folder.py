from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from symlab.data.sources.image_folder import ImageFolder, load_image_folder
from symlab.data.variants import Affine
from symlab.errors import DataError


def store(path: Path, level: int, size: tuple[int, int] = (9, 7), mode: str = "RGB") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    shape = (size[1], size[0]) if mode == "L" else (size[1], size[0], 3)
    Image.fromarray(np.full(shape, level, dtype=np.uint8)).save(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Five images of each of two classes: grey levels 0..4 are lions, 100..104 zebras, in two formats and many sizes."""
    for number in range(5):
        store(tmp_path / f"animals/lion/{number}.png", number, (9 + number, 7))
        store(tmp_path / f"animals/zebra/more/{number}.BMP", 100 + number)
    (tmp_path / "animals/zebra/notes.txt").write_text("not an image")
    (tmp_path / "animals/.cache").mkdir()
    return tmp_path / "animals"


def test_classes_are_subfolders_and_images_become_squares(folder: Path) -> None:
    raw = ImageFolder(str(folder), resolution=6).load()
    assert (len(raw.train), len(raw.test), raw.n_classes) == (8, 2, 2)
    assert raw.name == "animals (lion, zebra)"
    for split in (raw.train, raw.test):
        assert split.inputs.shape[1:] == (3, 6, 6)
        assert ((split.inputs.float().mean((1, 2, 3)) >= 100).long() == split.targets).all()


def test_grey_images_have_one_channel_and_the_seed_decides_the_split(tmp_path: Path) -> None:
    for number in range(20):
        store(tmp_path / f"{number % 2}/{number}.png", number, mode="L")
    splits = [load_image_folder(str(tmp_path), resolution=4, seed=seed) for seed in (0, 0, 1)]
    assert splits[0].input_shape == (1, 4, 4)
    assert splits[0].fingerprint() == splits[1].fingerprint() != splits[2].fingerprint()


def test_one_coloured_image_makes_all_of_them_coloured(folder: Path) -> None:
    store(folder / "lion/grey.png", 3, mode="L")
    assert ImageFolder(str(folder), resolution=6).load().train.inputs.shape[1] == 3


def test_subsets_variants_and_normalisation_are_those_of_every_data_set(folder: Path) -> None:
    data = load_image_folder(str(folder), resolution=6, train_size=4, validation_size=2, variant=Affine(180.0))
    assert (len(data.train), len(data.validation or ()), len(data.test)) == (4, 2, 2)
    assert data.normalise(data.train.inputs).mean().abs() < 1e-5


def test_a_photograph_is_turned_upright(tmp_path: Path) -> None:
    pixels = np.zeros((8, 8, 3), dtype=np.uint8)
    pixels[:4] = 255
    exif = Image.Exif()
    exif[0x0112] = 3  # taken upside down
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        Image.fromarray(pixels).save(tmp_path / name / "1.png", exif=exif)
        Image.fromarray(pixels).save(tmp_path / name / "2.png", exif=exif)
    assert ImageFolder(str(tmp_path), resolution=8, test_fraction=0.5).load().train.inputs[0, 0, 0, 0] == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: folder.rename(folder.parent / "elsewhere"), "does not exist: give a folder of images"),
        (lambda folder: (folder / "zebra").rename(folder.parent / "zebra"), r"fewer than two subfolders \(lion\)"),
        (lambda folder: (folder / "empty").mkdir(), "empty is a class without an image"),
        (lambda folder: (folder / "lion/0.png").write_bytes(b"nothing"), "0.png cannot be read as an image"),
    ],
)
def test_complaints_say_what_to_do(folder: Path, change, message: str) -> None:
    change(folder)
    with pytest.raises(DataError, match=message):
        ImageFolder(str(folder)).load()


def test_a_file_is_no_folder_and_pixels_are_positive(folder: Path) -> None:
    with pytest.raises(DataError, match="is no folder"):
        ImageFolder(str(folder / "lion/0.png")).load()
    with pytest.raises(DataError, match=r"data.resolution is 0"):
        ImageFolder(str(folder), resolution=0).load()
