import gzip
from pathlib import Path

import pytest

from symlab.data.checksums import Pinned
from symlab.data.sources import idx_images
from symlab.data.sources.idx_images import torchvision_origin


def test_torchvisions_folder_is_emptied_into_the_canonical_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fake(dataset: str, directory: Path, silence: float) -> Path:
        raw = directory / dataset / "raw"
        raw.mkdir(parents=True)
        (raw / "plain").write_bytes(b"1")
        (raw / "packed.gz").write_bytes(gzip.compress(b"2"))
        return directory

    monkeypatch.setattr(idx_images, "torchvision_download", fake)
    origin = torchvision_origin("MNIST", (Pinned("plain", "sha256:1"), Pinned("packed", "sha256:2")))
    assert origin.label == "torchvision.datasets.MNIST"
    origin.fetch(tmp_path, 20.0)
    assert (tmp_path / "plain").read_bytes() + (tmp_path / "packed").read_bytes() == b"12"
