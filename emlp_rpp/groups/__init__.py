"""Matrix groups by their discrete and infinitesimal generators (thesis, section 2.3 and appendix A.1.5)."""

from emlp_rpp.groups.embedded import Embedded
from emlp_rpp.groups.euclidean import SE, E
from emlp_rpp.groups.finite import P4, C, D, S, Translations, Trivial, Z
from emlp_rpp.groups.group import Element, Group
from emlp_rpp.groups.linear import GL, SL, SU, Sp, U
from emlp_rpp.groups.orthogonal import SO, Lorentz, O, ProperLorentz, ProperOrthochronousLorentz
from emlp_rpp.groups.products import DirectProduct, semidirect_product, wreath_product
from emlp_rpp.groups.rubiks_cube import RubiksCube

__all__ = [
    "GL",
    "P4",
    "SE",
    "SL",
    "SO",
    "SU",
    "C",
    "D",
    "DirectProduct",
    "E",
    "Element",
    "Embedded",
    "Group",
    "Lorentz",
    "O",
    "ProperLorentz",
    "ProperOrthochronousLorentz",
    "RubiksCube",
    "S",
    "Sp",
    "Translations",
    "Trivial",
    "U",
    "Z",
    "semidirect_product",
    "wreath_product",
]
