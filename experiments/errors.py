"""One line for the user, a traceback only for bugs."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf.errors import OmegaConfBaseException

from symlab.errors import SymlabError

_UNKNOWN_KEY = re.compile(r"Could not override '([^']+)'")


def one_line(error: BaseException) -> str | None:
    """The message of an error that a user can act on, as one line; None for a bug."""
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options is not None:
        group, _, name = str(error.missing_cfg_file).rpartition("/")
        return f"{group}={name} does not exist: choose one of {', '.join(sorted(error.options))}"
    if isinstance(error, OverrideParseException):
        return f"{error.override} cannot be read: give key=value in Hydra's override syntax"
    if isinstance(error, HydraException | OmegaConfBaseException):
        if unknown := _UNKNOWN_KEY.match(str(error)):
            return f"{unknown[1]} is unknown: it is not a key of the configuration (see conf/ or add --cfg job to list all)"
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return " ".join(line for line in lines if not line.startswith(("object_type", "reference_type")))
    if isinstance(error, SymlabError):
        return " ".join(str(error).split())
    return None


@contextmanager
def reported() -> Iterator[None]:
    """Print a user's error as ``error: ...`` and exit with code 1; a user's interrupt with code 130."""
    try:
        yield
    except KeyboardInterrupt:
        print("interrupted: the same command goes on from the last checkpoint", file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        message = one_line(error)
        if message is None:
            raise
        print(f"error: {message}", file=sys.stderr)
        sys.exit(1)
