"""Data sets as tensors in memory: where they come from, the papers' variants of them, and their splits."""
