"""What every check of a run needs: whole-shape gaps, sizes, momentum, tolerances."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .gaps import Gaps, Placed, between, over
from .scene import Motion, Pair, Scene, Shape, moment, world_inertia
from .shapes import Array

GAP = 2e-6
"""Overlap, in sizes of the smaller shape: the judge's own geometry is true to 6e-7."""

TOUCH = 1e-5
"""In sizes: closer shapes may push each other."""

HOP, LOWEST, SMALL, HOPS = 1.5e-5, 2e-8, 0.1, 4.0
"""Of sqrt(g L); sizes, of what is at least as large (m): hops that slow or low are not followed. How many may be closed
at once: three, with a lever between them that makes of one of their pushes two."""
MOMENTUM = 1e-6
"""Of momentum and energy, in parts of what moves."""


@dataclass(frozen=True, eq=False)
class Meeting:
    """Two shapes that may touch, or a shape and the ground (B None), at all instants.

    ``placed_B``: None of ground that is no solid.
    """

    name: str
    A: Shape
    B: Shape | None
    mu: float
    lever: float
    drilling: float
    adhesion: float
    placed_A: Placed
    placed_B: Placed | None
    gaps: Gaps

    @property
    def size(self) -> float:
        """The smaller one's, m."""
        return self.A.body.size if self.B is None else min(self.A.body.size, self.B.body.size)


@dataclass(frozen=True, eq=False)
class State:
    """A run with what follows from it."""

    scene: Scene
    motion: Motion

    @cached_property
    def meetings(self) -> list[Meeting]:
        """All that may touch."""
        scene, motion, found = self.scene, self.motion, []
        placed = {shape.name: motion.placed(scene, shape) for shape in scene.shapes}
        if scene.ground is not None:
            R, p = motion.ground_frame(scene.d)
            B = None if scene.ground.solid is None else Placed(scene.ground.solid, R, p)
            for shape in scene.shapes:
                A = placed[shape.name]
                gaps = over(A, scene.ground, R, p, self.reach)
                name = f"{shape.name} on the ground"
                numbers = shape.mu, shape.lever, shape.drilling, shape.adhesion
                found.append(Meeting(name, shape, None, *numbers, A, B, gaps))
        for pair in scene.pairs:
            found.append(self._met(pair, placed))
        return found

    def _met(self, pair: Pair, placed: dict[str, Placed]) -> Meeting:
        A, B = placed[pair.A], placed[pair.B]
        shapes = self.scene.shape_of[pair.A], self.scene.shape_of[pair.B]
        gaps = between(A, B, self.reach)
        numbers = pair.mu, pair.lever, pair.drilling, pair.adhesion
        return Meeting(f"{pair.A} and {pair.B}", *shapes, *numbers, A, B, gaps)

    @cached_property
    def reach(self) -> float:
        """How far things move in the longest interval, with room (m)."""
        return 2.0 * float(np.max(np.diff(self.motion.time), initial=0.0)) * self.speed + 1e-3 * self.length

    @cached_property
    def length(self) -> float:
        """Size of the largest body with its offset (m)."""
        return max((s.body.size + float(np.linalg.norm(s.at)) for s in self.scene.shapes), default=1.0)

    @cached_property
    def speed(self) -> float:
        """The largest speed of any point of a body that there was (m/s), at least that of a small fall."""
        fast = np.linalg.norm(self.motion.velocity, axis=2) + self.length * np.linalg.norm(self.motion.omega, axis=2)
        g = float(np.linalg.norm(self.scene.gravity))
        return float(np.max(fast, initial=0.0)) + 1e-2 * np.sqrt(g * self.length) + 1e-9

    @cached_property
    def unseen(self) -> float:
        """Speed (m/s) up to which a contact that opens may be closed at once: its hop is too low to be followed.

        As the page on endings says: c sqrt(g L), or a hop of 2e-8 L; several contacts of a body may be closed together.
        """
        g = float(np.linalg.norm(self.scene.gravity))
        lowest = LOWEST * max(self.length, SMALL) if self.curved or self.scene.pairs else 0.0
        return HOPS * (HOP * np.sqrt(g * self.length) + np.sqrt(2.0 * g * lowest))

    def hop(self, k: int) -> float:
        """Speed (m/s) up to which one may be closed between the samples k and k + 1: where there was an event."""
        begin, end = self.motion.time[k] - 1e-12, self.motion.time[k + 1] + 1e-12
        return self.unseen if any(begin <= event.time <= end for event in self.motion.events) else 0.0

    @cached_property
    def masses(self) -> Array:
        """Masses (b,)."""
        return np.array([link.mass for link in self.scene.links])

    @cached_property
    def spin(self) -> Array:
        """Angular momentum (n, b, k) of each body about its centre of mass."""
        parts = []
        for i, link in enumerate(self.scene.links):
            inertia = world_inertia(self.motion.R[:, i], link.inertia)
            parts.append(np.einsum("nij,nj->ni", inertia, self.motion.omega[:, i]))
        return np.stack(parts, axis=1)

    @property
    def curved(self) -> bool:
        """Whether normals turn from place to place."""
        return self.scene.ground is None or self.scene.ground.flat is None or bool(self.scene.pairs)

    @cached_property
    def energy(self) -> Array:
        """Kinetic energy and that in the field of gravity (n,)."""
        m, mo = self.masses, self.motion
        kinetic = 0.5 * np.einsum("b,nbi,nbi->n", m, mo.velocity, mo.velocity)
        kinetic += 0.5 * np.einsum("nbi,nbi->n", self.spin, mo.omega)
        return kinetic - np.einsum("b,nbi,i->n", m, mo.position, self.scene.gravity)

    @cached_property
    def moving(self) -> float:
        """The largest kinetic energy and change of height there was (J): what energies are compared with."""
        m, mo = self.masses, self.motion
        kinetic = 0.5 * np.einsum("b,nbi,nbi->n", m, mo.velocity, mo.velocity)
        kinetic = kinetic + 0.5 * np.einsum("nbi,nbi->n", self.spin, mo.omega)
        g = float(np.linalg.norm(self.scene.gravity))
        return float(np.max(kinetic)) + float(np.sum(m)) * g * 1e-3 * self.length

    @cached_property
    def deepest(self) -> float:
        """How far the energy that there is can press contacts that give way, m: 2/5 k p^2.5 is stored."""
        soft = self.scene.soft
        if soft is None:
            return 0.0
        there = self.energy + self.stored
        available = float(np.max(there) - np.min(self.energy)) + self.moving
        return float((2.5 * available / soft.stiffness) ** 0.4)

    @cached_property
    def stored(self) -> Array:
        """Energy (n,), J, that contacts hold which give way: each shape touches another one in one point."""
        stored = np.zeros(len(self.motion.time))
        if self.scene.soft is not None:
            for meeting in self.meetings:
                stored += 0.4 * self.scene.soft.stiffness * np.maximum(-meeting.gaps.gap, 0.0) ** 2.5
        return stored

    def intervals(self) -> range:
        """Numbers of the intervals between samples."""
        return range(len(self.motion.time) - 1)

    @cached_property
    def whirls(self) -> Array:
        """In which intervals (n - 1,) a rim may pass flat over what it touches, or in the two before and after it.

        Its point of contact then runs around it, and forces rise and fall, in less time than samples tell of. So it
        does where the turning of what stays on is another one at the next sample.
        """
        mo, dt = self.motion, np.diff(self.motion.time)
        found = np.zeros(len(dt), dtype=bool)
        for meeting in self.meetings:
            for shape, placed in ((meeting.A, meeting.placed_A), (meeting.B, meeting.placed_B)):
                if shape is None or placed is None or not shape.body.rims:
                    continue
                along = np.abs(np.einsum("ni,ni->n", placed.R[:, :, -1], meeting.gaps.normal))
                tilt = np.arccos(np.minimum(along, 1.0))
                omega = mo.omega[:, self.scene.number_of[shape.link]]
                spin = np.linalg.norm(omega, axis=1)
                fastest = np.maximum(spin[1:], spin[:-1])
                turned = np.linalg.norm(np.diff(omega, axis=0), axis=1) > 0.5 * fastest
                near = meeting.gaps.gap < TOUCH * meeting.size
                flat = (near[1:] | near[:-1]) & (np.minimum(tilt[1:], tilt[:-1]) < 2 * fastest * dt)
                found |= flat | (near[1:] & near[:-1] & turned)
        return np.convolve(found, np.ones(5), mode="same")[: len(dt)] > 0.5

    def around(self, points: Array, rows: Array) -> Array:
        """Angular momentum (r, b, k) of the bodies at some samples about points (d,)."""
        mo = self.motion
        arm = mo.position[rows] - points
        return self.spin[rows] + moment(arm, self.masses[None, :, None] * mo.velocity[rows])
