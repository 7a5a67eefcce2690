"""Run directories: one run = one key = one directory; a record is written last and atomically."""

from symlab.records.environment import Environment, describe_environment
from symlab.records.key import canonical_json, run_key
from symlab.records.run_directory import RunDirectory, RunLockedError

__all__ = ["Environment", "RunDirectory", "RunLockedError", "canonical_json", "describe_environment", "run_key"]
