"""No network: pip is replaced, what is decided about it is tested."""

import json

import pytest

from benchmarks import peer_environments
from benchmarks.peer_environments import TORCH, PeerEnvironment, prepare

ENVIRONMENT = PeerEnvironment("some", ("good==1", "bad==2"), unwanted=("heavy",))


@pytest.fixture
def commands(monkeypatch):
    """The commands run; whatever installs bad==2 fails."""
    recorded = []

    def run(command):
        recorded.append(command)
        if "venv" in command:
            python = peer_environments.Path(command[-1]) / "bin" / "python"
            python.parent.mkdir(parents=True)
            python.touch()
        return "no wheel" if "bad==2" in command else None

    monkeypatch.setattr(peer_environments, "_run", run)
    return recorded


def test_one_that_fails_is_reported_and_keeps_no_other_out(tmp_path, commands):
    prepared = prepare(ENVIRONMENT, tmp_path / "root")
    assert prepared.missing == {"bad==2": "no wheel"}
    assert json.loads((tmp_path / "root" / "some" / "installed.json").read_text()) == [TORCH, "good==1"]
    installs = [command for command in commands if "install" in command]
    assert all(TORCH in command for command in installs)


def test_a_second_call_tries_only_what_is_missing(tmp_path, commands):
    prepare(ENVIRONMENT, tmp_path / "root")
    commands.clear()
    prepare(ENVIRONMENT, tmp_path / "root")
    assert not any("good==1" in command or "venv" in command for command in commands)


def test_a_complete_environment_runs_nothing(tmp_path, commands):
    complete = PeerEnvironment("some", ("good==1",))
    prepare(complete, tmp_path / "root")
    commands.clear()
    assert prepare(complete, tmp_path / "root").missing == {}
    assert commands == []
