"""The key of a run: a hash of its scientific configuration.

The caller decides what is scientific (no device, paths or tracking) and resolves it first. Two mappings that differ only in
the order of their keys, or in how a number is written (1e-3 and 0.001), have the same key.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

KEY_LENGTH = 16


def canonical_json(config: Mapping[str, Any]) -> str:
    """One text per meaning: sorted keys, no spaces, shortest form of each number."""
    return json.dumps(config, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=True)


def run_key(config: Mapping[str, Any]) -> str:
    """First 16 hexadecimal digits of the SHA-256 of the canonical text."""
    return hashlib.sha256(canonical_json(config).encode()).hexdigest()[:KEY_LENGTH]
