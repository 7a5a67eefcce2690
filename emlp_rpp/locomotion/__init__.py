"""MuJoCo robots with their symmetries: states, actions, recorded data, transition models, agents (thesis, section 3.6)."""

from emlp_rpp.locomotion.environments import ENVIRONMENTS, Locomotion, locomotion

__all__ = ["ENVIRONMENTS", "Locomotion", "locomotion"]
