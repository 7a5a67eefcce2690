"""Errors that a user can act on.

The message of each is one line that names the culprit (a key, a file, a shape) and what to do. The application prints it
without a traceback and exits with a non-zero code; any other exception is a bug and keeps its traceback.
"""


class SymlabError(Exception):
    """Base of every error whose message is meant for the user."""


class ConfigError(SymlabError):
    """A configuration value is unknown, has the wrong type or contradicts another one."""


class DataError(SymlabError):
    """A data set cannot be had, or a file of it is damaged."""


class DependencyError(SymlabError):
    """A package that is needed by this part only, and so is an extra, is not installed."""


class RunError(SymlabError):
    """A run cannot start, go on or be stored."""


class DivergedError(RunError):
    """The loss became NaN or infinite; ``details`` says where."""

    def __init__(self, message: str, details: dict[str, float | int | str]):
        super().__init__(message)
        self.details = details


class TableError(SymlabError):
    """A table's folder is incomplete or contradicts itself."""
