"""Margins of a mode as data: the least over groups of the largest of terms, each a value of a contact, scaled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from trundle.contact.laws import LAWS
from trundle.simulate.engine.kernels import LawKernels
from trundle.simulate.engine.tables import Engine
from trundle.simulate.phase import POINT, MotionPhase

OF_LAW, OF_TOUCH, SIGNED, NEAREST = range(4)
"""Where a term's value is from, as in mode_core.c."""


class Term(NamedTuple):
    """Scale times a value of a contact, plus an offset: a margin of its law or of its touch, or nearest points' gap."""

    contact: int
    source: int
    at: int = 0
    scale: float = 1.0
    offset: float = 0.0


Groups = tuple[tuple[Term, ...], ...]
"""A margin: the least of its groups, of each of which the largest term counts."""


def named_margins(phase: MotionPhase, engine: Engine, kernels: Sequence[LawKernels | None]) -> dict[str, Groups]:
    """Return the margins of a mode by their names ``<contact>.<margin>``.

    Parameters
    ----------
    kernels : sequence of LawKernels or None
        Of each contact's law; None: it has no rows and no force.
    """
    found: dict[str, Groups] = {}
    for i, (joined, law, own) in enumerate(zip(phase.model.constraints, phase.mode.laws, kernels, strict=True)):
        name, touch = joined.name, engine.touches[i]
        if gap := _gap(phase, engine, kernels, i):
            found[f"{name}.gap"] = gap
        for index, margin in enumerate(own.margins if own is not None else ()):
            if margin != "gap":
                found[f"{name}.{margin}"] = ((Term(i, OF_LAW, index, offset=-phase.least(name, margin)),),)
        for index, margin in enumerate(touch.margins if LAWS[law].touching else ()):
            if margin != "gap" and not (margin == "feature" and "within" in touch.margins):
                least = 0.0 if margin in touch.kind.beyond else phase.least(name, margin)
                source = SIGNED if margin == "roundness" else OF_TOUCH
                found[f"{name}.{margin}"] = ((Term(i, source, index, offset=-least),),)
    return found


def _gap(phase: MotionPhase, engine: Engine, kernels: Sequence[LawKernels | None], contact: int) -> Groups:
    """Return the margin that a contact lands at; empty: it has none, or another one watches it."""
    if phase.model.constraints[contact].contact.size:
        near = kernels[contact] is None and engine.near[contact]
        return ((Term(contact, NEAREST),),) if near else ()
    term = _gap_term(phase, engine, kernels, contact)
    if term is None:
        return ()
    groups: Groups = ((term,),)
    if contact in phase.system.beside:
        groups = _of_features(phase, engine, kernels, contact)
    face = _or_face(phase, engine, contact)
    return () if face is None else tuple((*group, *face) for group in groups)


def _gap_term(phase: MotionPhase, engine: Engine, kernels: Sequence[LawKernels | None], contact: int) -> Term | None:
    own = kernels[contact]
    if own is None:
        index = engine.touches[contact].margins.index("gap")
        return None if contact in phase.far else Term(contact, OF_TOUCH, index)
    return Term(contact, OF_LAW, own.margins.index("gap")) if "gap" in own.margins else None


def _of_features(phase: MotionPhase, engine: Engine, kernels: Sequence[LawKernels | None], contact: int) -> Groups:
    """Return the least gap of all corners, edges and faces that are free to touch; empty: the first of them has it.

    One that others touch in place of counts as open by how far its point is outside.
    """
    together, groups = phase.free_features(contact), []
    if not together or contact != together[0]:
        return ()
    for i in together:
        size = phase.system.contact_pairs[i].shape_A.reference_length
        gap, index = _gap_term(phase, engine, kernels, i), engine.touches[i].margins.index("feature")
        outside = Term(i, OF_TOUCH, index, scale=-size, offset=size * phase.least_inside(i))
        groups.append((outside,) if gap is None else (gap, outside))
    return tuple(groups)


def _or_face(phase: MotionPhase, engine: Engine, contact: int) -> tuple[Term, ...] | None:
    """Return what keeps open the gap of a rim that lies flat, and that of points of its face where it does not.

    None: the rim touches, and its roundness tells when the face does.
    """
    system = phase.system
    rim = system.rims.get(contact, contact)
    if rim not in system.faces:
        return ()
    if rim != contact and LAWS[phase.mode.laws[rim]].touching:
        return None
    sign = -1.0 if rim == contact else 1.0
    return (Term(rim, OF_TOUCH, engine.touches[rim].margins.index("roundness"), scale=sign, offset=-sign * POINT),)
