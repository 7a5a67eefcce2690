"""What can go wrong when equivariant maps are asked for; each message is one line that says what to do."""

from symlab.errors import ConfigError, SymlabError


class GroupMismatchError(ConfigError):
    """Representations of two groups meet where one group is needed."""


class EmptyMapError(ConfigError):
    """Only the zero map is equivariant."""


class InputSizeError(ConfigError):
    """A tensor does not have the coordinates of the representation it is used with."""


class ProblemTooLargeError(ConfigError):
    """The memory that a basis needs is above the limit; nothing was computed."""


class UnresolvedRankError(SymlabError):
    """The singular values have no gap that would decide the rank, or the iteration did not converge."""
