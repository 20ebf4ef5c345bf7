"""By how much a run misses each law, in numbers without unit but for lengths: what runs are compared by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .balance import of_forces, of_pushes
from .energy import gained
from .forces import beyond_cones
from .impulses import beyond_floor
from .judge import judge
from .scene import Motion, Scene
from .state import State

GAP, MOMENTUM, ENERGY, CONE = "gap", "momentum", "energy", "cone"
LAWS = {
    "overlap": GAP,
    "force balance": MOMENTUM,
    "untouched": MOMENTUM,
    "energy": ENERGY,
    "impact energy": ENERGY,
    "cone": CONE,
    "pull": CONE,
    "event cone": CONE,
    "event pull": CONE,
    "friction impulse": CONE,
}
"""The judge's findings by the law that is broken; others are not compared."""


@dataclass(frozen=True)
class Amounts:
    """What a run misses laws by.

    Attributes
    ----------
    overlap : float, m
        The deepest of whole shapes.
    energy : float
        The largest rise of kinetic and potential energy, over m g L of all bodies and the largest one's size L.
    momentum : float
        The largest change of momentum, or of angular momentum over L, between two samples that no recorded force
        explains, or, where forces at instants are all that is recorded, that what touches cannot give in any way; over
        the momentum at the run's largest speed.
    cone : float
        The largest part of a recorded force that is outside its cone of friction, over that force or the weight of all
        bodies; or that of an interval's impulse on a floor, from velocities alone, over that impulse or the weight's in
        the longest interval.
    broken : frozenset of str
        Of "gap", "momentum", "energy" and "cone".
    """

    overlap: float
    energy: float
    momentum: float
    cone: float
    broken: frozenset[str]


def measure(scene: Scene, motion: Motion) -> Amounts:
    """Return by how much a run misses each law, and which ones the judge finds broken."""
    findings = judge(scene, motion)
    # Between samples of an engine that steps contacts come and go, of which its own record tells.
    laws = LAWS if motion.pushes is not None else {**LAWS, "impulse": MOMENTUM}
    broken = frozenset(laws[finding.law] for finding in findings if finding.law in laws)
    if any(finding.law == "not finite" for finding in findings):
        return Amounts(np.inf, np.inf, np.inf, np.inf, frozenset((GAP, MOMENTUM, ENERGY, CONE)))
    state = State(scene, motion)
    weight = float(state.masses.sum() * np.linalg.norm(scene.gravity))
    balances = [one.worst[1] / one.scale for one in (*of_forces(state), *of_pushes(state))]
    scale = float(state.masses.sum()) * state.speed
    balances += [finding.amount / scale for finding in findings if finding.law == "impulse" and "impulse" in laws]
    cones = [float(np.max(one, initial=0.0)) for one in beyond_cones(state)]
    return Amounts(
        overlap=max(0.0, *(-float(np.min(meeting.gaps.gap)) for meeting in state.meetings)),
        energy=gained(state)[1] / (weight * state.length),
        momentum=float(max([0.0, *balances])),
        cone=float(max([0.0, *cones, beyond_floor(state)])),
        broken=broken,
    )
