import logging
import os
import socket
import time
from pathlib import Path

import pytest
import wandb

from experiments import tracking as module
from experiments.tracking import Tracker, Tracking

KEY = "k" * 40


@pytest.fixture(autouse=True)
def clean_wandb(tmp_path: Path, monkeypatch):
    """No login and no settings of the person who runs the tests; wandb reads its environment anew in every test."""
    for name in [name for name in os.environ if name.startswith("WANDB")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("WANDB_CONFIG_DIR", str(tmp_path / "config"))
    wandb.teardown()
    yield
    wandb.teardown()


def test_off_does_nothing(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tracker = Tracking(mode="off").open("id", "name", "run", {})
    tracker.log({"loss": 1.0}, step=1)
    tracker.finish({})
    assert not list(tmp_path.iterdir())


def test_offline_leaves_a_run_directory(tmp_path: Path):
    tracker = Tracking(mode="offline", directory=str(tmp_path), group="table", tags=("ella", "x" * 100)).open(
        "abc", "name", "run", {"seed": 0}
    )
    assert tracker.run is not None
    tracker.log({"loss": 1.0}, step=1)
    tracker.log_table("table", ("row", "value"), [("a", 1.0)])
    tracker.finish({"accuracy": 0.5})
    assert list(tmp_path.glob("wandb/offline-run-*-abc"))


@pytest.mark.parametrize(
    ("key", "url", "reason"),
    [
        ("", "", "no login for api."),
        (KEY, "http://127.0.0.1:9", "127.0.0.1 cannot be reached"),
        (KEY, "not an address", "base_url"),
    ],
)
def test_online_without_login_or_server_becomes_offline_and_says_so_once(
    monkeypatch, caplog, key: str, url: str, reason: str
):
    monkeypatch.setenv("WANDB_API_KEY", key)
    if url:
        monkeypatch.setenv("WANDB_BASE_URL", url)
    with caplog.at_level(logging.WARNING):
        settings = Tracking(mode="online").reachable()
        settings.reachable()
    assert settings.mode == "offline"
    (message,) = [record.getMessage() for record in caplog.records]
    assert reason in message


def test_a_login_in_netrc_counts_for_its_own_server_only(tmp_path: Path, monkeypatch):
    """The server is a port of this machine that listens."""
    (tmp_path / "netrc").write_text(f"machine 127.0.0.1 login user password {KEY}\n")
    (tmp_path / "netrc").chmod(0o600)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{port}")
        assert Tracking(mode="online").reachable().mode == "offline"  # wandb looks for 127.0.0.1 with its port
        (tmp_path / "netrc").write_text(f"machine 127.0.0.1:{port} login user password {KEY}\n")
        assert Tracking(mode="online").reachable().mode == "online"


def test_a_failure_of_the_library_is_said_once_and_ends_tracking(caplog):
    class Broken:
        def log(self, *_, **__):
            raise RuntimeError("the server is gone")

    tracker = Tracker()
    tracker.run = Broken()
    with caplog.at_level(logging.WARNING):
        tracker.log({"loss": 1.0}, step=1)
        tracker.log({"loss": 0.9}, step=2)
        tracker.finish({})
    assert [record.getMessage() for record in caplog.records] == ["tracking stopped: the server is gone"]


def test_a_server_that_accepts_and_never_answers_ends_tracking_within_its_time_limit(tmp_path: Path, monkeypatch, caplog):
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(module, "INIT_SECONDS", 2.0)
        monkeypatch.setenv("WANDB_API_KEY", KEY)
        monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{server.getsockname()[1]}")
        started = time.monotonic()
        with caplog.at_level(logging.WARNING):
            tracker = Tracking(mode="online", directory=str(tmp_path)).open("abc", "name", "run", {})
            tracker.log({"loss": 1.0}, step=1)
            tracker.finish({})
    assert time.monotonic() - started < 20
    assert tracker.run is None
    assert any("tracking stopped" in record.getMessage() for record in caplog.records)
