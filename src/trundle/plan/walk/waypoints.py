"""The built-in guess of a robot's steps: a stance by inverse kinematics, and poses whose feet go by way-points."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from scipy.optimize import least_squares

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.geometry.shapes.surfaces import Point, Sphere
from trundle.models.robots.legged import LeggedRobot
from trundle.models.urdf.robot import robot_from_urdf
from trundle.plan.transcription.transcription import NodeTrajectory
from trundle.plan.walk.walking import meshes
from trundle.problems.robot_steps import RobotSteps, sole_of
from trundle.threads import cached_property

_FOOT, _TILT, _BASE, _JOINT = 1e2, 30.0, 10.0, 0.1
"""Weights of feet and base (over the length of the legs), of tilts and of joints (rad)."""
_BENT = 0.93
"""Height of the hips over the length of the legs."""
_BEND = 0.3
_MISSED = 0.02
_SINGLE, _DOUBLE = 0.8, 0.1
"""Where between its bounds the guess has a duration."""


@dataclass(frozen=True)
class Stand:
    """A robot that stands.

    Attributes
    ----------
    q : (n,)
        Base (x, y, z, yaw, pitch, roll), joints.
    length : float, m
        Of the legs, from the hips to the ground, nearly straight.
    """

    q: FloatArray
    length: float


class FootPoses:
    """Poses of a robot by where its feet are: bounded least squares (final).

    Parameters
    ----------
    robot : LeggedRobot
    """

    def __init__(self, robot: LeggedRobot) -> None:
        self.robot = robot
        model = robot_from_urdf(robot.tree, base="joints").model()
        self.n = model.nu.shape[0]
        q, points, tilts = model.x[: self.n], [], []
        for name, foot in robot.feet.items():
            motion = robot.motion(model, name)
            points.append(sole_of(name, foot.shape).probe(motion).p)
            if not isinstance(foot.shape, Sphere | Point):
                tilts += [motion.R[0, 2], motion.R[1, 2], motion.R[1, 0]]
        com = ca.SX(3, 1)
        for body in model.bodies:
            com += body.mass * body.motion.at(ca.SX(ca.DM(body.com))).p / robot.mass
        out = ca.vertcat(*points, com, *tilts)
        self._of = ca.Function("poses", [q], [out, ca.jacobian(out, q)], {"cse": True})

    @cached_property
    def _limits(self) -> tuple[FloatArray, FloatArray]:
        limits = [self.robot.tree.limits[name] for name in self.robot.tree.joints]
        low = np.array([-np.inf] * 6 + [limit.lower for limit in limits])
        high = np.array([np.inf] * 6 + [limit.upper for limit in limits])
        return low, np.maximum(high, low + 1e-6)

    def points(self, q: FloatArray) -> FloatArray:
        """Return the lowest points of the feet, (feet, 3) m, and below them the centre of mass."""
        count = len(self.robot.feet)
        return np.asarray(self._of(q)[0]).ravel()[: 3 * count + 3].reshape(-1, 3)

    def near(self, q: FloatArray, points: FloatArray, base: FloatArray, weights: FloatArray, unit: float) -> FloatArray:
        """Return the pose (n,) whose feet are at `points` (feet, 3), level, near the pose q.

        `base` are wanted positions (6,) of the base and `weights` (6,) theirs; of NaN the centre of mass, along x, is
        over the middle of the points.
        """
        count, low, high = points.size, *self._limits
        over = bool(np.isnan(base[0]))
        wanted = np.where(np.isnan(base), 0.0, base)
        scale = np.concatenate([[1.0 / unit] * 3, [1.0] * 3]) * _BASE * np.where(np.isnan(base), 0.0, weights)
        joints = _JOINT * np.eye(self.n)[6:]
        seat = np.diag(scale) @ np.eye(6, self.n)

        def off(at: FloatArray) -> FloatArray:
            out = np.asarray(self._of(at)[0]).ravel()
            middle = (out[count] - points[:, 0].mean()) * _BASE / unit if over else 0.0
            feet = (out[:count] - points.ravel()) * _FOOT / unit
            return np.concatenate(
                [feet, _TILT * out[count + 3 :], [middle], scale * (at[:6] - wanted), _JOINT * (at - q)[6:]]
            )

        def slope(at: FloatArray) -> FloatArray:
            J = np.asarray(self._of(at)[1])
            middle = J[count] * (_BASE / unit if over else 0.0)
            return np.vstack([J[:count] * _FOOT / unit, _TILT * J[count + 3 :], middle[None], seat, joints])

        inside = np.clip(q, low + 1e-6, np.maximum(high - 1e-6, low + 1e-6))
        return least_squares(off, inside, slope, bounds=(low, high), xtol=1e-8, ftol=1e-8, max_nfev=200).x


def stand(robot: LeggedRobot, poses: FootPoses) -> Stand:
    """Return the robot on all feet: each below its hip, as far apart as with joints at zero; knees bent.

    Raises
    ------
    InputError
        If the feet do not all reach the ground.
    """
    footing = robot.footing
    targets = np.array([[robot.hips[name][0], footing[name].p[1], 0.0] for name in robot.feet])
    q = np.concatenate([np.zeros(6), robot.angles])
    first = poses.points(q)[:-1]
    unit = float(np.max(np.linalg.norm(first - np.array(list(robot.hips.values())), axis=1)))
    start = q + np.where(robot.given, 0.0, _bend(robot))
    start[2] = -float(first[:, 2].min())
    level = np.array([np.nan, 0.0, start[2] + unit, 0.0, 0.0, 0.0])
    tall = poses.near(start, targets, level, np.array([0.0, 1.0, 0.05, 1.0, 1.0, 1.0]), unit)
    hips = np.array(list(robot.hips.values()))
    length = float(np.mean(hips[:, 2])) + float(tall[2])
    level[2] = tall[2] - (1 - _BENT) * length
    found = poses.near(start, targets, level, np.ones(6), unit)
    missed = np.abs(poses.points(found)[:-1] - targets).max(axis=1)
    if np.max(missed) > _MISSED * unit:
        worst = list(robot.feet)[int(np.argmax(missed))]
        allowed = "feet that stand on the ground below the hips within the joints' ranges: give a posture"
        raise InputError(f"feet.{worst}", f"{np.max(missed):.3g} m off", allowed)
    return Stand(found, length)


def _bend(robot: LeggedRobot) -> FloatArray:
    """Return a small motion (n,) towards the middles of the joints' ranges, without them all one way; mirrored."""
    limits = [robot.tree.limits[name] for name in robot.tree.joints]
    middles = np.array([0.0] * 6 + [limit.lower + limit.upper for limit in limits]) / 2
    bend = np.where(np.isfinite(middles) & (np.abs(middles) > _BEND), np.sign(middles), 1.0)
    bend[:6] = 0.0
    return _BEND * (bend + robot.mirror @ bend) / 2


def waypoints(steps: RobotSteps, poses: FootPoses, standing: Stand) -> list[NodeTrajectory]:
    """Return poses at the nodes: the base glides, feet stand where the base passes in the middle, and swing between."""
    gait = steps.gait
    spans = [
        (low + share * (high - low)) for (low, high), share in zip(steps.durations, (_SINGLE, _DOUBLE), strict=True)
    ]
    lengths = [spans[support.swing is None] for support in steps.supports]
    ends = np.concatenate([[0.0], np.cumsum(lengths)])
    cycle = ends[-1] * (2.0 if gait.periodicity == "mirrored" else 1.0)
    swings = {}
    for k, support in enumerate(steps.supports):
        for foot in support.lifted(steps.soles):
            swings[foot] = ends[k], ends[k + 1]
            if gait.periodicity == "mirrored":
                swings[steps.robot.partners[foot]] = ends[k] + ends[-1], ends[k + 1] + ends[-1]
    places, base = poses.points(standing.q), standing.q[:6].copy()
    arcs, q = [], standing.q
    for k, mesh in enumerate(meshes(steps)):
        times = ends[k] + mesh * lengths[k]
        rows = []
        for t in times:
            feet = [_foot(steps, swings[foot], cycle, p, t) for foot, p in zip(steps.soles, places, strict=False)]
            base[0] = standing.q[0] + steps.speed * t
            q = poses.near(np.concatenate([base[:1], q[1:]]), np.array(feet), base, np.ones(6), standing.length)
            rows.append(q)
        arcs.append((times, np.array(rows)))
    return _arcs(steps, arcs)


def _foot(steps: RobotSteps, swing: tuple[float, float], cycle: float, place: FloatArray, time: float) -> FloatArray:
    """Return where a foot (3,) is: it stands at `place` seen from the base in the middle of its stance."""
    begin, end = swing
    middle = (end + begin + cycle) / 2
    turns = np.floor((time - begin) / cycle)
    share = (time - begin - turns * cycle) / (end - begin)
    landed = place[0] + steps.speed * (middle + turns * cycle)
    moved = 0.0 if share >= 1.0 else steps.speed * cycle * (1.0 + np.cos(np.pi * share)) / 2
    lift = 0.0 if share >= 1.0 else 1.2 * steps.gait.clearance * np.sin(np.pi * share) ** 2
    return np.array([landed - moved, place[1], lift])


def _arcs(steps: RobotSteps, poses: list[tuple[FloatArray, FloatArray]]) -> list[NodeTrajectory]:
    """Return the arcs of poses (N + 1, n) at times: rates by differences, the weight on the feet that stand."""
    arcs, places = [], steps.places()
    for support, (times, x) in zip(steps.supports, poses, strict=True):
        nu = np.gradient(x, times, axis=0)
        q = x.copy()
        q[:, 0] -= steps.speed * times
        u = np.zeros((len(times) - 1, steps.problem.phases[0].nu))
        for foot, mode in support.stances.items():
            where, points = places[f"force-{foot}-{mode}"], len(steps.stances[foot, mode].points)
            u[:, where.start + 2 : where.stop : 3] = 1.0 / len(support.stances) / points
        arcs.append(NodeTrajectory(times - times[0], steps.states(q, nu), u))
    return arcs
