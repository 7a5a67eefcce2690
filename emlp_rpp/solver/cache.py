"""Bases on disk, one file per problem, named by the content of the problem: the generators of the group on every factor.

Files are written under another name and renamed, so that a reader sees a whole file or none. They hold only tensors and
plain values. Products and sums are not stored, their parts are."""

import hashlib
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from emlp_rpp.representations.representation import Term
from emlp_rpp.solver.basis import Basis, Certificate, DenseBasis
from emlp_rpp.solver.highest_weights import Copies
from emlp_rpp.solver.orbits import OrbitBasis
from emlp_rpp.solver.weight_basis import WeightBasis

VERSION = 1  # of the solver's results and of their form on disk


def content_name(term: Term) -> str:
    """The same for equal problems in every process."""
    parts = [str(VERSION), *(f"{atom.group.digest} {atom.digest}" for atom in term)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _path(directory: Path, term: Term) -> Path:
    return directory / f"{content_name(term)}.pt"


def load(directory: Path | None, term: Term) -> Basis | None:
    if directory is None or not _path(directory, term).exists():
        return None
    content = torch.load(_path(directory, term), weights_only=True)
    return _unpack(content, term)


def store(directory: Path | None, term: Term, basis: Basis) -> None:
    content = _pack(basis)
    if directory is None or content is None:
        return
    directory.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=directory, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            torch.save(content, file)
        os.replace(name, _path(directory, term))
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _pack(basis: Basis) -> dict[str, Any] | None:
    certificate = asdict(basis.certificate)
    if isinstance(basis, DenseBasis):
        return {"kind": "dense", "certificate": certificate, "matrix": basis.matrix}
    if isinstance(basis, OrbitBasis):
        signs = None if basis.signs is None else torch.from_numpy(basis.signs)
        return {"kind": "orbits", "labels": torch.from_numpy(basis.labels), "rank": basis.rank, "signs": signs}
    if isinstance(basis, WeightBasis):
        pairs = [(list(weight), _pack_copies(left), _pack_copies(right)) for weight, left, right in basis.pairs]
        mixing = torch.from_numpy(basis.mixing)
        return {"kind": "weights", "certificate": certificate, "pairs": pairs, "mixing": mixing}
    return None


def _pack_copies(copies: Copies) -> dict[str, Any]:
    parts = [(torch.from_numpy(indices.copy()), torch.from_numpy(block.copy())) for indices, block in copies.parts]
    return {"multiplicity": copies.multiplicity, "dimension": copies.dimension, "parts": parts}


def _unpack(content: dict[str, Any], term: Term) -> Basis:
    if content["kind"] == "dense":
        return DenseBasis(content["matrix"], Certificate(**content["certificate"]))
    if content["kind"] == "orbits":
        signs = None if content["signs"] is None else content["signs"].numpy()
        return OrbitBasis(content["labels"].numpy(), content["rank"], signs)
    pairs = [(tuple(weight), _unpack_copies(left), _unpack_copies(right)) for weight, left, right in content["pairs"]]
    weights = tuple(atom.weights for atom in term if atom.weights is not None)
    certificate = Certificate(**content["certificate"])
    return WeightBasis(weights, pairs, content["mixing"].numpy(), term[0].group.is_complex, certificate)


def _unpack_copies(content: dict[str, Any]) -> Copies:
    parts = tuple((indices.numpy(), block.numpy()) for indices, block in content["parts"])
    return Copies(content["multiplicity"], content["dimension"], parts)
