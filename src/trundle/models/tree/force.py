"""External forces: expressions of time and of the motions of bodies, as generalised forces of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import array, instance
from trundle.contact.motion import Motion
from trundle.errors import InputError
from trundle.models.tree.multibody import Multibody
from trundle.numerics.expressions import HoldsExpressions
from trundle.numerics.space import angular_size, lever, moment


@dataclass(frozen=True)
class BodyState(HoldsExpressions):
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
Value = ca.SX | ca.DM
ForceLaw = Callable[[ca.SX, States], Value | tuple[Value, Value]]


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
    law: ForceLaw = field(repr=False)
    at: ArrayLike | None = None

    def __post_init__(self) -> None:
        instance("body", self.body, str, "the name of a body")
        _callable(self.law)

    def __reduce__(self) -> tuple[type[Force], tuple[object, ...]]:
        return Force, (self.body, _save_law(self.law), self.at)


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

    law: Callable[[ca.SX, States], Value] = field(repr=False)

    def __post_init__(self) -> None:
        _callable(self.law)

    def __reduce__(self) -> tuple[type[Potential], tuple[object, ...]]:
        return Potential, (_save_law(self.law),)


@dataclass(frozen=True)
class SavedLaw:
    """A law as it travels in a pickle: for each dimension the names of the bodies it reads, and a CasADi function."""

    forms: Mapping[int, tuple[tuple[str, ...], str]]

    def __call__(self, t: ca.SX, states: States) -> tuple[ca.SX, ...] | ca.SX:
        """Return what the law did."""
        names, text = self.forms[next(iter(states.values())).position.shape[0]]
        found = ca.Function.deserialize(text).call([t, *(part for name in names for part in _parts(states[name]))])
        return tuple(found) if len(found) > 1 else found[0]


class _Read(Mapping[str, BodyState]):
    """States that are made when a law reads them, by name."""

    def __init__(self, d: int) -> None:
        sizes = (d,), (d, d), (d,), (angular_size(d),)
        self.made: dict[str, BodyState] = {}
        self._make: Callable[[str], BodyState] = lambda name: BodyState(*(ca.SX.sym(name, *size) for size in sizes))

    def __getitem__(self, name: str) -> BodyState:
        return self.made.setdefault(name, self._make(name))

    def __iter__(self) -> Iterator[str]:
        raise InputError("law", "one that goes through all states", "one that reads them by name, to be pickled")

    def __len__(self) -> int:
        return len(self.made)


def _save_law(law: ForceLaw) -> SavedLaw:
    """Return a law that pickles, of one that may be a lambda: it is asked once in the plane and once in space."""
    if isinstance(law, SavedLaw):
        return law
    forms: dict[int, tuple[tuple[str, ...], str]] = {}
    for d in (2, 3):
        t, states = ca.SX.sym("t"), _Read(d)
        try:
            found = law(t, states)
        except InputError:
            raise
        except (RuntimeError, IndexError, ValueError, TypeError):
            continue  # a law of the other dimension
        parts = [part for state in states.made.values() for part in _parts(state)]
        values = [ca.SX(value) for value in (found if isinstance(found, tuple) else (found,))]
        forms[d] = tuple(states.made), ca.Function("law", [t, *parts], values).serialize()
    return SavedLaw(forms)


def _callable(law: object) -> None:
    if not callable(law):
        raise InputError("law", law, "a function of time and of the bodies' states")


def external_forces(forces: Sequence[Force | Potential], key: str = "forces") -> tuple[Force | Potential, ...]:
    """Return the forces a user gave as `key`."""
    for force in (forces := tuple(forces)):
        if not isinstance(force, Force | Potential):
            raise InputError(key, force, "a Force or a Potential")
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
            V, pushes = _potential(one, t, states)
            potential = V if potential is None else potential + V
            for name, (force, torque) in pushes.items():
                Q += _generalize_force(placed[name], to_world, force, torque)
            continue
        if one.body not in placed:
            raise InputError("body", one.body, "one of " + ", ".join(placed))
        motion = placed[one.body]
        point = motion if one.at is None else motion.at(ca.SX(ca.DM(array("at", one.at, (d,), unit="m"))))
        given = one.law(t, states)
        force, torque = given if isinstance(given, tuple) else (given, None)
        torque = ca.SX(angular_size(d), 1) if torque is None else _expression("torque", torque, angular_size(d))
        Q += _generalize_force(point, to_world, _expression("force", force, d), torque)
    return Q, potential


def _generalize_force(point: Motion, to_world: ca.SX, force: ca.SX, torque: ca.SX) -> ca.SX:
    """Return J'f + Jw'tau (nv,) of a force and a torque in world axes."""
    return point.Jv.T @ (to_world.T @ force) + point.Jw.T @ (torque if force.shape[0] == 2 else to_world.T @ torque)


def _state(motion: Motion, to_world: ca.SX) -> BodyState:
    w = motion.w if motion.w.shape[0] == 1 else to_world @ motion.w
    return BodyState(to_world @ motion.p, to_world @ motion.R, to_world @ motion.v, w)


def _expression(key: str, value: Value, size: int) -> ca.SX:
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


def _potential(one: Potential, t: ca.SX, states: States) -> tuple[ca.SX, dict[str, tuple[ca.SX, ca.SX]]]:
    """Return the energy V (J), and of each body -dV by its position and its turning: force and torque, world axes."""
    free: dict[str, BodyState] = {}
    for name, state in states.items():
        free[name] = BodyState(*(ca.SX.sym(name, *part.shape) for part in _parts(state)))
    V = _expression("potential", one.law(t, free), 1)
    if ca.depends_on(V, ca.vertcat(*(part for s in free.values() for part in (s.velocity, s.angular_velocity)))):
        raise InputError("potential", V, "an expression of positions and time, not of velocities")
    pushes = []
    for state in free.values():
        G = ca.reshape(ca.gradient(V, ca.vec(state.rotation)), *state.rotation.shape)
        turning = [moment(state.rotation[:, c], G[:, c]) for c in range(G.shape[1])]
        pushes += [-ca.gradient(V, state.position), -sum(turning[1:], turning[0])]
    symbols = [part for state in free.values() for part in _parts(state)]
    energy = ca.Function("potential", [t, *symbols], [V, *pushes])
    V, *pushes = energy.call([t, *(part for state in states.values() for part in _parts(state))])
    return V, dict(zip(states, zip(pushes[::2], pushes[1::2], strict=True), strict=True))


def _parts(state: BodyState) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    return state.position, state.rotation, state.velocity, state.angular_velocity
