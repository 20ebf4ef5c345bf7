"""The built-in guess of a robot's steps: a stance by inverse kinematics, and poses whose feet go by way-points."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import casadi as ca
import numpy as np
from scipy.spatial.transform import Rotation

from trundle.checks import FloatArray
from trundle.contact.patch import FlatPatch
from trundle.errors import InputError, load_pinocchio
from trundle.geometry.shapes.surfaces import Point, Sphere
from trundle.models.robots.inverse_kinematics import PinModel, solve_inverse_kinematics
from trundle.models.tree.joints import Prismatic
from trundle.models.urdf.tree import FramePlace
from trundle.optimal.transcription.transcription import NodeTrajectory
from trundle.systems.walking.gait.ground import SmoothGround
from trundle.systems.walking.gait.robot_steps import BENT, RobotSteps, sole_of
from trundle.systems.walking.gait.soles import RollingSole
from trundle.systems.walking.plan.walking import meshes
from trundle.systems.walking.robots.legged import LeggedRobot, axis_of
from trundle.threads import cached_property

_FOOT, _TILT, _BASE, _JOINT = 1e2, 30.0, 10.0, 0.1
"""Weights of feet and base (over the length of the legs), of tilts and of joints (rad)."""
_SEAT, _ITERATIONS, _DAMPED = "seat", 100, 0.1
_BEND = 0.3  # rad of a knee in the guess: away from straight legs
_MISSED = 0.02  # of the unit of length: a guess whose feet are further off is none
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
    """Poses of a robot by where its feet are, by Pink (final).

    Parameters
    ----------
    robot : LeggedRobot
    ground : SmoothGround, optional
        The plane z = 0 unless given.

    Raises
    ------
    MissingExtraError
        If Pink or Pinocchio is not installed.
    """

    def __init__(self, robot: LeggedRobot, ground: SmoothGround | None = None) -> None:
        self.robot, self.ground = robot, ground
        self._pin, self._tasks = load_pinocchio("pinocchio"), load_pinocchio("pink.tasks")
        self._model = self._make_model()
        self._data = self._model.createData()

    def _make_model(self) -> PinModel:
        """Return the model of Pinocchio whose configuration is q, with a frame at every foot and at the base."""
        pin, tree = self._pin, self.robot.tree
        model, far = pin.Model(), np.full(6, np.inf)
        root = pin.JointModelComposite(pin.JointModelTranslation())
        root.addJoint(pin.JointModelSphericalZYX())
        model.addJoint(0, root, pin.SE3.Identity(), "root_joint", far, far, -far, far)
        for i, body in enumerate(tree.bodies):
            if i > 0:
                slides, limit = isinstance(body.motion, Prismatic), tree.limits[body.joint]
                kind = pin.JointModelPrismaticUnaligned if slides else pin.JointModelRevoluteUnaligned
                place = pin.SE3(body.place.R, body.place.p)
                bounds = (np.array([x]) for x in (np.inf, np.inf, limit.lower, max(limit.upper, limit.lower + 1e-6)))
                model.addJoint(body.parent + 1, kind(body.place.R.T @ axis_of(body)), place, body.joint, *bounds)
            if body.inertia is not None:
                inertia = pin.Inertia(body.inertia.mass, body.inertia.com, np.eye(3))  # the masses count alone
                model.appendBodyToJoint(i + 1, inertia, pin.SE3.Identity())
        places = {_SEAT: (0, FramePlace(np.eye(3), np.zeros(3)))}
        places |= {name: self.robot.place(name) for name in self.robot.feet}
        for name, (number, place) in places.items():
            model.addFrame(pin.Frame(name, number + 1, pin.SE3(place.R, place.p), pin.FrameType.OP_FRAME))
        return model

    def points(self, q: FloatArray) -> FloatArray:
        """Return the lowest points of the feet, (feet, 3) m, and below them the centre of mass."""
        pin = self._pin
        pin.forwardKinematics(self._model, self._data, q)
        places = [
            pin.updateFramePlacement(self._model, self._data, self._model.getFrameId(name)) for name in self.robot.feet
        ]
        up = self.below(np.array([at.translation for at in places]))[1]
        down = [self._lowest(name, at.rotation, n) for name, at, n in zip(self.robot.feet, places, up, strict=True)]
        points = [at.translation + lowest for at, lowest in zip(places, down, strict=True)]
        return np.array([*points, pin.centerOfMass(self._model, self._data, q)])

    def below(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the ground below or above points (n, 3) m: points (n, 3) m, and normals (n, 3)."""
        if self.ground is None:
            return points * [1.0, 1.0, 0.0], np.broadcast_to([0.0, 0.0, 1.0], points.shape)
        return self.ground.below(points[:, :2])

    def _lowest(self, name: str, R: FloatArray, up: FloatArray) -> FloatArray:
        """Return the point (3,) m, lowest as seen along `up`, of a foot whose axes are R, from its origin, world."""
        shape = self.robot.feet[name].shape
        if isinstance(shape, FlatPatch):
            return R @ np.append(shape.vertices.mean(axis=0), 0.0)
        return R @ self._under[name](-R.T @ up).full().ravel()

    @cached_property
    def _under(self) -> dict[str, ca.Function]:
        """The point (3,) of each round foot that is farthest along a direction (3,), in its axes."""
        n, found = ca.SX.sym("n", 3), {}
        for name, foot in self.robot.feet.items():
            sole = sole_of(name, foot.shape)
            if isinstance(sole, RollingSole):
                found[name] = ca.Function("under", [n], [sole.shape.point_and_radii(n)[0]])
        return found

    def near(self, q: FloatArray, points: FloatArray, base: FloatArray, weights: FloatArray, unit: float) -> FloatArray:
        """Return the pose (n,) whose feet are at `points` (feet, 3), along the ground, near the pose q.

        `base` are wanted positions (6,) of the base and `weights` (6,) theirs; of NaN the centre of mass, along x, is
        over the middle of the points.
        """
        tasks, pin, feet, up = self._tasks, self._pin, [], self.below(points)[1]
        for name, foot in self.robot.feet.items():
            turns = not isinstance(foot.shape, Sphere | Point)
            feet.append(tasks.FrameTask(name, _FOOT / unit, _TILT if turns else 0.0, _DAMPED))

        def follow(at: FloatArray) -> None:
            """Move the targets to where the lowest points of the feet, as they are turned, are at the points."""
            pin.forwardKinematics(self._model, self._data, at)
            for task, name, point, n in zip(feet, self.robot.feet, points, up, strict=True):
                R = pin.updateFramePlacement(self._model, self._data, self._model.getFrameId(name)).rotation
                level = _upright(n) if task.cost[-1] else R
                task.set_target(pin.SE3(level, point - self._lowest(name, R, n)))

        over = bool(np.isnan(base[0]))
        keep, wanted = _BASE * np.where(np.isnan(base), 0.0, weights), np.where(np.isnan(base), 0.0, base)
        seat = tasks.FrameTask(_SEAT, list(keep[:3] / unit), list(keep[:2:-1]), _DAMPED)
        seat.set_target(pin.SE3(Rotation.from_euler("ZYX", wanted[3:]).as_matrix(), wanted[:3]))
        middle = tasks.ComTask([_BASE / unit if over else 0.0, 0.0, 0.0])
        middle.set_target(points.mean(axis=0))
        inside = np.clip(q, self._model.lowerPositionLimit, self._model.upperPositionLimit)
        return solve_inverse_kinematics(self._model, inside, [*feet, seat, middle], q, [_JOINT], _ITERATIONS, follow)


def _upright(n: FloatArray) -> FloatArray:
    """Return axes (3, 3) with z along `n` and x ahead."""
    across = np.cross(n, [1.0, 0.0, 0.0])
    across = across / np.linalg.norm(across)
    return np.column_stack([np.cross(across, n), across, n])


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
    level[2] = tall[2] - (1 - BENT) * length
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
    gait, once = steps.gait, steps.ground is not None
    spans = [
        (low + share * (high - low)) for (low, high), share in zip(steps.durations, (_SINGLE, _DOUBLE), strict=True)
    ]
    lengths = np.array([spans[support.swing is None] for support in steps.supports])
    if once:
        lengths *= steps.total[0] / lengths.sum()
    ends = np.concatenate([[0.0], np.cumsum(lengths)])
    period = 0.0 if once else ends[-1] * (2.0 if gait.periodicity == "mirrored" else 1.0)
    swings: dict[str, list[tuple[float, float]]] = {foot: [] for foot in steps.soles}
    for k, support in enumerate(steps.supports):
        for foot in support.list_lifted(steps.soles):
            swings[foot].append((ends[k], ends[k + 1]))
            if gait.periodicity == "mirrored":
                swings[steps.robot.partners[foot]].append((ends[k] + ends[-1], ends[k + 1] + ends[-1]))
    places, base = poses.points(standing.q), standing.q[:6].copy()
    last = ends[-1] if once else np.inf
    arcs, q = [], standing.q
    for k, mesh in enumerate(meshes(steps)):
        times = ends[k] + mesh * lengths[k]
        rows = []
        for t in times:
            feet = [_foot(steps, swings[f], period, last, p, t) for f, p in zip(steps.soles, places, strict=False)]
            under = poses.below(np.array(feet))[0]
            base[0] = standing.q[0] + steps.mean * t
            base[2] = standing.q[2] + under[:, 2].mean()
            lifted = under + np.array(feet) * [0.0, 0.0, 1.0]
            q = poses.near(np.concatenate([base[:1], q[1:]]), lifted, base, np.ones(6), standing.length)
            rows.append(q)
        arcs.append((times, np.array(rows)))
    return _arcs(steps, arcs)


def _foot(
    steps: RobotSteps,
    swings: list[tuple[float, float]],
    period: float,
    last: float,
    place: FloatArray,
    time: float,
) -> FloatArray:
    """Return where a foot is: x, y, and how high above the ground (m).

    It stands at `place` seen from the base in the middle of its stance; from the start and to the end of a way, as it
    does at the start and at the end.
    """
    turns = range(-2, 3) if period else (0,)
    every = sorted((begin + k * period, end + k * period) for begin, end in swings for k in turns)
    middles = [(before[1] + after[0]) / 2 for before, after in pairwise(every)]
    middles = [0.0, *middles, last] if np.isfinite(last) else [every[0][0], *middles, every[-1][1]]
    number = sum(time >= end for _, end in every)
    x = steps.mean * middles[number]
    lift = 0.0
    if number < len(every) and time > every[number][0]:
        begin, end = every[number]
        share = (time - begin) / (end - begin)
        x += steps.mean * (middles[number + 1] - middles[number]) * (1.0 - np.cos(np.pi * share)) / 2
        lift = 1.2 * steps.gait.clearance * np.sin(np.pi * share) ** 2
    return np.array([place[0] + x, place[1], lift])


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
