"""A scene as data: what `source` writes as a script, `described` tells the judge, and `variants` transforms."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from bench.survey.shapes import ShapeSpec

Numbers = tuple[float, ...]
BOUNCE_SPEED = 1e-3
"""The package's default, m/s: slower approaches do not bounce."""


@dataclass(frozen=True)
class Part:
    """A shape of a body: where in the body's frame, how turned (rpy, in the plane one angle), own coefficients."""

    name: str
    shape: ShapeSpec
    at: Numbers
    rpy: Numbers = ()
    friction: float | None = None
    restitution: float | None = None


@dataclass(frozen=True)
class BodySpec:
    """A body: how it hangs on its parent, its mass, principal moments, centre of mass and shapes.

    ``joint``: "free", "revolute" or "prismatic"; ``input``: constant torque or force; ``low``, ``high``: stops. A
    spring of `stiffness` at rest at `rest`, `damping` and `dry` friction act on the joint; ``drive``: gain, rate that
    is wanted and largest torque or force of a velocity drive.
    """

    name: str
    mass: float
    inertia: Numbers
    center: Numbers
    parts: tuple[Part, ...]
    joint: str = "free"
    parent: str | None = None
    at: Numbers = ()
    axis: Numbers = ()
    input: float = 0.0
    low: float | None = None
    high: float | None = None
    position: Numbers = ()
    rate: Numbers = ()
    stiffness: float = 0.0
    rest: float = 0.0
    damping: float = 0.0
    dry: float = 0.0
    drive: Numbers = ()

    @property
    def size(self) -> float:
        """How far its shapes reach from its frame's origin, m."""
        return max((p.shape.body().size + float(np.linalg.norm(p.at)) for p in self.parts), default=0.0)


@dataclass(frozen=True)
class Between:
    """Two shapes that may touch, in this order, with their coefficients (None: the terrain's)."""

    A: str
    B: str
    friction: float | None = None
    restitution: float | None = None


@dataclass(frozen=True)
class PinSpec:
    """A point of a body that stays on a point of another one (None: the world), each in its body's frame."""

    A: str
    at_A: Numbers
    B: str | None
    at_B: Numbers


@dataclass(frozen=True)
class GearSpec:
    """The joint of a body that follows that of another one: q = ratio q_leader."""

    follower: str
    leader: str
    ratio: float


@dataclass(frozen=True)
class TouchSpec:
    """How shapes touch beside friction and restitution: by which law, with which numbers.

    ``law``: "rolling", "pure-rolling", "hunt-crossley" (with `stiffness`, N/m^1.5, and `dissipation`, s/m) or one that
    the script makes known, `GREASED`. ``adhesion`` (N), ``drilling`` (m).
    """

    law: str = "rolling"
    adhesion: float = 0.0
    drilling: float = 0.0
    stiffness: float = 0.0
    dissipation: float = 0.0

    @property
    def soft(self) -> bool:
        """Whether contacts give way."""
        return self.law == "hunt-crossley"


GREASED = "greased"
"""A law from outside the package: no friction."""


@dataclass(frozen=True)
class HandSpec:
    """A hand that moves: place, rpy (in the plane an angle), twist in its own axes (angular first), and sinusoids."""

    position: Numbers
    rpy: Numbers
    twist: Numbers
    amplitude: Numbers = ()
    frequency: Numbers = ()


@dataclass(frozen=True)
class Spec:
    """A scene: one body on a hand where there is a `hand`, else a tree; drives hold inputs for `period`, s."""

    kind: str
    d: int
    gravity: Numbers
    duration: float
    bodies: tuple[BodySpec, ...]
    ground: ShapeSpec | None = None
    friction: float = 0.0
    restitution: float = 0.0
    lever: float = 0.0
    bounce_speed: float = BOUNCE_SPEED
    pairs: tuple[Between, ...] = ()
    closed: tuple[str, ...] = ()
    slips: tuple[tuple[str, Numbers], ...] = ()
    hand: HandSpec | None = None
    output_step: float | None = None
    size: float = 1.0
    touch: TouchSpec = TouchSpec()
    pins: tuple[PinSpec, ...] = ()
    gears: tuple[GearSpec, ...] = ()
    period: float = 0.0

    @cached_property
    def parts(self) -> dict[str, Part]:
        """Shapes by name."""
        return {part.name: part for body in self.bodies for part in body.parts}

    @property
    def acts(self) -> bool:
        """Whether a joint has an input."""
        return any(body.input or body.drive for body in self.bodies)

    def without_body(self, name: str) -> Spec:
        """Return the scene without a body and what hangs on it, and without what they touched."""
        gone = {name}
        for body in self.bodies:
            if body.parent in gone:
                gone.add(body.name)
        kept = tuple(body for body in self.bodies if body.name not in gone)
        return replace(self, bodies=kept).tidy()

    def tidy(self) -> Spec:
        """Return the scene without pairs, closed contacts, slips, pins and gears of what is gone."""
        bodies = {body.name for body in self.bodies} | {None}
        names = {part.name for body in self.bodies for part in body.parts}
        return replace(
            self,
            pairs=tuple(p for p in self.pairs if p.A in names and p.B in names),
            closed=tuple(c for c in self.closed if c in names),
            slips=tuple((name, slip) for name, slip in self.slips if name in names),
            pins=tuple(p for p in self.pins if p.A in bodies and p.B in bodies),
            gears=tuple(g for g in self.gears if g.follower in bodies and g.leader in bodies),
        )


@dataclass(frozen=True)
class Judged:
    """What came of a run of a scene, as its child process reports it.

    ``verdict``: "right", "wrong and silent", "inconsistent", "refused" (", wrong" where shapes are apart at the start),
    "infeasible", another status's label (", wrong" where a law is broken until then), "time-out" or "crash".
    """

    number: int
    verdict: str
    status: str = ""
    seconds: float = 0.0
    findings: tuple[str, ...] = ()
    laws: tuple[str, ...] = ()
    reason: str = ""
    invariance: str = ""
    compared: str = ""
    simulated: float = 0.0
    spec: Spec | None = field(default=None, repr=False)
    more: dict[str, Any] = field(default_factory=dict, repr=False)
