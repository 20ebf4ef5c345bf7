"""A robot from a URDF on its feet in MuJoCo, its base on three sliders and three hinges: qpos = q, qvel = nu."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array
from trundle.contact.patch import FlatPatch
from trundle.errors import InputError
from trundle.geometry.shapes.surfaces import Ellipsoid, Point, Sphere
from trundle.models.tree.joints import Prismatic
from trundle.models.urdf.description import LinkInertia
from trundle.models.urdf.tree import FramePlace
from trundle.numerics.rotations import quaternion_of
from trundle.simulate.mujoco.mjcf import GeomContact, add_geom, add_motor, load_mujoco, new_spec, set_inertia
from trundle.simulate.mujoco.plant import Fall, MujocoPlant
from trundle.simulate.mujoco.view import PlantView
from trundle.systems.walking.robots.legged import LeggedRobot, axis_of

if TYPE_CHECKING:
    import mujoco

_BALL = 2e-3  # m: radius of the balls at a sole's corners
_THIN = 1e-6
"""m2"""
_AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_LOWEST, _TILT = 0.6, math.radians(45.0)
"""Part of the height at the start, and the lean, at which a robot has fallen."""


def legged_plant(
    robot: LeggedRobot,
    q: ArrayLike,
    nu: ArrayLike,
    *,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    friction: float = 1.0,
    step: float = 5e-4,
) -> MujocoPlant:
    """Return the plant that starts at q, nu (n,): x, y, z, yaw, pitch, roll of the base and joints, and their rates.

    Balls, ellipsoids and the corners of flat feet touch the plane z = 0; torques are cut off at the joints' limits.

    Raises
    ------
    InputError
        If a foot has another shape.
    MissingExtraError
        If MuJoCo is not installed.
    """
    count = 6 + len(robot.tree.joints)
    start, rates = array("q", q, (count,)), array("nu", nu, (count,))
    limits = np.array([robot.tree.limits[name].effort or np.inf for name in robot.tree.joints])
    base = robot.tree.bodies[0].name
    falls = (Fall(base, _LOWEST * float(start[2])), Fall(base, 0.0, _TILT))

    def put(view: PlantView) -> None:
        view.data.qpos[:], view.data.qvel[:] = start, rates

    spec = _specification(robot, array("gravity", gravity, (3,)), friction, step)
    return MujocoPlant(spec, lambda _, command: np.clip(command, -limits, limits), falls, put)


def state_of(view: PlantView) -> FloatArray:
    """Return (q, nu) (2 n,) of the plant."""
    return np.concatenate([view.data.qpos, view.data.qvel])


def _specification(robot: LeggedRobot, gravity: FloatArray, friction: float, step: float) -> mujoco.MjSpec:
    spec, types = new_spec(robot.tree.name, step, gravity), load_mujoco().mjtJoint
    ground, foot = GeomContact(0, 1, friction), GeomContact(1, 0, friction)
    add_geom(spec.worldbody, "floor", "plane", [0, 0, 0.1], ground)
    made: list[mujoco.MjsBody] = []
    for i, body in enumerate(robot.tree.bodies):
        place = body.place
        parent = spec.worldbody if i == 0 else made[body.parent]
        here = parent.add_body(name=body.name, pos=place.p, quat=quaternion_of(place.R))
        made.append(here)
        if body.inertia is not None:
            set_inertia(here, body.inertia.mass, body.inertia.com, _thick(body.inertia))
        if i == 0:  # the joints of one body act one after the other
            for k, axis in enumerate((*_AXES, *_AXES[::-1])):
                kind = types.mjJNT_SLIDE if k < len(_AXES) else types.mjJNT_HINGE
                here.add_joint(name=f"base{k}", type=kind, axis=axis)
            continue
        kind = types.mjJNT_SLIDE if isinstance(body.motion, Prismatic) else types.mjJNT_HINGE
        here.add_joint(name=body.joint, type=kind, axis=place.R.T @ axis_of(body))
        add_motor(spec, body.joint, body.joint)
    for name in robot.feet:
        number, place = robot.place(name)
        _add_foot(made[number], robot, name, place, foot)
    return spec


def _thick(inertia: LinkInertia) -> FloatArray:
    """Return an inertia (3, 3) with A + B > C, as MuJoCo wants it: a point or a flat body gets a thickness of 1 mm."""
    a, b, c = np.linalg.eigvalsh(inertia.tensor)
    return inertia.tensor if a + b > c * (1 + 1e-9) else inertia.tensor + _THIN * inertia.mass * np.eye(3)


def _add_foot(body: mujoco.MjsBody, robot: LeggedRobot, name: str, place: FramePlace, surface: GeomContact) -> None:
    shape = robot.feet[name].shape
    if isinstance(shape, FlatPatch):
        for j, corner in enumerate(shape.vertices):
            at = place.p + place.R @ np.array([*corner, _BALL])
            add_geom(body, f"{name}{j}", "sphere", [_BALL], surface, position=at, mass=0.0)
    elif isinstance(shape, Sphere | Point):
        radius = shape.radius if isinstance(shape, Sphere) else _BALL
        add_geom(body, name, "sphere", [radius], surface, position=place.p, mass=0.0)
    elif isinstance(shape, Ellipsoid):
        axes = np.asarray(shape.semi_axes)
        add_geom(body, name, "ellipsoid", axes, surface, position=place.p, R=place.R, mass=0.0)
    else:
        raise InputError(f"feet.{name}.shape", type(shape).__name__, "a sphere, an ellipsoid, a point or a flat patch")
