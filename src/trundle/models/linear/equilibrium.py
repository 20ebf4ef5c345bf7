"""Equilibria and steady motions of bodies in contact, by Newton's method on the manifold of the constraints."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray
from trundle.models.linear.coordinates import independent
from trundle.models.linear.linearize import EXACT, Model, Point, point_of
from trundle.models.linear.names import POSES, numbers_of
from trundle.models.linear.steady import Steady
from trundle.models.tree.system import Start
from trundle.status import Status

_LARGEST = 0.3
"""rad, m, rad/s, m/s: length of a step."""
_STEPS = 60
_RANK = 1e-9


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A state that stays, or moves on steadily, and the inputs that it needs.

    Attributes
    ----------
    start : Start
    inputs : (n_u,)
    status : Status
        SUCCESS; START_INFEASIBLE where a contact would pull or slip there, see `margins`; else NOT_CONVERGED.
    residual : float
        Largest rate (SI) that is not zero and should be, recomputed.
    margins : dict of str to float
        ``"<contact>.<margin>"``: what keeps the mode valid; below zero it is not.
    steady : Steady or None
        Rates of the steady motion; None at rest.

    Examples
    --------
    >>> robot = tr.Robot()
    >>> arm = robot.revolute(None, (0, 0), 1.0, 0.01, center_of_mass=(0.2, 0.0), name="arm")  # kg, kg m2, m
    >>> tree = robot.finish()
    >>> held = tr.equilibrium(tree, tree.place(arm=0.0), free_inputs=["arm.torque"], hold=["arm.joint"])
    >>> held.inputs.round(3).tolist(), held.steady  # N m: m g 0.2 m
    ([1.962], None)
    """

    start: Start
    inputs: FloatArray
    status: Status
    residual: float
    margins: dict[str, float]
    steady: Steady | None


def equilibrium(
    model: Model,
    start: Start,
    *,
    inputs: ArrayLike | None = None,
    free_inputs: Collection[str] = (),
    hold: Collection[str] = (),
    moving: bool = False,
) -> Equilibrium:
    """Return the equilibrium nearest to a state, in its mode; with `moving` the nearest steady motion.

    Solves P f(x, u) = 0 on the manifold c(x) = 0 (see `linearize`) for the state and the inputs that are free, each
    step the smallest: of a family of equilibria the nearest one is found. With `moving` f has to be a motion as a
    whole: along, about the vertical, a body about its own axis, joints at constant rates.

    Parameters
    ----------
    model : RollingPair, RollingTree (what `Robot.finish` returns) or ContactSystem
    start : Start
        From ``model.place(...)``; without `moving` its velocities are taken as zero.
    inputs : (n_u,), optional
        Zero unless given.
    free_inputs : names of `LinearModel.inputs`
        Those that are found too, such as the torques that hold a robot.
    hold : names of `LinearModel.states`
        Coordinates that do not change.

    Raises
    ------
    InputError
        If there is no such input or coordinate, or the state is at a chart's pole.

    Examples
    --------
    An ellipse on its side rolls into no other place: one on its tip is an equilibrium too.

    >>> robot = tr.Robot()
    >>> egg = robot.free(1.0, 0.01, shape=tr.Ellipse([0.1, 0.05]), name="egg")  # kg, kg m2, m
    >>> robot.terrain(tr.Line(), friction=1.0)
    >>> tree = robot.finish()
    >>> found = tr.equilibrium(tree, tree.place(egg=(0.0, 0.1, 1.4)))
    >>> found.status.label, round(float(found.start.x[1]), 6)
    ('success', 0.1)
    """
    point, x, u = point_of(model, start, inputs)
    chosen = [i for name in free_inputs for i in numbers_of("free_inputs", name, point.inputs)]
    x, u = _newton(point, x if moving else point.at_rest(x), u, chosen, hold, moving)
    found, margins = _Residual(point, x, u, moving), point.margins(x, u)
    status = Status.SUCCESS if found.size <= EXACT else Status.NOT_CONVERGED
    if status is Status.SUCCESS and min(margins.values(), default=0.0) < -EXACT:
        status = Status.START_INFEASIBLE
    x.setflags(write=False)
    return Equilibrium(replace(start, x=x), u, status, found.size, margins, found.steady)


def _newton(
    point: Point, x: FloatArray, u: FloatArray, chosen: list[int], hold: Collection[str], moving: bool
) -> tuple[FloatArray, FloatArray]:
    """Return state and inputs after the last step."""
    target = np.asarray(point.kept(x, u)[0]).ravel()
    for _ in range(_STEPS):
        found = _Residual(point, x, u, moving)
        held = {i for name in hold for i in numbers_of("hold", name, found.entries)}
        known = [i for i, e in enumerate(found.entries) if i not in held and (moving or e.kind in POSES)]
        if found.size <= EXACT:
            break
        J = np.hstack([found.slope[:, known], found.by_inputs[:, chosen]])
        step = np.asarray(np.linalg.lstsq(J, -found.rate, rcond=_RANK)[0], dtype=np.float64)
        step *= min(1.0, _LARGEST / max(float(np.linalg.norm(step)), 1e-300))
        x, u = _moved(point, x, u, target, found.X[:, known] @ step[: len(known)], chosen, step[len(known) :])
    return x, u


def displaced(model: Model, start: Start, by: Callable[[int], FloatArray]) -> Start:
    """Return a start near another one, on the manifold of its constraints: moved by z = by(n) in its n coordinates."""
    point, x, u = point_of(model, start, None)
    target = np.asarray(point.kept(x, u)[0]).ravel()
    found, _, X = independent(point.model, x, point.at(x, u)[3])
    moved, _ = _moved(point, x, u, target, X @ by(len(found)), [], np.zeros(0))
    moved.setflags(write=False)
    return replace(start, x=moved)


class _Residual:
    """What keeps a state from being an equilibrium, and its slope by independent coordinates and inputs."""

    def __init__(self, point: Point, x: FloatArray, u: FloatArray, moving: bool) -> None:
        rate, F, G, N = point.at(x, u)
        self.entries, P, self.X = independent(point.model, x, N)
        Q = np.eye(len(P))
        slope, self.steady = 0.0, None
        if moving:
            Q, slope = point.fields.beyond(P, x, rate)
        self.rate = Q @ P @ rate
        self.slope, self.by_inputs = Q @ P @ (F - slope) @ self.X, Q @ P @ G
        self.size = float(np.max(np.abs(self.rate), initial=0.0))
        if moving and self.size <= EXACT:
            self.steady = point.fields.steady(P, self.X, x, rate, F)
            self.size = self.size if self.steady is not None else np.inf


def _moved(
    point: Point,
    x: FloatArray,
    u: FloatArray,
    target: FloatArray,
    step: FloatArray,
    chosen: list[int],
    more: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return state and inputs after a step, the state back on the manifold."""
    x, u = x + step, u.copy()
    u[chosen] += more
    for _ in range(4):
        kept, N = (np.asarray(v) for v in point.kept(x, u))
        x = x - np.linalg.lstsq(N, kept.ravel() - target, rcond=_RANK)[0]
    return x, u
