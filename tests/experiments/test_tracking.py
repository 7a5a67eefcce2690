import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
    monkeypatch.setenv("no_proxy", "127.0.0.1")
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
        (KEY, "http://127.0.0.1:9", "127.0.0.1 does not answer"),
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


@pytest.fixture
def mute_server() -> Iterator[str]:
    """The address of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def answering_server() -> Iterator[str]:
    """The address of a server that answers every request with an error."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_server_that_never_answers_is_found_out_before_the_first_run(monkeypatch, caplog, mute_server: str):
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.2)
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    monkeypatch.setenv("WANDB_BASE_URL", mute_server)
    assert Tracking(mode="online").reachable().mode == "offline"
    assert "127.0.0.1 does not answer (timed out)" in caplog.text


def test_a_login_in_netrc_counts_for_its_own_server_only(tmp_path: Path, monkeypatch, answering_server: str):
    """wandb looks for the host with its port."""
    file = tmp_path / "netrc"
    file.touch(mode=0o600)
    monkeypatch.setenv("WANDB_BASE_URL", answering_server)
    for machine, mode in (("127.0.0.1", "offline"), (answering_server.removeprefix("http://"), "online")):
        file.write_text(f"machine {machine} login user password {KEY}\n")
        assert Tracking(mode="online").reachable().mode == mode


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


def test_a_server_that_falls_silent_ends_tracking_within_its_time_limit(
    tmp_path: Path, monkeypatch, caplog, mute_server: str
):
    monkeypatch.setattr(module, "_online_problem", lambda: None)  # it still answered then
    monkeypatch.setattr(module, "INIT_SECONDS", 2.0)
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    monkeypatch.setenv("WANDB_BASE_URL", mute_server)
    started = time.monotonic()
    with caplog.at_level(logging.WARNING):
        tracker = Tracking(mode="online", directory=str(tmp_path)).open("abc", "name", "run", {})
        tracker.log({"loss": 1.0}, step=1)
        tracker.finish({})
    assert time.monotonic() - started < 20
    assert tracker.run is None
    assert any("tracking stopped" in record.getMessage() for record in caplog.records)
