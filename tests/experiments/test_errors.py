import pytest

from experiments.composition import compose_run
from experiments.errors import one_line, reported
from symlab.errors import DataError


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("colour=red", "colour is unknown"),
        ("learner.momentum=0.9", "learner.momentum is unknown"),
        ("data=imagenet", "data=imagenet does not exist: choose one of cifar10, "),
        ("data.train_size=[1", "data.train_size=[1"),
    ],
)
def test_hydra_errors_become_one_line_that_names_the_culprit(override: str, message: str):
    with pytest.raises(Exception) as caught:  # noqa: PT011  (Hydra raises several kinds)
        compose_run([override])
    line = one_line(caught.value)
    assert line is not None
    assert message in line
    assert "\n" not in line


def test_a_users_error_is_printed_without_traceback(capsys):
    with pytest.raises(SystemExit) as caught, reported():
        raise DataError("mnist/train is damaged:\n delete it")
    assert caught.value.code == 1
    assert capsys.readouterr().err == "error: mnist/train is damaged: delete it\n"


def test_a_bug_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError), reported():
        _ = 1 / 0


def test_an_interrupt_says_how_to_go_on(capsys):
    with pytest.raises(SystemExit) as caught, reported():
        raise KeyboardInterrupt
    assert caught.value.code == 130
    assert "goes on from the last checkpoint" in capsys.readouterr().err
