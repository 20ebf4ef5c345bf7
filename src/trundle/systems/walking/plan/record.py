"""The trajectory of a planned walk, and the plan back from its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.records import ROBOT, SceneBody, Trajectory, make_dataset
from trundle.status import Status
from trundle.systems.walking.gait.soles import FlatSole
from trundle.systems.walking.gait.walking import Walking
from trundle.systems.walking.plan.plan import WalkPlan, repeat
from trundle.systems.walking.plan.walking import AnySteps
from trundle.systems.walking.robots.avatar import Avatar, AvatarFoot
from trundle.systems.walking.robots.body_shapes import avatar_scene

_FRICTION_SLACK = 1e-6  # of the largest force: residual of the solver
_LOCKED = 1e-6
"""Cosine of the pitch below which yaw and roll cannot be told apart."""


def record_walk(walking: Walking, plan: WalkPlan, steps: int) -> Trajectory:
    """Return the trajectory of `steps` periods of a plan at its nodes; forces and torques are those that follow.

    Contacts are the feet, ``left`` and ``right``, and their toes; torques are those of motors and springs.
    """
    if "stretch" in plan.statistics:
        walking = Walking(walking.avatar.stretch_sole(plan.stretch), replace(walking.gait, stretch=None))
    scene = avatar_scene(walking.avatar, flat=isinstance(walking.sole, FlatSole))
    links = {link.name: link.inertia for link in walking.avatar.robot.links}
    coms = {body.name: inertia.com for body in scene if (inertia := links[body.name]) is not None}
    return record_steps(walking, plan, steps, coms, walking.avatar.robot.base, scene, _metadata(walking, plan, steps))


def record_steps(
    walking: AnySteps,
    plan: WalkPlan,
    steps: int,
    coms: Mapping[str, ArrayLike],
    base: str,
    scene: Sequence[SceneBody],
    metadata: dict[str, Any],
) -> Trajectory:
    """Return the trajectory of `steps` periods of a plan; `coms` are centres of mass (3,), m, of the bodies in it."""
    whole = repeat(plan, steps)
    held = np.minimum(np.arange(len(whole.times)), len(whole.torque) - 1)
    turn = Rotation.from_euler("ZYX", whole.q[:, 3:6])
    found = [np.array(value).T for value in _kinematics(walking, coms, base).map(len(whole.q))(whole.q.T, whole.nu.T)]
    com, com_velocity, base_velocity, base_omega, feet, energy, places, turns, rates, spins = found
    feet = feet.reshape(len(feet), len(walking.soles), 11)
    force = whole.force[held]
    point, moment = feet[:, :, :3].copy(), np.zeros_like(force)
    if any(isinstance(sole, FlatSole) for sole in walking.soles.values()):
        point, moment = _center_of_pressure(point, whole, held)
    arrays = {
        "com_position": com,
        "com_velocity": com_velocity,
        "joint_position": whole.q[:, 6:],
        "joint_velocity": whole.nu[:, 6:],
        "joint_torque": (whole.torque + whole.springs)[held],
        "base_position": whole.q[:, :3],
        "base_quaternion": turn.as_quat(scalar_first=True),
        "base_velocity": base_velocity,
        "base_angular_velocity": base_omega,
        "contact_position": point,
        "contact_force": force,
        "contact_moment": moment[..., 2],
        "contact_normal": feet[:, :, 8:],
        "gap": feet[:, :, 6],
        "slip": feet[:, :, 3:6],
        "phase": np.array(whole.phases)[whole.phase[held].astype(int)],
        "energy": energy.ravel(),
        "body_position": places.reshape(len(places), -1, 3),
        "body_quaternion": _quaternions(turns.reshape(len(turns), -1, 3, 3)),
        "body_velocity": rates.reshape(len(rates), -1, 3),
        "body_angular_velocity": spins.reshape(len(spins), -1, 3),
    }
    dataset = make_dataset(
        ROBOT, whole.times, arrays, bodies=list(coms), contacts=list(walking.soles), joints=walking.joints
    )
    return Trajectory(
        dataset, plan.status, feasible(whole, (feet[1:, :, 8:] + feet[:-1, :, 8:]) / 2), metadata, tuple(scene)
    )


def feasible(plan: WalkPlan, normals: FloatArray | None = None) -> bool:
    """Return whether no foot pulls and the friction cone holds at every interval; normals (N, C, 3), e_z unless given.

    Those are of the middles, as means of the nodes'.
    """
    mu, stands = float(plan.settings["gait"]["friction"]), plan.standing.astype(bool)
    f, n = plan.force[stands], np.array([0.0, 0.0, 1.0]) if normals is None else normals[stands]
    slack, load = _FRICTION_SLACK * float(np.max(np.abs(f))), np.sum(f * n, axis=-1)
    within = np.linalg.norm(f - load[:, None] * n, axis=1) <= mu * load + slack
    return bool(plan.status is Status.SUCCESS and np.all(load >= -slack) and np.all(within))


def walk_of(run: Trajectory) -> WalkPlan:
    """Return the plan (its first period) from the record of a walk, e.g. to start a neighbour from it.

    Raises
    ------
    InputError
        If the run is no planned walk.
    """
    walk = run.metadata.get("walk")
    if walk is None or "gait" not in walk:
        raise InputError("run", run.kind, "the record of a planned walk")
    count = (len(run) - 1) // int(walk["steps"])
    times = run.time[: count + 1]
    rotation = Rotation.from_quat(run["base_quaternion"][: count + 1], scalar_first=True)
    angles = np.unwrap(rotation.as_euler("ZYX"), axis=0)
    rates = _angle_rates(angles, run["base_angular_velocity"][: count + 1])
    q = np.hstack([run["base_position"][: count + 1], angles, run["joint_position"][: count + 1]])
    nu = np.hstack([run["base_velocity"][: count + 1], rates, run["joint_velocity"][: count + 1]])
    names = list(dict.fromkeys(str(name) for name in run["phase"][:count]))
    phase = np.array([names.index(str(name)) for name in run["phase"][:count]])
    contacts = [str(name) for name in run["contact"]]
    standing = np.array([[contact in walk["standing"][names[int(k)]] for contact in contacts] for k in phase])
    mirror = walk["mirror"]
    h = np.diff(times)[:, None]
    plan = WalkPlan(
        times=times,
        q=q,
        nu=nu,
        acceleration=np.diff(nu, axis=0) / np.where(h > 0, h, np.inf),
        torque=run["joint_torque"][:count],
        force=run["contact_force"][:count],
        moment=run["contact_moment"][:count, :, None] * [0.0, 0.0, 1.0],
        point=run["contact_position"][:count],
        standing=standing,
        phase=phase,
        phases=tuple(names),
        joints=tuple(str(name) for name in run["joint"]),
        mirror=None if mirror is None else np.array(mirror),
        gravity=np.array(run.metadata["physics"]["gravity"]),
        status=run.status,
        statistics=walk["statistics"],
        settings={key: walk[key] for key in ("gait", "sex", "mass", "height", "springs") if key in walk},
    )
    return replace(plan, torque=plan.torque - plan.springs)


def _angle_rates(angles: FloatArray, omega: FloatArray) -> FloatArray:
    """Return rates of (yaw, pitch, roll) from the world angular velocity: w = e_z yaw' + e_y' pitch' + e_x'' roll'."""
    yaw, pitch = angles[:, 0], angles[:, 1]
    axes = np.zeros((len(angles), 3, 3))
    axes[:, 2, 0] = 1.0
    axes[:, 0, 1], axes[:, 1, 1] = -np.sin(yaw), np.cos(yaw)
    axes[:, 0, 2], axes[:, 1, 2] = np.cos(pitch) * np.cos(yaw), np.cos(pitch) * np.sin(yaw)
    axes[:, 2, 2] = -np.sin(pitch)
    if np.any(np.abs(np.cos(pitch)) < _LOCKED):
        raise InputError("base_quaternion", "a pelvis that looks straight up or down", "less than 90 degrees of pitch")
    return np.asarray(np.linalg.solve(axes, omega[:, :, None])[:, :, 0], dtype=np.float64)


def _kinematics(walking: AnySteps, coms: Mapping[str, ArrayLike], base: str) -> ca.Function:
    """Return (q, nu) -> com, its velocity, base velocities, feet (C x 11), energy, bodies' coms and rotations."""
    model = walking.model
    com, velocity = ca.SX(3, 1), ca.SX(3, 1)
    for body in model.bodies:
        at = body.motion.at(ca.SX(ca.DM(body.com)))
        com, velocity = com + body.mass * at.p, velocity + body.mass * at.v
    total = sum(body.mass for body in model.bodies)
    feet = []
    for contact, sole in walking.soles.items():
        motion = walking.motion(contact)
        probe = sole.probe(motion)
        feet += [probe.p, probe.v, ca.mmin(sole.clearance(motion)), motion.p[0], sole.normal(motion)]
    middles = [model.motions[name].at(ca.SX(ca.DM(np.asarray(com)))) for name, com in coms.items()]
    turns = [ca.vec(model.motions[name].R.T) for name in coms]
    return ca.Function(
        "kinematics",
        [walking.q, walking.nu],
        [
            com / total,
            velocity / total,
            model.motions[base].v,
            model.motions[base].w,
            ca.vertcat(*feet),
            model.energy(),
            ca.vertcat(*(middle.p for middle in middles)),
            ca.vertcat(*turns),
            ca.vertcat(*(middle.v for middle in middles)),
            ca.vertcat(*(middle.w for middle in middles)),
        ],
    )


def _center_of_pressure(point: FloatArray, whole: WalkPlan, held: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
    """Return where the force acts on the ground, and the moment about the vertical that is left there."""
    force, moment, at = whole.force[held], whole.moment[held], whole.point[held]
    stands = whole.standing[held].astype(bool) & (force[..., 2] > 1e-6)
    f_z = np.where(stands, force[..., 2], 1.0)
    reach = np.stack([-moment[..., 1] / f_z, moment[..., 0] / f_z, np.zeros_like(f_z)], axis=-1)
    placed = np.where(stands[..., None], at + reach, point)
    left = moment - np.cross(placed - at, force)
    return placed, np.where(stands[..., None], left, 0.0)


def _quaternions(R: FloatArray) -> FloatArray:
    flat = Rotation.from_matrix(R.reshape(-1, 3, 3)).as_quat(scalar_first=True).reshape(*R.shape[:2], 4)
    # No jumps of sign, which pictures would interpolate over.
    turned = np.sum(flat[1:] * flat[:-1], axis=2) < 0
    sign = np.cumprod(np.concatenate([np.ones((1, R.shape[1])), np.where(turned, -1.0, 1.0)]), axis=0)
    return flat * sign[:, :, None]


def _sole(foot: AvatarFoot, kind: str) -> dict[str, object]:
    if kind == "flat":
        return {"type": kind, "corners": foot.flat.tolist()}
    sizes = {field.name: np.asarray(getattr(foot.sole, field.name)).tolist() for field in fields(foot.sole)}  # type: ignore[arg-type]
    return {"type": kind, "shape": type(foot.sole).__name__.lower(), **sizes, "center": foot.center.tolist()}


def _metadata(walking: Walking, plan: WalkPlan, steps: int) -> dict[str, Any]:
    avatar: Avatar = walking.avatar
    return {
        "message": "" if plan.status is Status.SUCCESS else str(plan.statistics.get("worst", "")),
        "physics": {
            "gravity": plan.gravity.tolist(),
            "friction": walking.gait.friction,
            "mass": avatar.robot.mass,
        },
        "wall_time": {key: float(plan.statistics[key]) for key in ("build", "solve")},
        "walk": {
            **plan.settings,
            "statistics": dict(plan.statistics),
            "steps": steps,
            "sole": _sole(avatar.foot, walking.gait.sole),
            "right_sole": _sole(avatar.feet["right"], walking.gait.sole),
            **({} if avatar.toes is None else {"toe_sole": _sole(avatar.toes.foot, walking.gait.sole)}),
            "mirror": None if plan.mirror is None else plan.mirror.tolist(),
            "standing": {support.name: list(support.stances) for support in walking.supports},
            "duration": plan.duration,
            "length": plan.length,
            "urdf": avatar.robot.urdf(),
        },
    }
