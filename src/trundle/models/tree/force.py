"""External forces: expressions of time and of the motions of bodies, as generalised forces of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import array
from trundle.contact.motion import Motion
from trundle.errors import InputError
from trundle.models.tree.multibody import Multibody
from trundle.numerics.space import angular_size, lever


@dataclass(frozen=True)
class BodyState:
    """What a force may know of a body: CasADi expressions, world axes.

    Attributes
    ----------
    position, velocity : (d,) m, m/s
        Of the origin of the body's frame; of a point of the body after `at`.
    rotation : (d, d)
        Body axes to world axes.
    angular_velocity : (k,) rad/s
    """

    position: ca.SX
    rotation: ca.SX
    velocity: ca.SX
    angular_velocity: ca.SX

    def at(self, point: Sequence[float]) -> BodyState:
        """Return the state of the body's `point` (d,), m, in its frame."""
        r = self.rotation @ ca.DM(list(point))
        v = self.velocity + lever(r) @ self.angular_velocity
        return BodyState(self.position + r, self.rotation, v, self.angular_velocity)


States = Mapping[str, BodyState]


@dataclass(frozen=True)
class Force:
    """A force and a torque on a body, as expressions of time and of the bodies' states.

    Parameters
    ----------
    body : str
        Name of the body; that of a pair is ``"object"``, or ``"body"`` on ground in the plane.
    law : callable
        ``law(t, states)`` returns the force (d,), N, or (force, torque (k,) N m), world axes: CasADi expressions of
        the time t (s) and of ``states[name]``, a `BodyState` for each body.
    at : (d,) m
        The point of the body's frame on which the force acts; its origin unless given.

    Examples
    --------
    A ball that the air slows down.

    >>> import trundle as tr
    >>> drag = tr.Force("object", lambda t, states: -0.2 * states["object"].velocity)
    >>> ball = tr.RigidBody(tr.Sphere(0.1), mass=1.0)
    >>> pair = tr.RollingPair(ball, tr.Hand(tr.Plane()), forces=[drag])
    >>> run = tr.simulate(pair, pair.place(object_angular_velocity=(0.0, 10.0, 0.0)), duration=7.0)
    >>> round(float(run["object_velocity"][-1, 0]), 6)  # m/s: e^(-0.2 t/1.4)
    0.367879
    """

    body: str
    law: Callable[[ca.SX, States], ca.SX | tuple[ca.SX, ca.SX]]
    at: ArrayLike | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.body, str):
            raise InputError("body", self.body, "the name of a body")
        _callable(self.law)


@dataclass(frozen=True)
class Potential:
    """Energy of bodies in a field or of springs between them; its gradient is what acts on them.

    Parameters
    ----------
    law : callable
        ``law(t, states)`` returns the energy, J: a CasADi expression, not of velocities; see `Force`.

    Examples
    --------
    >>> import trundle as tr
    >>> spring = tr.Potential(lambda t, states: 20.0 * states["object"].position[0] ** 2)
    >>> ball = tr.RigidBody(tr.Sphere(0.1), mass=1.0)
    >>> pair = tr.RollingPair(ball, tr.Hand(tr.Plane()), forces=[spring])
    >>> run = tr.simulate(pair, pair.place(contact_on_hand=(0.1, 0.0, 0.0)), duration=0.5)
    >>> round(float(run["object_position"][-1, 0]), 6)  # m: 0.1 cos(sqrt(40/1.4) t)
    -0.089203
    """

    law: Callable[[ca.SX, States], ca.SX]

    def __post_init__(self) -> None:
        _callable(self.law)


def _callable(law: object) -> None:
    if not callable(law):
        raise InputError("law", law, "a function of time and of the bodies' states")


def external_forces(forces: Sequence[Force | Potential]) -> tuple[Force | Potential, ...]:
    """Return the forces a user gave."""
    for force in (forces := tuple(forces)):
        if not isinstance(force, Force | Potential):
            raise InputError("forces", force, "a Force or a Potential")
    return forces


def generalized_force(
    model: Multibody,
    forces: Sequence[Force | Potential],
    motions: Mapping[str, Motion],
    to_world: ca.SX,
    t: ca.SX,
    origins: Mapping[str, Sequence[float]],
) -> tuple[ca.SX, ca.SX | None]:
    """Return Q (nv,) = sum J'f + Jw'tau - dV/dq of external forces, and V (J), None where there is none.

    ``origins``: of the user's frame in the model's frame of a body, (d,) m, where these differ.
    """
    d, Q = model.d, ca.SX(model.nv, 1)
    potential: ca.SX | None = None
    placed = {name: m.at(ca.SX(ca.DM(list(origins[name])))) if name in origins else m for name, m in motions.items()}
    states = {name: _state(motion, to_world) for name, motion in placed.items()}
    for one in forces:
        if isinstance(one, Potential):
            V = _expression("potential", one.law(t, states), 1)
            Q -= _gradient(model, V)
            potential = V if potential is None else potential + V
            continue
        if one.body not in placed:
            raise InputError("body", one.body, "one of " + ", ".join(placed))
        motion = placed[one.body]
        point = motion if one.at is None else motion.at(ca.SX(ca.DM(array("at", one.at, (d,), unit="m"))))
        given = one.law(t, states)
        force, torque = given if isinstance(given, tuple) else (given, None)
        Q += point.Jv.T @ (to_world.T @ _expression("force", force, d))
        if torque is not None:
            torque = _expression("torque", torque, angular_size(d))
            Q += point.Jw.T @ (torque if d == 2 else to_world.T @ torque)
    return Q, potential


def _state(motion: Motion, to_world: ca.SX) -> BodyState:
    w = motion.w if motion.w.shape[0] == 1 else to_world @ motion.w
    return BodyState(to_world @ motion.p, to_world @ motion.R, to_world @ motion.v, w)


def _expression(key: str, value: ca.SX, size: int) -> ca.SX:
    """Return what a user's function returned, checked."""
    try:
        found = ca.SX(value)
    except (NotImplementedError, TypeError):
        raise InputError(key, value, f"a CasADi expression of shape ({size},)") from None
    if found.shape != (size, 1):
        raise InputError(key, found.shape, f"of shape ({size},)")
    if found.is_constant() and not np.all(np.isfinite(np.asarray(ca.evalf(found)))):
        raise InputError(key, found, "finite")
    return found


def _gradient(model: Multibody, V: ca.SX) -> ca.SX:
    """Return dV/dq (nv,): the change of V with a displacement of the poses."""
    if ca.depends_on(V, model.nu):
        raise InputError("potential", V, "an expression of positions and time, not of velocities")
    step = ca.SX.sym("step", model.nv)
    turned = ca.jtimes(model.moved(step), step, ca.gradient(V, model.x), True)
    return ca.substitute(turned, step, ca.SX.zeros(model.nv, 1))
