"""Equivariant maps of any matrix group (Finzi, dissertation, chapter 2): groups, representations, solver, exact counts.

>>> from emlp_rpp.groups import SO
>>> from emlp_rpp.representations import T, V
>>> from emlp_rpp.solver import invariant_basis
>>> invariant_basis(T(4)(SO(3))).rank
3
"""
