"""What the judge is told of a scene, and what it reads of a run: arrays alone, SI, world frame unless said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .gaps import Placed
from .grounds import Ground
from .shapes import Array, Body


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid body: mass (kg) and inertia about the centre of mass, body axes: (3, 3), in the plane (1, 1), kg m2."""

    name: str
    mass: float
    inertia: Array


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape of a link: its origin `at` (d,) from the centre of mass and its turn R_link_shape (d, d).

    With the ground: ``mu``; ``lever``, ``drilling`` (m): of moments against rolling and against a spin; ``adhesion``
    (N): the pull that each of its points can bear.
    """

    name: str
    link: str
    body: Body
    at: Array
    R: Array
    mu: float
    lever: float = 0.0
    drilling: float = 0.0
    adhesion: float = 0.0


@dataclass(frozen=True)
class Pair:
    """Two shapes that may touch each other, by their names; coefficients as of a `Shape`."""

    A: str
    B: str
    mu: float
    lever: float = 0.0
    drilling: float = 0.0
    adhesion: float = 0.0


@dataclass(frozen=True)
class Soft:
    """Contacts that give way: at the depth p > 0 they push with k p^1.5 max(1 + 1.5 c p', 0), k in N/m^1.5, c in s/m.

    Source: Hunt & Crossley 1975.
    """

    stiffness: float
    dissipation: float


@dataclass(frozen=True, eq=False)
class Pin:
    """A point of a link that stays on a point of another one (None: the world).

    ``at_A``, ``at_B`` (d,): from the centres of mass (of the world: from its origin), in their axes.
    """

    A: str
    B: str | None
    at_A: Array
    at_B: Array


@dataclass(frozen=True, eq=False)
class Joint:
    """What holds a link: to `parent` (None: the world), with a constant torque or force, stops and a spring.

    ``own`` and ``at`` (d,): the joint's place from the centres of mass of the link and its parent (of the world: from
    its origin), in their axes. ``axis`` (d,), in the parent's axes: of a hinge in space, or what a slide slides along.
    """

    link: str
    parent: str | None
    input: float = 0.0
    low: float = -np.inf
    high: float = np.inf
    stiffness: float = 0.0
    rest: float = 0.0
    own: Array | None = None
    at: Array | None = None
    axis: Array | None = None
    slides: bool = False


@dataclass(frozen=True)
class Gear:
    """A joint that follows another one, by their numbers in the scene's order: q = ratio q_leader."""

    follower: int
    leader: int
    ratio: float


@dataclass(frozen=True, eq=False)
class Scene:
    """Bodies, what may touch, and what acts.

    ``coasts``: the ground moves like a screw, or not at all: its twist in its own axes is constant. ``flat_tilt``
    (rad): tilt under which round faces lie on a flat at once (a rule that the package states). ``soft``: how all
    contacts give way; None: not at all. ``driven``: joints have inputs that depend on the motion, whose work is not
    known.
    """

    d: int
    gravity: Array
    links: Sequence[Link]
    shapes: Sequence[Shape]
    pairs: Sequence[Pair] = ()
    joints: Sequence[Joint] = ()
    ground: Ground | None = None
    coasts: bool = True
    flat_tilt: float = 1e-3
    pins: Sequence[Pin] = ()
    gears: Sequence[Gear] = ()
    soft: Soft | None = None
    driven: bool = False

    @cached_property
    def shape_of(self) -> Mapping[str, Shape]:
        """Shapes by name."""
        return {shape.name: shape for shape in self.shapes}

    @cached_property
    def number_of(self) -> Mapping[str, int]:
        """Numbers of links by name."""
        return {link.name: i for i, link in enumerate(self.links)}

    @cached_property
    def component(self) -> Array:
        """Number of the jointed component (b,) of each link; -1 where it is jointed to the world."""
        label = np.arange(len(self.links))
        held = set()
        for joint in self.joints:
            child = self.number_of[joint.link]
            if joint.parent is None:
                held.add(child)
            else:
                other = self.number_of[joint.parent]
                label[label == label[child]] = label[other]
        for pin in self.pins:
            A = self.number_of[pin.A]
            if pin.B is None:
                held.add(A)
            else:
                label[label == label[A]] = label[self.number_of[pin.B]]
        return np.array([-1 if any(label[h] == one for h in held) else one for one in label])


@dataclass(frozen=True, eq=False)
class Contact:
    """What a record says of a contact of shape `A` with shape `B` (None: the ground); force on A (n, d), N.

    ``normal`` is out of B. ``gap`` is the reported one. ``shared``: the force is that of several points with one
    normal, of which `position` is one. ``moment``: (n,) N m on A about the normal.
    """

    name: str
    A: str
    B: str | None
    position: Array
    normal: Array
    force: Array
    gap: Array | None = None
    shared: bool = False
    moment: Array | None = None


@dataclass(frozen=True, eq=False)
class Event:
    """What a record says of an impact: time, contact, impulse (d,), N s, on A, and A's velocity over B around it."""

    time: float
    contact: str
    impulse: Array
    before: Array
    after: Array


@dataclass(frozen=True, eq=False)
class Pushes:
    """What contacts gave in the steps of an engine that knows no force at an instant: a row a step and point.

    ``interval`` (r,): number of the interval between samples; ``A``, ``B`` (r,): numbers of links, -1: the ground;
    ``normal`` (r, d) out of B; ``impulse`` (r, d), N s, on A; ``arm_A``, ``arm_B`` (r, d): from the centres of mass.
    ``couple`` (r, t), N m s, on A beside the impulse; ``step`` (s): how long a row lasts.
    """

    interval: NDArray[np.intp]
    A: NDArray[np.intp]
    B: NDArray[np.intp]
    normal: Array
    impulse: Array
    arm_A: Array
    arm_B: Array
    couple: Array
    step: float


@dataclass(frozen=True, eq=False)
class Motion:
    """Arrays of a run: time (n,), positions (n, b, d) of centres of mass, rotations (n, b, d, d), velocities.

    ``omega`` (n, b, 3), in the plane (n, b, 1) counter-clockwise. The ground's frame: rotation, place, and the
    velocity of its origin and its angular velocity. ``q``: joint coordinates (n, joints) in the scene's order.
    ``breaks``: times of events and changes of law; ``steps``: from when to when (s) forces are means of time steps, the
    beginning without; ``complete``: the contacts' forces are all that push. ``pushes``: of an
    engine that steps, in place of the contacts.
    """

    time: Array
    position: Array
    R: Array
    velocity: Array
    omega: Array
    contacts: Sequence[Contact] = ()
    events: Sequence[Event] = ()
    ground_R: Array | None = None
    ground_p: Array | None = None
    ground_v: Array | None = None
    ground_omega: Array | None = None
    q: Array | None = None
    breaks: Sequence[float] = ()
    steps: Sequence[tuple[float, float]] = ()
    complete: bool = False
    pushes: Pushes | None = None

    @cached_property
    def means(self) -> Array:
        """At which samples (n,) the forces are means of time steps."""
        found = np.zeros(len(self.time), dtype=bool)
        for begin, end in self.steps:
            found |= (self.time > begin + 1e-12) & (self.time <= end + 1e-12)
        return found

    def placed(self, scene: Scene, shape: Shape) -> Placed:
        """Return a shape at all instants."""
        i = scene.number_of[shape.link]
        at = self.position[:, i] + self.R[:, i] @ shape.at
        return Placed(shape.body, self.R[:, i] @ shape.R, at)

    def ground_frame(self, d: int) -> tuple[Array, Array]:
        """Return rotation and place of the ground at all instants."""
        n = len(self.time)
        R = np.tile(np.eye(d), (n, 1, 1)) if self.ground_R is None else self.ground_R
        return R, np.zeros((n, d)) if self.ground_p is None else self.ground_p

    def ground_velocity(self, points: Array) -> Array:
        """Return the velocity (n, d) of the ground's material at points (n, d)."""
        if self.ground_v is None or self.ground_omega is None:
            return np.zeros_like(points)
        _, p = self.ground_frame(points.shape[1])
        return self.ground_v + turn(self.ground_omega, points - p)


@dataclass(frozen=True)
class Finding:
    """A law that is broken: which, when (s), by how much, what was allowed, by whom, in words."""

    law: str
    time: float
    amount: float
    allowed: float
    who: str
    text: str

    def __str__(self) -> str:
        at = f"{self.who}, t = {self.time:.6g} s, {self.amount:.3g}, allowed {self.allowed:.2g}"
        return f"{self.law}: {self.text} ({at})"


def turn(omega: Array, r: Array) -> Array:
    """Return omega x r of (..., 3) and (..., 3), or of (..., 1) and (..., 2) in the plane."""
    if r.shape[-1] == 3:
        return cross(omega, r)
    return omega * np.stack([-r[..., 1], r[..., 0]], axis=-1)


def moment(r: Array, f: Array) -> Array:
    """Return r x f, (..., 3), in the plane (..., 1)."""
    if r.shape[-1] == 3:
        return cross(r, f)
    return (r[..., 0] * f[..., 1] - r[..., 1] * f[..., 0])[..., None]


def cross(a: Array, b: Array) -> Array:
    """Return a x b of (..., 3): as `numpy.cross`, without its cost for few vectors."""
    x = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
    y = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    z = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return np.stack([x, y, z], axis=-1)


def world_inertia(R: Array, inertia: Array) -> Array:
    """Return R I R' (n, 3, 3), in the plane (n, 1, 1)."""
    if R.shape[-1] == 2:
        return np.tile(inertia, (len(R), 1, 1))
    return R @ inertia @ np.swapaxes(R, 1, 2)
