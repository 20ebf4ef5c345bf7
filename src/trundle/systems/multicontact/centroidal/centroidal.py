"""Centroidal model: centre of mass, its velocity and the angular momentum about it, under contact wrenches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import ArrayField, Converted, FloatArray, array, positive, size, vector, vector_or_none
from trundle.contact.patch import PlacedPatch
from trundle.errors import InputError
from trundle.parameters import Checked

GRAVITY = 9.81
"""m/s2: of every scenario with a humanoid."""


@dataclass(frozen=True)
class CentroidalState(Checked):
    """Centre of mass (m), its velocity (m/s) and the angular momentum about it (kg m2/s), each (3,), world.

    Examples
    --------
    >>> import trundle as tr
    >>> tr.multicontact.CentroidalState((0.0, 0.0, 0.8)).velocity.tolist()
    [0.0, 0.0, 0.0]
    """

    position: ArrayField = vector("m")
    velocity: ArrayField = vector("m/s", (0.0, 0.0, 0.0))
    angular_momentum: ArrayField = vector("kg m2/s", (0.0, 0.0, 0.0))


@dataclass(frozen=True)
class Push(Checked):
    """A known force (3,) N and moment (3,) N m from outside, world.

    With a `point` (3,) of the world the force acts there; without, its line goes through the centre of mass and
    `moment` is about it. Either keeps the model linear; a point that moves with the robot does not (paper 3, II-C).

    Examples
    --------
    >>> import trundle as tr
    >>> tr.multicontact.Push(force=(10.0, 0.0, 0.0), point=(0.0, 0.0, 1.0)).moment_at_origin.tolist()
    [0.0, 10.0, 0.0]
    """

    force: ArrayField = vector("N", (0.0, 0.0, 0.0))
    moment: ArrayField = vector("N m", (0.0, 0.0, 0.0))
    point: Converted[ArrayLike | None, FloatArray | None] = vector_or_none("m")

    @property
    def pointed(self) -> FloatArray:
        """The force (3,) if it acts at a point of the world, else zero."""
        return np.zeros(3) if self.point is None else self.force

    @property
    def moment_at_origin(self) -> FloatArray:
        """The moment (3,) n in n - r x pointed, the moment about a centre of mass at r."""
        return self.moment if self.point is None else self.moment + np.cross(self.point, self.force)


@dataclass(frozen=True)
class Centroidal(Checked):
    """The momentum of everything that moves (final).

        m r'' = sum f_i + fe + m g,     L' = sum [(p_i - r) x f_i + l_i] + (pe - r) x fe + ne

    Sources: paper 3, (1), (2) and II-C; L is about the centre of mass.

    Parameters
    ----------
    mass : kg
    gravity : (3,) m/s2

    Examples
    --------
    >>> import trundle as tr
    >>> import numpy as np
    >>> state = tr.multicontact.CentroidalState((0.0, 0.0, 1.0))
    >>> model = tr.multicontact.Centroidal(mass=30.0, gravity=(0.0, 0.0, -10.0))
    >>> fallen = model.advance(state, [], np.zeros((0, 6)), duration=0.2)
    >>> round(float(fallen.position[2]), 6)
    0.8
    """

    mass: Converted[float, float] = size("kg")
    gravity: ArrayField = vector("m/s2", (0.0, 0.0, -GRAVITY))

    def forces(
        self, contacts: Sequence[PlacedPatch], wrenches: ArrayLike, pushes: Sequence[Push] = ()
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return F, P and N (3,): the forces but weight, those of them at points of the world, and the moment.

        The moment about a centre of mass at r is N - r x P. `wrenches` (n, 6) are (moment, force) in the frames of
        the patches.
        """
        local = array("wrenches", wrenches, (len(contacts), 6))
        parts = [contact.world(w) for contact, w in zip(contacts, local, strict=True)]
        at_points = np.sum(parts, axis=0) if parts else np.zeros(6)
        force = at_points[3:] + sum((push.force for push in pushes), np.zeros(3))
        pointed = at_points[3:] + sum((push.pointed for push in pushes), np.zeros(3))
        return force, pointed, at_points[:3] + sum((push.moment_at_origin for push in pushes), np.zeros(3))

    def rate(
        self,
        state: CentroidalState,
        contacts: Sequence[PlacedPatch],
        wrenches: ArrayLike,
        pushes: Sequence[Push] = (),
    ) -> tuple[FloatArray, FloatArray]:
        """Return the acceleration (3,) and the rate of the angular momentum (3,), world."""
        force, pointed, moment = self.forces(contacts, wrenches, pushes)
        return force / self.mass + self.gravity, moment - np.cross(state.position, pointed)

    def advance(
        self,
        state: CentroidalState,
        contacts: Sequence[PlacedPatch],
        wrenches: ArrayLike,
        duration: float,
        pushes: Sequence[Push] = (),
    ) -> CentroidalState:
        """Return the state after `duration` (s) of constant wrenches and pushes, exactly: r is a quadratic, L a cubic.

        L gains N T - (integral of r) x P.
        """
        T = positive("duration", duration, "s")
        force, pointed, moment = self.forces(contacts, wrenches, pushes)
        r, v = state.position, state.velocity
        a = force / self.mass + self.gravity
        area = T * r + T**2 / 2 * v + T**3 / 6 * a
        momentum = state.angular_momentum + T * moment - np.cross(area, pointed)
        return CentroidalState(r + T * v + T**2 / 2 * a, v + T * a, momentum)

    def with_body(
        self, state: CentroidalState, mass: float, other: CentroidalState
    ) -> tuple[Centroidal, CentroidalState]:
        """Return the model and the state of this system and another body together, from the instant they join.

            m+ r+ = m r + m_o r_o,   m+ v+ = m v + m_o v_o,   L+ = L + L_o + mu (r_o - r) x (v_o - v)

        with mu = m m_o / (m + m_o): no momentum is lost (sheet of paper 3, section 5).
        """
        m, m_o = self.mass, positive("mass", mass, "kg")
        whole, reduced = m + m_o, m * m_o / (m + m_o)
        r, v = ((m * a + m_o * b) / whole for a, b in _pairs(state, other))
        apart = np.cross(other.position - state.position, other.velocity - state.velocity)
        momentum = state.angular_momentum + other.angular_momentum + reduced * apart
        return Centroidal(whole, self.gravity), CentroidalState(r, v, momentum)

    def without_body(
        self, state: CentroidalState, mass: float, other: CentroidalState
    ) -> tuple[Centroidal, CentroidalState]:
        """Return the model and the state of what is left when `other` of `mass` leaves: the inverse of `with_body`."""
        m, m_o = self.mass, positive("mass", mass, "kg")
        if not m_o < m:
            raise InputError("mass", mass, f"less than the whole mass, {m:g} kg")
        left = m - m_o
        r, v = ((m * a - m_o * b) / left for a, b in _pairs(state, other))
        apart = np.cross(other.position - r, other.velocity - v)
        momentum = state.angular_momentum - other.angular_momentum - left * m_o / m * apart
        return Centroidal(left, self.gravity), CentroidalState(r, v, momentum)


def projection_frame(axis: ArrayLike) -> FloatArray:
    """Return W (3, 3), world -> projection: right-handed, its third row the unit vector of the privileged `axis`.

    The first row is the world direction x, or y if the axis is nearer to x, made perpendicular to the axis.
    """
    w3 = array("axis", axis, (3,))
    length = float(np.linalg.norm(w3))
    if length < 1e-12:
        raise InputError("axis", axis, "a direction: not zero")
    w3 = w3 / length
    start = np.array([1.0, 0.0, 0.0]) if abs(w3[0]) < 0.8 else np.array([0.0, 1.0, 0.0])
    w1 = start - (start @ w3) * w3
    w1 /= np.linalg.norm(w1)
    return np.vstack((w1, np.cross(w3, w1), w3))


def _pairs(a: CentroidalState, b: CentroidalState) -> tuple[tuple[FloatArray, FloatArray], ...]:
    return (a.position, b.position), (a.velocity, b.velocity)
