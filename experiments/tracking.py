"""Optional tracking by Weights & Biases; the only module that imports wandb.

Nothing is read back from it: records on disk are the truth, the dashboard is a view. So tracking may fail at any moment (no
login, no network, a dead server, a full disk) without stopping or slowing a run; the failure is said once.
"""

import logging
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from http.client import HTTPException
from typing import Any, Literal
from urllib.parse import urlsplit

log = logging.getLogger(__name__)

ANSWER_SECONDS = 3.0
INIT_SECONDS = 10.0
FINISH_SECONDS = 30.0


@dataclass(frozen=True)
class Tracking:
    """What the config group ``tracking`` says; ``group`` and ``tags`` are set when a table is filled."""

    mode: Literal["off", "offline", "online"] = "offline"
    project: str = "symlab"
    directory: str = "."
    group: str | None = None
    tags: tuple[str, ...] = ()

    def reachable(self) -> "Tracking":
        """These settings, with ``offline`` in place of ``online`` when the server or a login is missing (said here)."""
        if self.mode != "online":
            return self
        problem = _online_problem()
        if problem is None:
            return self
        log.warning("tracking: %s; writing offline instead (upload later with `wandb sync`)", problem)
        return replace(self, mode="offline")

    def open(self, run_id: str, name: str, job_type: str, config: Mapping[str, Any]) -> "Tracker":
        tracker = Tracker()
        if self.mode != "off":
            tracker.guarded(lambda: tracker.start(self.reachable(), run_id, name, job_type, config))
        return tracker


class Tracker:
    """A started run of wandb, or nothing."""

    def __init__(self) -> None:
        self.run: Any = None

    def guarded(self, action: Any) -> None:
        """Do it; if wandb fails, say so once and stop tracking."""
        try:
            action()
        except Exception as error:  # noqa: BLE001  (whatever a tracking library raises must not end a run)
            log.warning("tracking stopped: %s", " ".join(str(error).split()))
            self.run = None

    def start(self, tracking: Tracking, run_id: str, name: str, job_type: str, config: Mapping[str, Any]) -> None:
        import wandb  # here, because importing it takes seconds and mode=off needs none of it

        settings = wandb.Settings(
            console="off",
            silent=True,
            disable_git=True,
            save_code=False,
            x_disable_stats=True,
            init_timeout=INIT_SECONDS,
            finish_timeout=FINISH_SECONDS,
        )
        self.run = wandb.init(
            project=tracking.project,
            dir=tracking.directory,
            mode="online" if tracking.mode == "online" else "offline",
            id=run_id,
            name=name,
            job_type=job_type,
            group=tracking.group,
            tags=[tag[:64] for tag in tracking.tags],
            config=dict(config),
            resume="allow" if tracking.mode == "online" else None,
            settings=settings,
        )

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        if self.run is not None:
            self.guarded(lambda: self.run.log(dict(metrics), step=step))

    def finish(self, summary: Mapping[str, Any]) -> None:
        if self.run is not None:
            self.guarded(lambda: self.run.summary.update(dict(summary)))
        if self.run is not None:
            self.guarded(lambda: self.run.finish())

    def log_table(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        if self.run is not None:
            import wandb

            self.guarded(lambda: self.run.log({name: wandb.Table(columns=list(columns), data=[list(row) for row in rows])}))


def _online_problem() -> str | None:
    """Why tracking online cannot work, found in at most a few seconds; None if it can."""
    try:
        server, logged_in = _server_and_login()
    except Exception as error:  # noqa: BLE001  (a malformed key or settings file must not end a run)
        return " ".join(str(error).split())
    host = urlsplit(server).hostname
    if not logged_in:
        return f"no login for {host} (run `wandb login`)"
    try:
        urllib.request.urlopen(server, timeout=ANSWER_SECONDS).close()
    except urllib.error.HTTPError as answer:  # any answer at all is a sign of life
        answer.close()
    except (OSError, HTTPException) as error:
        return f"{host} does not answer ({getattr(error, 'reason', error)})"
    return None


def _server_and_login() -> tuple[str, bool]:
    """The address wandb would use (environment, its settings files, its own default), and whether it has credentials there.

    Its public functions would start its service or prompt for a key; hence the internal names and the pin in pyproject.toml.
    """
    from wandb.sdk import wandb_setup
    from wandb.sdk.lib import wbauth

    settings = wandb_setup.singleton().settings
    credentials = settings.api_key or settings.identity_token_file or wbauth.read_netrc_auth(host=settings.base_url)
    return settings.base_url, bool(credentials)
