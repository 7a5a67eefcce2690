"""What a person sees while a run works: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Literal

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

LINE_SECONDS = 10.0


def as_text(metrics: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:.4g}" for name, value in metrics.items())


def as_duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}"


class Silent:
    def step(self, done: int, total: int, metrics: dict[str, float]) -> None: ...

    def epoch(self, epoch: int, metrics: dict[str, float]) -> None: ...

    def close(self) -> None: ...


class Lines(Silent):
    """A line at most every ten seconds, with the time left estimated from this process's own pace."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.first: int | None = None
        self.printed = self.started

    def step(self, done: int, total: int, metrics: dict[str, float]) -> None:
        now = time.monotonic()
        if self.first is None:
            self.first, self.started = done, now
        if now - self.printed < LINE_SECONDS and done < total:
            return
        self.printed = now
        pace = (now - self.started) / max(1, done - self.first)
        print(f"step {done}/{total}  {as_text(metrics)}  left {as_duration(pace * (total - done))}", flush=True)


class Bar(Silent):
    def __init__(self) -> None:
        self.columns = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self.task = self.columns.add_task("training", total=None)
        self.columns.start()

    def step(self, done: int, total: int, metrics: dict[str, float]) -> None:
        self.columns.update(self.task, completed=done, total=total, description=as_text(metrics))

    def close(self) -> None:
        self.columns.stop()


def choose_observer(progress: Literal["auto", "bar", "lines", "none"]) -> Silent:
    if progress == "auto":
        progress = "bar" if sys.stderr.isatty() else "lines"
    return {"bar": Bar, "lines": Lines, "none": Silent}[progress]()


class TableProgress:
    """The runs of a table: one bar on a terminal, a line per finished run elsewhere."""

    def __init__(self, title: str, total: int, done: int, label: Callable[[str], str]):
        self.label, self.total, self.done, self.printed = label, total, done, time.monotonic()
        self.bar: Progress | None = None
        if sys.stderr.isatty():
            columns = (
                TextColumn(title),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.description}"),
            )
            self.bar = Progress(*columns, console=Console(stderr=True))
            self.task = self.bar.add_task("", total=total, completed=done)
            self.bar.start()

    def say(self, line: str) -> None:
        if self.bar is not None:
            self.bar.console.print(line, markup=False, highlight=False)
            self.bar.advance(self.task)
        else:
            print(line, flush=True)

    def tick(self, running: Sequence[str], elsewhere: Sequence[str], seconds_left: float | None) -> None:
        """Say what is being worked on and how long it will take."""
        left = "" if seconds_left is None else f"left about {as_duration(seconds_left)}"
        working = ", ".join(self.label(key) for key in running)
        waiting = f"; {len(elsewhere)} in another process" if elsewhere else ""
        if self.bar is not None:
            self.bar.update(self.task, description=f"{left}  {working}{waiting}")
        elif time.monotonic() - self.printed >= 3 * LINE_SECONDS:
            self.printed = time.monotonic()
            print(f"  working on {working or 'nothing'}{waiting}; {left or 'time left not known yet'}", flush=True)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()
