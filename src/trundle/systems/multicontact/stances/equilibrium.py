"""Static equilibrium: whether contacts can bear a weight at rest, and whether the robot's torques suffice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trundle.checks import FloatArray, array, positive
from trundle.contact.patch import PlacedPatch
from trundle.errors import InputError
from trundle.models.robots.humanoid import Humanoid
from trundle.systems.multicontact.centroidal.centroidal import GRAVITY


@dataclass(frozen=True)
class StanceEquilibrium:
    """Wrenches at rest.

    Attributes
    ----------
    feasible : bool
        Whether the contacts can bear the weight; the rest is NaN where they cannot.
    wrenches : (n, 6) N m, N
        (moment, force) of each contact in its frame.
    torque : (n_j,) N m
        Of the joints; empty without a robot.
    torque_use : float
        Largest |torque| / limit, the smallest there is; 0 without a robot.
    balance : float
        Largest residual of the equations, N or N m, recomputed.
    """

    feasible: bool
    wrenches: FloatArray
    torque: FloatArray
    torque_use: float
    balance: float

    @property
    def within_torques(self) -> bool:
        """Whether the weight is borne with no torque over its limit."""
        return self.feasible and self.torque_use <= 1.0 + 1e-9


def bearable(contacts: Sequence[PlacedPatch], center_of_mass: FloatArray, mass: float) -> StanceEquilibrium:
    """Return whether contacts can bear a `mass` (kg) at rest with this centre of mass (3,) m, by a linear program.

    Wrenches are non-negative sums of the patches' generators (friction pyramids inside the cones); sum of forces =
    m g upwards, sum of moments about the centre of mass = 0.
    """
    com, weight = array("center_of_mass", center_of_mass, (3,), unit="m"), positive("mass", mass, "kg") * GRAVITY
    wanted = np.concatenate((np.cross(com, [0.0, 0.0, weight]), [0.0, 0.0, weight]))
    maps = [np.column_stack([c.world(w) for w in np.eye(6)]) for c in contacts]
    return _minimize_torque_use(contacts, wanted, maps, np.zeros(0), [], np.zeros(0))


def bearable_place(
    contacts: Sequence[PlacedPatch], low: FloatArray, high: FloatArray, mass: float, near: FloatArray | None = None
) -> FloatArray | None:
    """Return the place (2,) m of a centre of mass between `low` and `high` (2,) m at which contacts bear it at rest.

    As `bearable`, with x and y of the centre of mass unknowns of the program too; the place nearest to `near` (2,) m,
    by the larger of both differences, unless that is left out. None: contacts can bear a `mass` (kg) at no such place.
    """
    from scipy.optimize import linprog

    if np.any(low > high):
        return None
    positive("mass", mass, "kg")  # whose weight is the unit of the wrenches
    E = np.hstack([np.column_stack([c.world(w) for w in np.eye(6)]) @ c.patch.generators for c in contacts])
    n, moment = E.shape[1], np.zeros((6, 3))
    moment[0, 1], moment[1, 0] = -1.0, 1.0  # of the weight about the origin: linear in the place
    rows = np.hstack((E, moment))
    wish = (low + high) / 2 if near is None else near
    off = np.hstack((np.zeros((4, n)), np.kron([[1.0], [-1.0]], np.eye(2)), -np.ones((4, 1))))
    bounds = [(0.0, None)] * n + [*zip(low.tolist(), high.tolist(), strict=True), (0.0, None)]
    price = np.append(np.zeros(n + 2), 0.0 if near is None else 1.0)
    top, wanted = np.append(wish, -wish), np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    found = linprog(price, A_ub=off, b_ub=top, A_eq=rows, b_eq=wanted, bounds=bounds, method="highs")
    return np.asarray(found.x[n : n + 2]) if found.status == 0 else None


def standing_still(humanoid: Humanoid, q: FloatArray, contacts: Sequence[PlacedPatch]) -> StanceEquilibrium:
    """Return the wrenches that hold a robot at rest at q with the least use of torque, by a linear program (HiGHS).

    h(q, 0) = (0, torque) + sum_i J_i' w_i: the rows of the base are equations, those of the joints give the torques;
    the largest |torque| / limit is minimised, so more than 1 means that no wrenches keep the limits.

    Parameters
    ----------
    humanoid : Humanoid
    q : (nq,)
        See `trundle.models.urdf.articulated.Articulated`.
    contacts : sequence of PlacedPatch
        Named by the robot's ends.
    """
    robot = humanoid.robot
    links = [end_of(humanoid, contact.name)[0] for contact in contacts]
    terms = robot.terms(q, np.zeros(robot.nv), links)
    jacobians = []
    for contact, motion in zip(contacts, terms.motions, strict=True):
        R = contact.R_world_patch.T
        here = motion.at(motion.R.T @ (contact.position - motion.p))
        jacobians.append(np.vstack((R @ here.Jw, R @ here.Jv)))
    base = [J[:, :6].T for J in jacobians]
    joints = [J[:, 6:].T for J in jacobians]
    return _minimize_torque_use(contacts, terms.h[:6], base, terms.h[6:], joints, robot.torque_limit)


def end_of(humanoid: Humanoid, name: str) -> tuple[str, FloatArray]:
    """Return link and point (3,) m of an end; raises `InputError` with the names there are."""
    if name not in humanoid.ends:
        raise InputError("contact", name, "one of the robot's ends: " + ", ".join(map(repr, humanoid.ends)))
    return humanoid.ends[name]


def _minimize_torque_use(
    contacts: Sequence[PlacedPatch],
    wanted: FloatArray,
    maps: list[FloatArray],
    load: FloatArray,
    joints: list[FloatArray],
    limits: FloatArray,
) -> StanceEquilibrium:
    """Minimise u: sum maps G lam = wanted, |load - sum joints G lam| <= u limits, lam >= 0."""
    from scipy.optimize import linprog

    if not contacts:
        raise InputError("contacts", (), "at least one contact: a stance without contact cannot rest")
    G = [c.patch.generators for c in contacts]
    parts = np.cumsum([0, *(g.shape[1] for g in G)])
    n = int(parts[-1])
    E = np.hstack([A @ g for A, g in zip(maps, G, strict=True)])
    scale = float(np.abs(wanted).max())
    T = np.hstack([A @ g for A, g in zip(joints, G, strict=True)]) if joints else np.zeros((0, n))
    driven = np.isfinite(limits)
    room = np.where(driven, limits, 1.0)[:, None]
    T_driven, load_driven = (T / room)[driven], load[driven] / room[driven, 0]
    rows, top = np.vstack((-T_driven, T_driven)), np.concatenate((-load_driven, load_driven))
    price = np.concatenate((np.full(n, 1e-9), [1.0]))
    found = linprog(
        price,
        np.hstack((rows * scale, -np.ones((len(rows), 1)))) if len(rows) else None,
        top if len(rows) else None,
        np.hstack((E, np.zeros((6, 1)))),
        wanted / scale,
        bounds=[(0, None)] * (n + 1),
        method="highs",
    )
    if found.status != 0:
        return StanceEquilibrium(False, np.full((len(contacts), 6), np.nan), np.full(len(load), np.nan), np.nan, np.nan)
    lam = scale * np.asarray(found.x[:n])
    wrenches = np.array([g @ lam[a:b] for g, a, b in zip(G, parts[:-1], parts[1:], strict=True)])
    torque = load - T @ lam
    use = float(np.max(np.abs(torque[driven]) / limits[driven], initial=0.0))
    return StanceEquilibrium(True, wrenches, torque, use, float(np.abs(E @ lam - wanted).max()))
