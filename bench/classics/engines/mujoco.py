"""MuJoCo on a scene: bodies as XML."""

from __future__ import annotations

import time as clock

import mujoco
import numpy as np

from bench.classics.engines import Setting
from bench.classics.scene import EDGE, GRAVITY, Body, Geom, Scene, rotation

NAME = "MuJoCo"
SETTINGS = (Setting("defaults", 2e-3, False), Setting("stiff, elliptic cone, RK4", 1e-4, True))
_KINDS = {"plane": "plane", "sphere": "sphere", "ellipsoid": "ellipsoid", "disc": "ellipsoid", "box": "box"}


def _options(
    step: float, stiff: bool, integrator: str, noslip: int = 0, impratio: float = 1e4, ccd: float = 1e-10
) -> str:
    """Return the <option> element: the engine's own settings, or the stiffest useful ones."""
    basic = f'timestep="{step}" gravity="0 0 {-GRAVITY}"'
    if not stiff:
        return f"<option {basic}/>"
    return (
        f'<option {basic} cone="elliptic" impratio="{impratio:g}" integrator="{integrator}" tolerance="1e-12" '
        f'iterations="100" ls_iterations="100" ccd_tolerance="{ccd:g}" ccd_iterations="200" '
        f'noslip_iterations="{noslip}" noslip_tolerance="1e-14"/>'
    )


def _softness(step: float, stiff: bool, refine: float = 2.0) -> str:
    """Return the geom attributes of the contact: time constant `refine` steps and a hard impedance."""
    if not stiff:
        return ""
    return f'solref="{refine * step} 1" solimp="0.999 0.9999 0.0001 0.5 2"'


def _numbers(values: object) -> str:
    return " ".join(f"{float(v):.17g}" for v in np.ravel(np.asarray(values)))


def _geom(geom: Geom, scene: Scene, extra: str) -> str:
    r = geom.size[0] if geom.size else 0.0
    size = _numbers({"plane": (50, 50, 1), "disc": (r, r, EDGE * r)}.get(geom.kind, geom.size))
    return (
        f'<geom type="{_KINDS[geom.kind]}" size="{size}" pos="{_numbers(geom.at)}" quat="{_numbers(geom.quaternion)}" '
        f'friction="{scene.friction} 0 0" condim="3" {extra}/>'
    )


def _contact(scene: Scene, setting: Setting) -> str:
    """Return solref and solimp; restitution e is a spring with the damping that gives it, see the manual."""
    if not scene.restitution:
        return _softness(setting.step, setting.stiff)
    stiffness = (0.2 / setting.step) ** 2  # 1/s^2: a contact lasts some 16 steps
    log = -np.log(scene.restitution)
    damping = 2 * np.sqrt(stiffness) * log / np.hypot(np.pi, log)
    return f'solref="{-stiffness} {-damping}" solimp="0.999 0.9999 0.0001 0.5 2"'


def _body(body: Body, scene: Scene, soft: str, origin: np.ndarray) -> str:
    I = body.moments  # noqa: E741
    full = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
    position = np.asarray(body.position)
    joint = "<freejoint/>"
    if body.joint is not None:
        anchor = np.asarray(body.joint.at) - position
        joint = (
            f'<joint name="{body.name}" type="{body.joint.kind}" axis="{_numbers(body.joint.axis)}" '
            f'pos="{_numbers(anchor)}" damping="0"/>'
        )
    touch = f'contype="{int(scene.bodies_touch)}" conaffinity="1" {soft}'
    geoms = "".join(_geom(g, scene, touch) for g in body.geoms)
    inside = "".join(
        _body(child, scene, soft, position)
        for child in scene.bodies
        if child.joint is not None and child.joint.parent == body.name
    )
    return (
        f'<body name="{body.name}" pos="{_numbers(position - origin)}" quat="{_numbers(body.quaternion)}">{joint}'
        f'<inertial pos="0 0 0" mass="{body.mass}" fullinertia="{_numbers(full)}"/>{geoms}{inside}</body>'
    )


def _model(scene: Scene, setting: Setting) -> mujoco.MjModel:
    soft = _contact(scene, setting)
    down = f'gravity="{_numbers(scene.gravity)}"'
    option = _options(setting.step, setting.stiff, "RK4").replace('gravity="0 0 -9.81"', down)
    roots = [b for b in scene.bodies if b.joint is None or b.joint.parent is None]
    ground = "".join(_geom(g, scene, f'contype="1" conaffinity="1" {soft}') for g in scene.ground)
    bodies = "".join(_body(b, scene, soft, np.zeros(3)) for b in roots)
    motors = "".join(f'<motor joint="{b.name}"/>' for b in scene.bodies if b.joint is not None and b.joint.actuated)
    return mujoco.MjModel.from_xml_string(
        f"<mujoco>{option}<worldbody>{ground}{bodies}</worldbody><actuator>{motors}</actuator></mujoco>"
    )


def run(scene: Scene, setting: Setting) -> tuple[np.ndarray, float]:
    """Return samples (n, bodies, 13) and the seconds of stepping."""
    setting, every = setting.fitted(scene.spacing)
    model = _model(scene, setting)
    data = mujoco.MjData(model)
    for body in scene.bodies:
        first = model.body(body.name).dofadr[0]
        if body.joint is None:
            data.qvel[first : first + 3] = body.velocity
            data.qvel[first + 3 : first + 6] = rotation(body.quaternion).T @ np.asarray(body.spin)
        else:
            data.qvel[first] = body.joint.rate
    driven = [b.name for b in scene.bodies if b.joint is not None and b.joint.actuated]
    rows, wall = [], 0.0
    for time in scene.times:
        mujoco.mj_forward(model, data)
        rows.append([_sample(model, data, body.name) for body in scene.bodies])
        if scene.torques is not None:
            joints = {name: (data.joint(name).qpos[0], data.joint(name).qvel[0]) for name in driven}
            told = scene.torques(float(time), joints)
            data.ctrl[:] = [told[name] for name in driven]
        begin = clock.perf_counter()
        mujoco.mj_step(model, data, every)
        wall += clock.perf_counter() - begin
    return np.array(rows), wall


def _sample(model: mujoco.MjModel, data: mujoco.MjData, name: str) -> np.ndarray:
    index, twist = model.body(name).id, np.zeros(6)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, index, twist, 0)
    return np.concatenate([data.xpos[index], data.xquat[index], twist])
