from experiments import progress
from experiments.progress import Bar, Lines, Silent, TableProgress, as_duration, choose_observer


def test_durations_read_as_hours_minutes_seconds():
    assert [as_duration(seconds) for seconds in (0.4, 59.6, 3599, 90061)] == ["0:00:00", "0:01:00", "0:59:59", "25:01:01"]


def test_lines_estimate_the_time_left_from_their_own_pace(monkeypatch, capsys):
    clock = iter([0.0, 0.0, 5.0, 20.0, 30.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    lines = Lines()
    lines.step(41, 100, {"loss": 2.0})  # resumed at step 40: earlier steps say nothing about this process's pace
    lines.step(46, 100, {"loss": 1.5})  # too early for a line
    lines.step(61, 100, {"loss": 1.0})  # 20 steps in 20 seconds
    lines.step(100, 100, {"loss": 0.5})
    assert capsys.readouterr().out.splitlines() == [
        "step 61/100  loss 1  left 0:00:39",
        "step 100/100  loss 0.5  left 0:00:00",
    ]


def test_a_terminal_gets_a_bar_and_anything_else_lines(monkeypatch):
    monkeypatch.setattr(progress.sys, "stderr", type("Terminal", (), {"isatty": lambda self: False})())
    assert type(choose_observer("auto")) is Lines
    assert type(choose_observer("none")) is Silent
    monkeypatch.undo()
    bar = choose_observer("bar")
    assert type(bar) is Bar
    bar.step(1, 2, {"loss": 1.0})
    bar.close()


def test_a_table_says_what_it_works_on_and_how_long(monkeypatch, capsys):
    clock = iter([0.0, 40.0, 40.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    shown = TableProgress("table", 3, 1, label=str.upper)
    shown.say("[2/3] done")
    shown.tick(["a", "b"], ["c"], seconds_left=61.0)
    assert capsys.readouterr().out.splitlines() == [
        "[2/3] done",
        "  working on A, B; 1 in another process; left about 0:01:01",
    ]
