"""Invariant weights by variational inference (van der Ouderaa and van der Wilk, 2021)."""
