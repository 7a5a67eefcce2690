import os
import sys
import time
from pathlib import Path

import pytest

from symlab.data.watched import AttemptError, run_watched


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_output_is_returned(tmp_path: Path) -> None:
    assert run_watched(["sh", "-c", "echo out; echo err >&2"], tmp_path, silence=20) == "out\nerr\n"


def test_it_runs_in_the_directory_with_the_environment(tmp_path: Path) -> None:
    found = run_watched(["sh", "-c", "pwd; echo $WORD"], tmp_path, silence=20, environment={"WORD": "hello"})
    assert found.split() == [str(tmp_path.resolve()), "hello"]


def test_a_missing_client_is_named(tmp_path: Path) -> None:
    with pytest.raises(AttemptError, match="no-such-client is not installed"):
        run_watched(["no-such-client"], tmp_path, silence=20)


def test_the_reason_is_what_the_client_marked(tmp_path: Path) -> None:
    with pytest.raises(AttemptError, match=r"^E: no such package \(exit code 3\)$"):
        run_watched(["sh", "-c", "echo E: no such package; echo bye; exit 3"], tmp_path, silence=20)


def test_without_a_mark_the_last_line_is_the_reason(tmp_path: Path) -> None:
    with pytest.raises(AttemptError, match=r"^second \(exit code 1\)$"):
        run_watched(["sh", "-c", "echo first; echo second; exit 1"], tmp_path, silence=20)


def test_a_silent_client_is_killed_with_its_children(tmp_path: Path) -> None:
    started = time.monotonic()
    with pytest.raises(AttemptError, match=r"silent for 0\.5 s, killed"):
        run_watched(["sh", "-c", "sleep 60 & echo $! > child; wait"], tmp_path, silence=0.5)
    assert time.monotonic() - started < 10
    child = int((tmp_path / "child").read_text())
    for _ in range(50):
        if not is_running(child):
            return
        time.sleep(0.1)
    pytest.fail("the client's child outlived it")


def is_running(pid: int) -> bool:
    """A killed orphan may stay a zombie until init reaps it: that counts as ended."""
    status = Path(f"/proc/{pid}/stat")
    if status.parent.parent.joinpath("self").exists():
        return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_output_is_a_sign_of_life(tmp_path: Path) -> None:
    loop = "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.2; done"
    assert len(run_watched(["sh", "-c", loop], tmp_path, silence=1.0).split()) == 8


def test_a_growing_file_is_a_sign_of_life(tmp_path: Path) -> None:
    loop = "for i in 1 2 3 4 5 6 7 8; do echo $i >> file; sleep 0.2; done; echo done"
    assert run_watched(["sh", "-c", loop], tmp_path, silence=1.0) == "done\n"


def test_input_is_closed(tmp_path: Path) -> None:
    assert run_watched(python("import sys; print(repr(sys.stdin.read()))"), tmp_path, silence=20) == "''\n"
