"""What inverse dynamics is asked for (tasks) and what it must keep (limits): linear in nudot, lam or u.

Every field may be numbers or CasADi expressions: the same nouns serve the numeric and the compiled route.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import choice, integer, non_negative, number, positive
from trundle.contact.contact import Kinematics
from trundle.contact.laws import Law, Sliding
from trundle.contact.motion import Motion
from trundle.control.inverse_dynamics.algebra import Matrix
from trundle.errors import InputError
from trundle.models.tree.multibody import ContactConstraint
from trundle.numerics.space import cross
from trundle.parameters import parameter

UNKNOWNS = ("acceleration", "force", "torque")
"""nudot (nv,), lam (m,) and u (n_u,)."""


@dataclass(frozen=True)
class Task:
    """A task A y = target, y one of nudot, lam and u; its residual is reported in its unit.

    Parameters
    ----------
    name : str
    A : (k, n_y)
    target : (k,)
        For a task of a motion: the desired acceleration minus the bias, see `MotionQuantity.tracking`.
    weight : float or (k,)
        Of |A y - target|^2 against the other tasks of the same level.
    level : int
        Strict priority: a level is served only with what the levels before it leave free.
    on : str
        ``"acceleration"``, ``"force"`` or ``"torque"``.
    unit : str
    """

    name: str
    A: Matrix
    target: Matrix
    weight: Matrix | float = parameter(1.0, "against other tasks of the same level")
    level: int = parameter(0, "strict priority: a level has what the levels before it leave free")
    on: str = "acceleration"
    unit: str = "m/s2"

    def __post_init__(self) -> None:
        _check_name(self.name)
        choice("on", self.on, UNKNOWNS)
        integer("level", self.level, minimum=0)
        object.__setattr__(self, "A", _rows(f"{self.name}.A", self.A))
        object.__setattr__(self, "target", _column(f"{self.name}.target", self.target, self.A.shape[0]))
        object.__setattr__(self, "weight", _column(f"{self.name}.weight", self.weight, self.A.shape[0]))
        if isinstance(self.weight, np.ndarray) and np.any(self.weight < 0):
            raise InputError(f"{self.name}.weight", self.weight, ">= 0")


@dataclass(frozen=True)
class Limit:
    """A demand lower <= A y <= upper, y one of nudot, lam and u.

    Parameters
    ----------
    name : str
    on : str
        See `Task`.
    lower, upper : (k,) or float
        -inf and inf where there is none.
    A : (k, n_y), optional
        Default: y itself.
    price : float, optional
        What a squared unit of excess costs where not all limits can hold; None: it is never exceeded.
    unit : str
    """

    name: str
    on: str
    lower: Matrix | float
    upper: Matrix | float = math.inf
    A: Matrix | None = None
    price: float | None = None
    unit: str = "N"

    def __post_init__(self) -> None:
        _check_name(self.name)
        choice("on", self.on, UNKNOWNS)
        if self.price is not None:
            positive(f"{self.name}.price", self.price)
        rows = None
        if self.A is not None:
            object.__setattr__(self, "A", _rows(f"{self.name}.A", self.A))
            rows = self.A.shape[0]
        for key in ("lower", "upper"):
            object.__setattr__(self, key, _column(f"{self.name}.{key}", getattr(self, key), rows, bound=True))

    def fit_rows(self, size: int) -> Limit:
        """Return the same limit with bounds of one entry a row, for y of `size` entries."""
        rows = size if self.A is None else self.A.shape[0]
        if self.A is not None and self.A.shape[1] != size:
            raise InputError(f"{self.name}.A", self.A.shape, f"{size} columns")
        lower, upper = (
            _column(f"{self.name}.{key}", getattr(self, key), rows, bound=True) for key in ("lower", "upper")
        )
        return Limit(self.name, self.on, lower, upper, self.A, self.price, self.unit)


@dataclass(frozen=True)
class MotionQuantity:
    """Something of the motion a task may steer: its rate is J nu, and its acceleration J nudot + bias.

    Attributes
    ----------
    J : (k, nv)
    bias : (k,)
    value, rate : (k,)
    unit : str
        Of the acceleration.
    """

    J: Matrix
    bias: Matrix
    value: Matrix
    rate: Matrix
    unit: str = "m/s2"

    def __sub__(self, other: MotionQuantity) -> MotionQuantity:
        """Return this quantity relative to another of the same size and unit."""
        if self.unit != other.unit:
            raise InputError("unit", other.unit, f"{self.unit}: only quantities of one unit are subtracted")
        J, bias, value = self.J - other.J, self.bias - other.bias, self.value - other.value
        return MotionQuantity(J, bias, value, self.rate - other.rate, self.unit)

    def tracking(
        self,
        name: str,
        value: Matrix | float = 0.0,
        rate: Matrix | float = 0.0,
        acceleration: Matrix | float = 0.0,
        *,
        kp: float = 0.0,
        kd: float = 0.0,
        weight: Matrix | float = 1.0,
        level: int = 0,
    ) -> Task:
        """Return the task  J nudot + bias = acceleration + kp (value - present value) + kd (rate - present rate).

        ``kp`` in 1/s2 and ``kd`` in 1/s; kp = 0 makes it a task of the velocity.
        """
        non_negative("kp", kp)
        non_negative("kd", kd)
        wanted = acceleration + kp * (value - self.value) + kd * (rate - self.rate)
        return Task(name, self.J, wanted - self.bias, weight, level, "acceleration", self.unit)


def position(motion: Motion, point: Sequence[float] | None = None, axes: ArrayLike | None = None) -> MotionQuantity:
    """Return the position (m) of a point (d,) of a body, in the resolving frame, along the rows of `axes` (k, d)."""
    at = motion if point is None else motion.at(ca.SX(ca.DM(list(point))))
    E = ca.SX.eye(at.p.shape[0]) if axes is None else ca.SX(ca.DM(np.atleast_2d(np.asarray(axes, dtype=float))))
    return MotionQuantity(E @ at.Jv, E @ at.a, E @ at.p, E @ at.v)


def angle(motion: Motion, present: Matrix) -> MotionQuantity:
    """Return the angle (rad) of a body in the plane; `present` is its value (the motion holds only its turn)."""
    return MotionQuantity(motion.Jw, motion.al, present, motion.w, "rad/s2")


def attitude(motion: Motion, R_wanted: ca.SX) -> MotionQuantity:
    """Return the turn (3,) of a body in space away from the rotation `R_wanted` (3, 3).

    value = -1/2 sum_i r_i x r_wanted,i: the axis of the turn times the sine of its angle.
    """
    error = sum((cross(motion.R[:, i], R_wanted[:, i]) for i in range(3)), ca.SX(3, 1)) / 2
    return MotionQuantity(motion.Jw, motion.al, -error, motion.w, "rad/s2")


def joints(J: Matrix, positions: Matrix, rates: Matrix) -> MotionQuantity:
    """Return joint positions whose rates are J nu (J constant): the posture."""
    return MotionQuantity(J, 0 * rates, positions, rates, "rad/s2")


def friction(
    name: str,
    frame: Matrix,
    columns: slice,
    size: int,
    mu: float | ca.SX,
    *,
    edges: int = 8,
    minimum: float = 0.0,
    torsional: float = 0.0,
    price: float | None = None,
) -> tuple[Limit, Limit]:
    """Return the limits of a contact: a normal force of at least `minimum` (N), and Coulomb's cone.

    Plane: mu f_n +- f_t >= 0. Space: a pyramid inside the cone, mu cos(pi/e) f_n - d_i.f_t >= 0 with e = `edges`
    directions d_i, whose edges lie on the cone, so that what it allows is always allowed by Coulomb; with 8
    edges it forbids at most 7.6 % of the friction.

    Parameters
    ----------
    name : str
    frame : (d, d)
        [T n], resolved.
    columns : slice
        The contact's multipliers in lam: the force (d,), then the moment about n of pure rolling.
    size : int
        Number m of all multipliers.
    mu : float or scalar SX
    edges : int
        Of the pyramid; at least 3.
    torsional : float, m
        Adds |moment| <= torsional f_n where the contact has a moment; 0: unbounded.
    price : float, optional
        See `Limit`; of the friction alone: a contact never pulls.
    """
    d = frame.shape[0]
    number("minimum", minimum, minimum=0.0, unit="N")
    n, T = frame[:, d - 1 : d].T, frame[:, : d - 1].T
    if d == 2:
        rows = [mu * n + T, mu * n - T]
    else:
        integer("edges", edges, minimum=3)
        turns = 2 * np.pi * np.arange(edges) / edges
        inner = mu * math.cos(math.pi / edges)
        rows = [inner * n - (math.cos(t) * T[0:1, :] + math.sin(t) * T[1:2, :]) for t in turns]
    width = columns.stop - columns.start
    if torsional and width > d:
        rows = [_repeat_last_column(row, 0.0) for row in rows]
        rows += [_repeat_last_column(torsional * n, 1.0), _repeat_last_column(torsional * n, -1.0)]
    cone = _place_rows(_stack(rows), columns, size)
    return (
        Limit(f"{name}.normal_force", "force", minimum, math.inf, _place_rows(n, columns, size)),
        Limit(f"{name}.friction", "force", 0.0, math.inf, cone, price),
    )


def contact_limits(
    constraints: Sequence[ContactConstraint],
    kin: Sequence[Kinematics],
    split: Sequence[slice],
    *,
    edges: int = 8,
    minimum: float = 0.0,
    price: float | None = None,
    touching: ca.SX | None = None,
    sticking: ca.SX | None = None,
    coefficients: ca.SX | None = None,
    laws: Sequence[Law] | None = None,
) -> list[Limit]:
    """Return the limits of all contacts of a model; see `friction`.

    Parameters
    ----------
    constraints, kin, split
        ``model.constraints`` and ``terms.kin``, ``terms.split`` of its terms. The number of rows tells the law: none
        (apart), one (sliding: only the normal force is limited), d or d + 1 (rolling, pure rolling), k + d (fixed: the
        force's cone; its centre of pressure is for the caller to limit).
    edges, minimum, price
        See `friction`.
    touching : (contacts,) SX, optional
        As `InverseDynamics` takes them: a contact that is apart has no limits.
    sticking : (contacts,) SX, optional
        1 where a contact has a cone, default: where it touches.
    coefficients : (contacts,) SX, optional
        Of friction, in place of the model's.
    laws : sequence of Law, optional
        One a contact: needed where one slides and holds a turning, whose rows are as many as those of rolling.
    """
    size = max((rows.stop for rows in split), default=0)
    limits: list[Limit] = []
    for i, (one, k, rows) in enumerate(zip(constraints, kin, split, strict=True)):
        d, spins, width = k.n.shape[0], k.wrel.shape[0], rows.stop - rows.start
        found: list[Limit] = []
        if width == 1 or (laws is not None and isinstance(laws[i], Sliding)):
            row = _place_rows(ca.SX(1), slice(rows.start, rows.start + 1), size)
            found = [Limit(f"{one.name}.normal_force", "force", minimum, math.inf, row)]
        elif width:
            columns = slice(rows.start + spins, rows.stop) if width == spins + d else rows
            mu, torsional = one.friction.mu if coefficients is None else coefficients[i], one.friction.torsional
            cone = {"edges": edges, "minimum": minimum, "torsional": torsional, "price": price}
            found = list(friction(one.name, k.frame, columns, size, mu, **cone))
        on = (touching, touching if sticking is None else sticking)
        limits += [limit if flags is None else _while(flags[i], limit) for flags, limit in zip(on, found, strict=False)]
    return limits


def _while(touches: ca.SX, limit: Limit) -> Limit:
    """Return a limit on contact forces that has no lower bound while the contact is apart."""
    rows = 1 if limit.A is None else limit.A.shape[0]
    least = np.broadcast_to(np.asarray(limit.lower, dtype=float), (rows,))
    lower = ca.vertcat(*(ca.if_else(touches > 0.5, float(value), -math.inf) for value in least))
    return replace(limit, lower=lower)


def torque_limit(bound: Matrix | float, price: float | None = None) -> Limit:
    """Return |u| <= bound, (n_u,) or a number, N m."""
    return Limit("torque", "torque", -bound, bound, None, price, "N m")


def torque_rate_limit(rate: Matrix | float, period: float, u_last: Matrix, price: float | None = None) -> Limit:
    """Return |u - u_last| <= rate period, rate in N m/s."""
    step = rate * positive("period", period, "s")
    return Limit("torque_rate", "torque", u_last - step, u_last + step, None, price, "N m")


def smallest_torques(n_u: int, weight: float = 1.0, level: int = 0) -> Task:
    """Return the torque-minimising task, u = 0."""
    return Task("torques", np.eye(n_u), np.zeros(n_u), weight, level, "torque", "N m")


def smallest_tangential_forces(
    frames: Sequence[Matrix], columns: Sequence[slice], size: int, weight: float = 1.0, level: int = 0
) -> Task:
    """Return the task T'f = 0 at every contact: the internal force that needs least friction."""
    d = frames[0].shape[0]
    rows = [_place_rows(frame[:, : d - 1].T, part, size) for frame, part in zip(frames, columns, strict=True)]
    A = _stack(rows)
    return Task("tangential_forces", A, np.zeros(A.shape[0]), weight, level, "force", "N")


def equal_normal_forces(
    frames: Sequence[Matrix],
    columns: Sequence[slice],
    size: int,
    weight: float = 1.0,
    level: int = 0,
    touching: ca.SX | None = None,
) -> Task:
    """Return the task that every normal force is the mean of all (or of the contacts that are `touching`)."""
    d, count = frames[0].shape[0], len(frames)
    normal = _stack(
        [_place_rows(frame[:, d - 1 : d].T, part, size) for frame, part in zip(frames, columns, strict=True)]
    )
    if touching is not None:
        spread = ca.diag(touching) - touching @ touching.T / ca.fmax(1.0, ca.sum1(touching))
        return Task("equal_forces", spread @ normal, np.zeros(count), weight, level, "force", "N")
    spread = np.eye(count) - 1.0 / count
    A = (spread if isinstance(normal, np.ndarray) else ca.SX(ca.DM(spread))) @ normal
    return Task("equal_forces", A, np.zeros(count), weight, level, "force", "N")


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not name:
        raise InputError("name", name, "a text")


def _symbolic(value: Matrix | ArrayLike) -> TypeGuard[ca.SX]:
    return isinstance(value, ca.SX)


def _rows(key: str, value: Matrix | ArrayLike) -> Matrix:
    if _symbolic(value):
        return value
    matrix = np.atleast_2d(np.array(value, dtype=np.float64))
    if matrix.ndim != 2 or not np.all(np.isfinite(matrix)):
        raise InputError(key, value, "a matrix of finite numbers")
    return matrix


def _column(key: str, value: Matrix | ArrayLike, size: int | None, bound: bool = False) -> Matrix:
    """Return `value` with `size` entries (None: as it is); a number is repeated."""
    if _symbolic(value):
        if size is not None and value.shape not in ((size, 1), (1, 1)):
            raise InputError(key, value.shape, f"{size} entries")
        return value if size in (None, value.shape[0]) else ca.repmat(value, size, 1)
    array = np.array(value, dtype=np.float64)
    if np.any(np.isnan(array)) or (not bound and np.any(np.isinf(array))):
        raise InputError(key, value, "numbers, not NaN" if bound else "finite numbers")
    if size is None:
        return array
    if array.shape not in ((), (1,), (size,)):
        raise InputError(key, array.shape, f"{size} entries")
    return np.broadcast_to(array, (size,)) if array.ndim == 0 or array.shape != (size,) else array


def _stack(rows: Sequence[Matrix]) -> Matrix:
    return ca.vertcat(*rows) if any(_symbolic(row) for row in rows) else np.vstack(rows)


def _repeat_last_column(row: Matrix, last: float) -> Matrix:
    return ca.horzcat(row, last) if _symbolic(row) else np.hstack((row, [[last]]))


def _place_rows(rows: Matrix, columns: slice, size: int) -> Matrix:
    """Put the rows (k, width) of one contact into k rows of all multipliers, zero elsewhere."""
    k, start = rows.shape[0], columns.start
    width = rows.shape[1]
    if _symbolic(rows):
        return ca.horzcat(ca.SX(k, start), rows, ca.SX(k, size - start - width))
    return np.hstack((np.zeros((k, start)), rows, np.zeros((k, size - start - width))))
