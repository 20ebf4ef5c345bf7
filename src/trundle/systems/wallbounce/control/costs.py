"""What both levels of a ball balancer's predictive control share: weights, parameters, limits, keep-out barriers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, non_negative, positive
from trundle.contact.walls import FLAT, Surface, Wall
from trundle.errors import InputError
from trundle.numerics.ilqr.stage import Cost
from trundle.numerics.riccati import regulator
from trundle.parameters import Checked, NonNegative, parameter
from trundle.systems.wallbounce.robot import BallBalancer
from trundle.threads import cached_property

Row = tuple[ca.SX | float, ...]
"""Margin, weight mu, delta and, where its tail is bounded, fade of a barrier; see `relaxed_barrier`."""

Residual = tuple[ca.SX, ca.SX | float]
"""Residual and its weight."""

NO_WALL = Wall([0.0, 0.0, -1.0], [0.0, 0.0, 1.0])  # a plane out of reach, below


@dataclass(frozen=True)
class BalancerWeights(Checked):
    """Weights of the costs; w multiplies 1/2 e^2 of SI residuals, or a relaxed barrier.

    Those up to `angular` are of x - x_ref. `direction` is that of u_t, `slip` of f_n / f_max v_t; of a contact that the
    schedule closes, which only the hybrid level has, `contact_speed` and `contact_distance`.
    """

    position: NonNegative = parameter(40.0, "1/m^2")
    yaw: NonNegative = parameter(20.0, "1/rad^2")
    lean: NonNegative = parameter(20.0, "1/rad^2")
    joints: NonNegative = parameter(0.15, "1/rad^2")
    linear: NonNegative = parameter(0.02, "1/(N s)^2")
    angular: NonNegative = parameter(0.3, "1/(N m s)^2")
    drive: NonNegative = parameter(0.004, "1/N^2")
    yaw_torque: NonNegative = parameter(0.05, "1/(N m)^2")
    joint_rates: NonNegative = parameter(0.05, "1/(rad/s)^2")
    direction: NonNegative = parameter(1.0, "of the tangential share of soft forces")
    force: NonNegative = parameter(0.02, "1/N^2")
    slip: NonNegative = parameter(20.0, "1/(m/s)^2")
    landing: NonNegative = parameter(6.0, "1/(m/s)^2")
    limits: NonNegative = parameter(0.3, "barriers of inputs, joints and floor")
    outside: NonNegative = parameter(0.1, "barrier of the hands' distance from walls")
    torso: NonNegative = parameter(2.0, "barrier of the torso's distance from walls")
    disc: NonNegative = parameter(4.0, "barrier of the ball's distance from an obstacle")
    disc_top: NonNegative = parameter(8.0, "barrier of the torso's top from an obstacle")
    disc_hands: NonNegative = parameter(2.0, "barrier of the hands' distance from an obstacle")
    capture: NonNegative = parameter(1.0, "barrier of the drive that holds the body from falling")
    end: NonNegative = parameter(0.9, "the last stage's weights of joints and barriers over those of a stage")
    to_go: NonNegative = parameter(1.0, "of the linear regulator's cost to go from the end")
    contact_speed: NonNegative = parameter(2e3, "1/(m/s)^2, of a contact that the schedule closes")
    contact_distance: NonNegative = parameter(1e6, "1/m^2, of a contact that the schedule closes")

    @cached_property
    def numbers(self) -> FloatArray:
        """All weights in the order of the fields, read-only."""
        return array("weights", [getattr(self, name) for name in _NAMES], (None,))


@dataclass(frozen=True)
class KeepOutDisc:
    """A vertical cylinder to stay out of: all places within `radius` of a segment along the x or y axis, or of a point.

    Attributes
    ----------
    center : (2,) m
    radius : float, m
        With the robot's own width added: of what ball and torso's top keep out of.
    hands : float, m
        Of what the hands keep out of; 0: of nothing.
    half : (2,) m
        Half of the segment, one of them 0.
    """

    center: FloatArray
    radius: float
    hands: float = 0.0
    half: FloatArray = field(default_factory=lambda: np.zeros(2))

    @property
    def numbers(self) -> FloatArray:
        """(x, y, half x, half y, radius, hands)."""
        sizes = positive("radius", self.radius, "m"), non_negative("hands", self.hands, "m")
        half = array("half", self.half, (2,), unit="m")
        if np.min(half) != 0.0:
            raise InputError("half", self.half, "2 numbers >= 0, one of them 0 (m)")
        return np.array([*array("center", self.center, (2,), unit="m"), *half, *sizes])

    @property
    def core(self) -> tuple[FloatArray, FloatArray]:
        """Ends of the segment, (2,) each, m."""
        return np.asarray(self.center) - self.half, np.asarray(self.center) + self.half


@dataclass(frozen=True)
class KeepOut:
    """Two points of the body's axis that keep clear of walls and of discs; how strongly, say the weights.

    Attributes
    ----------
    ball, body : float, m
        Least distance from a wall of the ball's centre, and of the axis at `height`.
    height, top : float, m
        Above the ball's centre, along the axis: of the point kept from walls, and of the one kept out of discs.
    softness : float, m
        Distance to the limit below which the barrier is a parabola.
    range : float, m
        Distance to the limit beyond which nothing is felt. Infinite: the robot is held off its goal by all that stands
        around it, as far as (number of barriers) x weight / (weight of the position x distance).
    """

    ball: float = 0.20
    body: float = 0.18
    height: float = 1.05
    top: float = 0.95
    softness: float = 0.03
    range: float = np.inf

    def __post_init__(self) -> None:
        for name in ("ball", "body", "height", "top"):
            non_negative(name, getattr(self, name), "m")
        positive("softness", self.softness, "m")
        if not self.range > self.softness:
            raise InputError("range", self.range, f"> softness = {self.softness} (m)")

    @property
    def numbers(self) -> FloatArray:
        """All in the order of the fields, 1 / range in place of the range."""
        return np.array([self.ball, self.body, self.height, self.top, self.softness, 1.0 / self.range])


_NO_DISC = KeepOutDisc(np.array([10.0, 0.0]), 1.0)
_NAMES, _KEPT, _DISC = list(BalancerWeights.__dataclass_fields__), len(KeepOut.__dataclass_fields__), 8
BODY = [0, 1, 2, 3, 4, 11, 12, 13, 14, 15]
"""Of a state: pose and momenta, what is left without the arms."""
PUSH = 5
"""Numbers of a push: what it adds to the rates of l (2), N, and h (3), N m."""
_UPPER = np.triu_indices(len(BODY))


class Balance(NamedTuple):
    """The linear regulator of the body at rest, without walls: what plans end in and fall back on.

    Attributes
    ----------
    to_go : (10, 10)
        U, upper triangular: |U e|^2 / 2 is what the body's errors e at rest still cost.
    gain : (3, 10)
        (f_d, t_z) = -K e.
    """

    to_go: FloatArray
    gain: FloatArray


def about_rest(robot: BallBalancer) -> tuple[FloatArray, FloatArray]:
    """Return A (10, 10) and B (10, 3) of the body at rest without walls: e' = A e + B (f_d, t_z), e in `BODY`."""
    x, u = ca.SX.sym("x", 16), ca.SX.sym("u", 3)
    rate = robot.rate(x, u[:2], u[2], [ca.SX(3, 1)] * 2, ca.SX(6, 1))[BODY]
    slopes = ca.Function("slopes", [x, u], [ca.jacobian(rate, x), ca.jacobian(rate, u)])
    A, B = (np.array(slope) for slope in slopes(robot.rest(), np.zeros(3)))
    return A[:, BODY], B


def holding(robot: BallBalancer) -> tuple[FloatArray, FloatArray]:
    """Return lambda (2,), 1/s, of falling along each axis of the drive, and D (2, 10): D' = lambda D + f_d, N s.

    With a basis V of what grows, V'A = T V', and M = V'B_d for the drive, D = M^-1 V'e: D' = M^-1 T M D + f_d, the
    same for every basis. The drive can hold no more than |D| = f_d / lambda, what needs more falls. Zeros for a body
    on its centre of mass: it does not fall.

    Notes
    -----
    Of a body as heavy to both sides both rates are one double eigenvalue, whose eigenvectors are a matter of round-off
    and may be a complex pair: Schur vectors span the same plane and are real and orthogonal.
    """
    from scipy.linalg import schur

    A, B = about_rest(robot)
    least = 1e-6 * float(np.max(np.abs(np.linalg.eigvals(A))))  # places and the spin drift: zero but for round-off
    T, V, growing = schur(A.T, sort=lambda real, imaginary: real > least)
    if growing < 2:
        return np.zeros(2), np.zeros((2, len(BODY)))
    T, V = T[:2, :2].T, V[:, :2]
    M = V.T @ B[:, :2]
    axes = np.linalg.solve(M, T @ M)
    return np.array(np.diag(axes), dtype=np.float64), np.array(np.linalg.solve(M, V.T), dtype=np.float64)


def balance(robot: BallBalancer, weights: BalancerWeights, step: float) -> Balance:
    """Return the regulator with a stage's weights each `step` (s).

    Without its cost to go a plan of a second leaves the robot where it is, since to roll one way the ball must first
    roll the other way.
    """
    A, B = about_rest(robot)
    w = weights
    Q = np.repeat([w.position, w.yaw, w.lean, w.linear, w.angular], [2, 1, 2, 2, 3])
    R = np.array([w.drive, w.drive, w.yaw_torque])
    K, S = regulator(A, B, np.diag(Q / step), np.diag(R / step))
    return Balance(np.asarray(np.linalg.cholesky(S).T, dtype=np.float64), K)


class Unpacked(NamedTuple):
    """Parameter symbols: x_ref (16,), own head, weights by name, keep-out (6,), U, push (5,), discs (8,), walls."""

    reference: ca.SX
    head: ca.SX
    weights: dict[str, ca.SX]
    keep_out: ca.SX
    to_go: ca.SX
    push: ca.SX
    discs: list[ca.SX]
    walls: list[ca.SX]


def pack_parameters(
    reference: ArrayLike,
    head: FloatArray,
    weights: BalancerWeights,
    discs: Sequence[KeepOutDisc],
    keep_out: KeepOut,
    to_go: FloatArray,
    push: ArrayLike,
    walls: Sequence[Wall],
    most: tuple[int, int],
    surface: Surface = FLAT,
) -> FloatArray:
    """Return parameter rows (N + 1, n_p) in the order of `Unpacked`; `head` has a row a stage and one for the end.

    `most` is the number of discs and of walls that the problem is compiled for.
    """
    for name, given, limit in (("discs", discs, most[0]), ("walls", walls, most[1])):
        if len(given) > limit:
            raise InputError(name, len(given), f"at most {limit}, the number compiled for")
    planes = [surface.numbers(wall) for wall in [*walls, *[NO_WALL] * (most[1] - len(walls))]]
    felt = [[*disc.numbers, 1.0, float(disc.hands > 0.0)] for disc in discs]
    felt += [[*_NO_DISC.numbers, 0.0, 0.0]] * (most[0] - len(discs))
    same = np.concatenate([weights.numbers, keep_out.numbers, to_go[_UPPER]])
    wanted, rows = np.asarray(reference, dtype=np.float64), len(head)
    if wanted.shape not in ((16,), (rows, 16)):
        raise InputError("reference", wanted.shape, f"a state of 16 or {rows} of them")
    own = [np.broadcast_to(value, (rows, len(value))) for value in (same, np.concatenate([*felt, *planes]))]
    own.insert(1, np.broadcast_to(np.asarray(push, dtype=np.float64), (rows, PUSH)))
    return np.hstack([np.broadcast_to(wanted, (rows, 16)), head, *own])


def unpack_parameters(p: ca.SX, head: int, discs: int, walls: int, surface: Surface = FLAT) -> Unpacked:
    """Return the parts of the parameter symbols of `pack_parameters`."""
    sizes = [16, head, len(_NAMES), _KEPT, len(_UPPER[0]), PUSH, *([_DISC] * discs), *([surface.size] * walls)]
    reference, own, weights, keep_out, entries, push, *around = ca.vertsplit(p, [0, *np.cumsum(sizes).tolist()])
    to_go = ca.SX(len(BODY), len(BODY))
    for i, j, entry in zip(*_UPPER, ca.vertsplit(entries), strict=True):
        to_go[int(i), int(j)] = entry
    named = dict(zip(_NAMES, ca.vertsplit(weights), strict=True))
    return Unpacked(reference, own, named, keep_out, to_go, push, around[:discs], around[discs:])


def without(p: FloatArray, head: int, names: Sequence[str]) -> FloatArray:
    """Return the parameter rows of `pack_parameters` with the weights of these names at zero."""
    rows = np.array(p, dtype=np.float64)
    rows[:, [16 + head + _NAMES.index(name) for name in names]] = 0.0
    return rows


def parameter_count(head: int, discs: int, walls: int, surface: Surface = FLAT) -> int:
    """Return n_p."""
    return 16 + head + len(_NAMES) + _KEPT + len(_UPPER[0]) + PUSH + _DISC * discs + surface.size * walls


def motion_limits(
    robot: BallBalancer, x: ca.SX, u: ca.SX, forces: list[ca.SX], m: ca.SX, least_normal: float
) -> list[Row]:
    """Return the barriers of drive, yaw torque, joints (u = (f_d, t_z, qdot, ...)) and of the floor's force."""
    rows: list[Row] = []
    for value, low, high, share, fade in (
        (u[:2], -robot.drive_limit, robot.drive_limit, 1.0, 0.0),
        (u[2], -robot.yaw_limit, robot.yaw_limit, 1.0, 0.0),
        (u[3:9], -robot.joint_rate_limit, robot.joint_rate_limit, 1.0, 0.0),
        (x[5:11], np.tile(robot.joint_lower, 2), np.tile(robot.joint_upper, 2), 0.2, 8.0),  # felt near a limit alone
    ):
        least, most = ca.DM(low), ca.DM(high)
        half = 0.5 * (most - least)
        rows += [(v, share * m, 0.02, fade) for v in ((value - least) / half, (most - value) / half)]
    load, weight = robot.floor(x, u[:2], u[2], forces, u[3:9]), (robot.mass + robot.ball_mass) * robot.gravity
    cone = robot.floor_friction * load.normal - ca.sqrt(ca.sumsqr(load.tangential) + 1.0)
    return [*rows, ((load.normal - least_normal) / weight, m, 0.02), (cone / weight, m, 0.02)]


def kept_out(robot: BallBalancer, x: ca.SX, given: Unpacked, surface: Surface = FLAT) -> list[Row]:
    """Return the barriers of the two points' distances to walls and to discs, and of the hands' to discs."""
    rows: list[Row] = []
    w = given.weights
    ball, body, height, top, softness, fade = ca.vertsplit(given.keep_out)
    lean = robot.state(x).R_world_body[:, 2]
    center = ca.vertcat(x[:2], robot.ball_radius)
    for plane in given.walls:
        for up, margin in ((0.0, ball), (height, body)):
            rows.append((surface.distance(center + up * lean, plane) - margin, w["torso"], softness, fade))
    for disc in given.discs:
        radius, hands, on, hands_on = ca.vertsplit(disc[4:])
        kept = [(up * lean[:2], radius, on * weight) for up, weight in ((0.0, w["disc"]), (top, w["disc_top"]))]
        kept += [(at[:2], hands, hands_on * w["disc_hands"]) for at, _ in robot.hands(x)]
        for at, far, weight in kept:
            beside = ca.fmax(ca.fabs(x[:2] + at - disc[:2]) - disc[2:4], 0.0)
            rows.append((ca.sqrt(ca.sumsqr(beside) + 1e-6) - far, weight, softness, fade))
    return rows


def kept_up(robot: BallBalancer, x: ca.SX, given: Unpacked) -> list[Row]:
    """Return the barriers of the drive that just holds the body from falling, over its limit; see `holding`."""
    rates, grown = holding(robot)
    held = ca.DM(rates[:, None] * grown) @ (x - given.reference)[BODY] / robot.drive_limit
    return [(side, given.weights["capture"], 0.1, 2.0) for side in (1 - held, 1 + held)]


def end_cost(x: ca.SX, given: Unpacked, kept: list[Row]) -> tuple[list[Residual], list[Row]]:
    """Return the residuals of x - x_ref and the barriers at the end of a plan."""
    e, w = x - given.reference, given.weights
    residuals: list[Residual] = [(given.to_go @ e[BODY], w["to_go"]), (e[5:11], w["end"] * w["joints"])]
    return residuals, [(h, w["end"] * m, *shape) for h, m, *shape in kept]


def stage_cost(x: ca.SX, reference: ca.SX, w: dict[str, ca.SX]) -> list[Residual]:
    """Return the residuals of x - x_ref along a plan."""
    e = x - reference
    parts = (
        ("position", 0, 2),
        ("yaw", 2, 3),
        ("lean", 3, 5),
        ("joints", 5, 11),
        ("linear", 11, 13),
        ("angular", 13, 16),
    )
    return [(e[a:b], w[name]) for name, a, b in parts]


def stacked_cost(residuals: list[Residual], barriers: list[Row]) -> Cost:
    """Return one cost of (residual, weight) and (margin, mu, delta, fade) groups; without fade it is 0."""
    e = ca.vertcat(*(ca.vertcat(r) for r, _ in residuals))
    weights = ca.vertcat(*(ca.repmat(ca.SX(weight), ca.vertcat(r).numel(), 1) for r, weight in residuals))
    h = ca.vertcat(*(ca.vertcat(r) for r, *_ in barriers))
    shapes = [[*row[1:], 0.0][:3] for row in barriers]
    sizes = [ca.vertcat(r).numel() for r, *_ in barriers]

    def of_rows(i: int) -> ca.SX:
        """Repeat number i of each group for all of its margins."""
        return ca.vertcat(*(ca.repmat(ca.SX(s[i]), size, 1) for s, size in zip(shapes, sizes, strict=True)))

    return Cost(e, weights, h, of_rows(0), of_rows(1), of_rows(2))
