import json
from pathlib import Path

import pandas as pd
import pytest

from ella.inspect import main
from tests.ella.test_inspection import TENSORS


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Three epochs, two of which ended with a fit."""
    line = {f"{key}/{name}": value for name, tensor in TENSORS.items() for key, value in vars(tensor).items()}
    lines = [{"epoch": 0, "train/loss": 1.0}, {"epoch": 1, **line}, {"epoch": 2, **line}]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    return tmp_path


def test_a_run_is_written_out_as_tables_and_pictures(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    main([str(run), "--output", str(tmp_path / "out")])
    assert "f_fc" in capsys.readouterr().out
    layers = pd.read_csv(tmp_path / "out" / "layers.csv")
    assert list(layers["effective_layer_type"]) == ["conv", "conv", "f_fc", "f_fc"]
    assert layers["prior_variance"][3] == pytest.approx(1e-6)
    assert sorted(set(pd.read_csv(tmp_path / "out" / "layers_over_training.csv")["epoch"])) == [1, 2]
    for name in ("layers_over_training.png", "learned_network.png"):
        assert (tmp_path / "out" / name).read_bytes().startswith(b"\x89PNG")


def test_a_run_without_fits_is_refused_in_one_line(tmp_path: Path):
    with pytest.raises(SystemExit, match=r"has no fit .* learner=laplace"):
        main([str(tmp_path)])
