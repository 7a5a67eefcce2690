"""Learned dynamical systems: vector fields, Hamiltonians, their flows and what is measured of them (section 2.7.2)."""

from emlp_rpp.dynamics.flow import Flow, HamiltonianField, hamiltonian_flow, neural_ode
from emlp_rpp.dynamics.integration import runge_kutta
from emlp_rpp.dynamics.learner import Dynamics

__all__ = ["Dynamics", "Flow", "HamiltonianField", "hamiltonian_flow", "neural_ode", "runge_kutta"]
