"""Equilibria and steady motions of bodies in contact, by Newton's method on the manifold of the constraints."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray
from trundle.models.linear.linearize import EXACT
from trundle.models.linear.names import POSES, NamedEntry, entries_of, is_quaternion, numbers_of
from trundle.models.linear.point import Model, OperatingPoint, point_of
from trundle.models.linear.steady import Steady
from trundle.models.tree.approach import round_on_both_sides
from trundle.models.tree.model import TreeModel
from trundle.models.tree.system import Start
from trundle.status import Status

_LARGEST = 0.3
"""Length of a step: rad, or of the smallest shape, and the same in a second for rates."""
_STEPS = 60  # of Newton's method at most
_RANK = 1e-9  # of the largest singular value: directions in which nothing pulls back
_CLOSED = 1e-9
"""How far the constraints may be from zero, and a simulation's projection move the state, in natural sizes."""
_FLAT = 1e-6
"""Roundness (no unit) up to which a body touches with a line or a face."""
_OVERLAP = 1e-6
"""Depth of an overlap, over the body's size, that the samples of shapes cannot tell from a contact, as for `place`."""


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A state that stays, or moves on steadily, and the inputs that it needs.

    Attributes
    ----------
    start : Start
    inputs : (n_u,)
    status : Status
        SUCCESS; START_INFEASIBLE where a contact would pull or slip there, or shapes overlap, see `margins`; else
        NOT_CONVERGED. All gaps of a success are closed to round-off.
    residual : float
        Largest rate (SI) that is not zero and should be, recomputed.
    margins : dict of str to float
        ``"<contact>.<margin>"``: what keeps the mode valid; below zero it is not. ``"<contact>.overlap"`` (m) is there
        where the whole shapes overlap.
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
    anchor = x if moving else point.at_rest(x)
    x, u = _newton(point, anchor, u, chosen, hold, moving)
    found, margins = _Residual(point, x, u, moving), _margins(point, start, x, u)
    closed = point.off(x, u, anchor) <= _CLOSED and _stays(point, x, u, anchor)
    status = Status.SUCCESS if found.size <= EXACT and closed else Status.NOT_CONVERGED
    if status is Status.SUCCESS and min(margins.values(), default=0.0) < -EXACT:
        status = Status.START_INFEASIBLE
    x.setflags(write=False)
    return Equilibrium(replace(start, x=x), u, status, found.size, margins, found.steady)


def _newton(
    point: OperatingPoint, anchor: FloatArray, u: FloatArray, chosen: list[int], hold: Collection[str], moving: bool
) -> tuple[FloatArray, FloatArray]:
    """Return state and inputs after the last step, the state on the manifold that `anchor` (n_x,) is next to."""
    coordinates = point.independent(anchor, u)[0]
    asked = {i for name in hold for i in numbers_of("hold", name, coordinates)}
    stays = _held_entries(point.model, [coordinates[i] for i in asked])
    x = point.nearest(anchor, u, anchor, stays)
    for _ in range(_STEPS):
        found = _Residual(point, x, u, moving)
        held = {i for name in hold for i in numbers_of("hold", name, found.entries)}
        known = [i for i, e in enumerate(found.entries) if i not in held and (moving or e.kind in POSES)]
        if found.size <= EXACT:
            break
        # Steps are measured in natural sizes: the nearest equilibrium is the same in millimetres and in metres.
        unit, row = found.units(), found.sizes / point.sizes(x).time
        by_inputs = found.by_inputs[:, chosen] / row[:, None]
        push = 1.0 / np.maximum(np.linalg.norm(by_inputs, axis=0), 1e-300)
        J = np.hstack([found.slope[:, known] * unit[known] / row[:, None], by_inputs * push])
        step = np.asarray(np.linalg.lstsq(J, -found.rate / row, rcond=_RANK)[0], dtype=np.float64)
        step *= min(1.0, _LARGEST / max(float(np.linalg.norm(step)), 1e-300))
        states, inputs = step[: len(known)] * unit[known], step[len(known) :] * push
        u = u.copy()
        u[chosen] += inputs
        stays = _held_entries(point.model, [found.entries[i] for i in held])
        moved = x + found.X[:, known] @ states
        moved[stays] = x[stays]
        x = point.nearest(moved, u, anchor, stays)
    return x, u


def _held_entries(model: TreeModel, held: Collection[NamedEntry]) -> list[int]:
    """Return the numbers of the state's entries that coordinates stand for; of a quaternion if all turns are held."""
    numbers: list[int] = []
    for key, where in model.layout.items():
        size = where.stop - where.start
        known = list(entries_of(model, key, size, turns=True))
        stay = [where.start + i for i, entry in enumerate(known) if entry in held]
        if not is_quaternion(model, key):
            numbers += stay
        elif len(stay) == len(known):
            numbers += range(where.start, where.stop)
    return numbers


def _margins(point: OperatingPoint, start: Start, x: FloatArray, u: FloatArray) -> dict[str, float]:
    """Return the margins of the mode, and of shapes that overlap anywhere how deep."""
    known, system = point.margins(x, u), point.system
    margins = {name: value for name, value in known.items() if name not in _unknown_gaps(point)}
    for pair in system.contact_pairs:
        name = f"{pair.contact}.roundness"
        if name in margins:
            # Of a line or a face a support function knows one point; a capsule has round parts on both sides of it.
            margins[name] = (abs(margins[name]) if round_on_both_sides(pair) else margins[name]) - _FLAT
    for numbers in system.pairs:
        pair = system.contact_pairs[numbers[0]]
        R, p = system.relative_pose(x, numbers[0], start.atlas)
        deepest = float(np.min(system.proximity(numbers[0]).gaps(R, p)))
        if deepest < -_OVERLAP * pair.shape_A.reference_length:
            margins[f"{pair.contact}.overlap"] = deepest
    return margins


def _unknown_gaps(point: OperatingPoint) -> set[str]:
    """Return the margins that are no gaps of bodies: whole shapes tell these.

    A contact that is apart keeps the coordinates it had, and an edge of a feature is taken without its ends.
    """
    unknown = set()
    constraints = zip(point.model.constraints, point.laws, point.system.contact_pairs, strict=True)
    for constraint, law, pair in constraints:
        if not law.touching and (constraint.contact.size or pair.in_parts) and pair.joint is None:
            unknown.add(f"{constraint.name}.gap")
    return unknown


def _stays(point: OperatingPoint, x: FloatArray, u: FloatArray, anchor: FloatArray) -> bool:
    """Whether a simulation, which projects its start in its own way, begins at the state itself."""
    moved = point.project(x, u, anchor) - x
    return bool(np.max(np.abs(moved) / point.sizes(x).entries, initial=0.0) <= _CLOSED)


def displace_start(model: Model, start: Start, by: Callable[[int], FloatArray]) -> Start:
    """Return a start near another one, on the manifold of its constraints: moved by z = by(n) in its n coordinates."""
    point, x, u = point_of(model, start, None)
    found, _, X = point.independent(x, u)
    moved = point.nearest(x + X @ by(len(found)), u, x)
    moved.setflags(write=False)
    return replace(start, x=moved)


class _Residual:
    """What keeps a state from being an equilibrium, and its slope by independent coordinates and inputs.

    ``sizes`` (n,) are the natural sizes of the coordinates, ``time`` (s) is that of the state.
    """

    def __init__(self, point: OperatingPoint, x: FloatArray, u: FloatArray, moving: bool) -> None:
        rate, F, G = point.at(x, u)
        self.entries, P, self.X = point.independent(x, u)
        # A row takes one entry of the state or, of a quaternion, several of the same size: one.
        self.sizes = np.max((P != 0.0) * point.sizes(x).entries, axis=1)
        self.time = point.sizes(x).time
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

    def units(self) -> FloatArray:
        """Return by what steps of the coordinates (n,) are measured: rates against a second.

        Who asks for a circle at some speed means the speed: in natural times, which are far shorter, a body that
        spins would rather change its rates than its lean.
        """
        return np.where([entry.kind in POSES for entry in self.entries], self.sizes, self.sizes * self.time)
